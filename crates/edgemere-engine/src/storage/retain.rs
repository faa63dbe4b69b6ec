//! Retention: files of a table are dropped, by their age, because they are too many, or by name.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::handle::{Inner, blocking};
use super::shared::now;
use super::writes::Shelf;
use super::{DataFile, Error, Storage, Table};

/// How much of a table is kept. Rows that have not settled are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// A file goes when its newest row is older. That is by the table's first timestamp column or,
    /// without one, by the time of the insert.
    pub max_age: Option<Duration>,
    /// The oldest files go until all take no more on disk.
    pub max_bytes: Option<u64>,
}

impl Retention {
    /// Whether anything is ever dropped.
    #[must_use]
    pub fn is_set(self) -> bool {
        self != Self::default()
    }
}

/// Files of a table that are to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwanted {
    /// The file of that name.
    Named(String),
    /// All but so many of the newest.
    AllBut(usize),
    /// What the rule does not keep.
    NotKept(Retention),
}

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// How many files.
    pub files: usize,
    /// How many rows they had.
    pub rows: u64,
    /// What they took on disk.
    pub bytes: u64,
}

impl Storage {
    /// Drops files of a table, durable when this returns.
    pub async fn drop_files(
        &self,
        table: &Arc<Table>,
        unwanted: Unwanted,
    ) -> Result<Dropped, Error> {
        let table = Arc::clone(table);
        blocking(move || drop_files(&table, &unwanted)).await
    }

    /// Drops the files of a table that are not to be kept.
    pub async fn retain(&self, table: &Arc<Table>, retention: Retention) -> Result<Dropped, Error> {
        self.drop_files(table, Unwanted::NotKept(retention)).await
    }

    /// Says how much is kept of a table or, without one, of each table of a database that does not
    /// say it itself. It is durable when this returns, holds from then on, and what is not to be
    /// kept is gone. The rule that is not set is none.
    pub async fn set_retention(
        &self,
        dbms: &str,
        table: Option<&str>,
        retention: Retention,
    ) -> Result<Dropped, Error> {
        let (inner, dbms) = (Arc::clone(&self.inner), dbms.to_owned());
        let table = table.map(ToOwned::to_owned);
        blocking(move || inner.set_retention(&dbms, table.as_deref(), retention)).await
    }
}

impl Inner {
    fn set_retention(
        &self,
        dbms: &str,
        table: Option<&str>,
        retention: Retention,
    ) -> Result<Dropped, Error> {
        self.known(dbms)?;
        self.check_connected(dbms)?;
        let tables = match table {
            None => {
                self.record(dbms, |record| record.retention = retention)?;
                self.catalog.tables(dbms)
            }
            Some(name) => {
                let not_found = || Error::NotFound { dbms: dbms.into(), table: name.into() };
                let table = self.catalog.get(dbms, name).ok_or_else(not_found)?;
                set_own(&table, retention)?;
                vec![table]
            }
        };
        let mut dropped = Dropped::default();
        for table in &tables {
            dropped.add(retain(table, self.catalog.retention(table))?);
        }
        Ok(dropped)
    }
}

impl Dropped {
    /// With what else was dropped.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

fn set_own(table: &Arc<Table>, retention: Retention) -> Result<(), Error> {
    table.shared().store.commit(|writes, _| {
        if table.state().dropped {
            return Err(table.not_found());
        }
        match retention.is_set() {
            true => writes.put_json(Shelf::Retention, (table.id, 0), &retention)?,
            false => writes.remove(Shelf::Retention, [(table.id, 0)])?,
        }
        let table = Arc::clone(table);
        Ok(((), Box::new(move || table.state_mut().retention = retention)))
    })
}

/// Drops the files of a table that are not to be kept, and says so.
pub(crate) fn retain(table: &Arc<Table>, retention: Retention) -> Result<Dropped, Error> {
    if !retention.is_set() {
        return Ok(Dropped::default());
    }
    let dropped = drop_files(table, &Unwanted::NotKept(retention))?;
    if dropped.files > 0 {
        let Dropped { files, rows, bytes } = dropped;
        let (dbms, table) = (table.dbms(), table.name());
        tracing::info!(dbms, table, files, rows, bytes, "retention dropped old rows");
    }
    Ok(dropped)
}

fn drop_files(table: &Arc<Table>, unwanted: &Unwanted) -> Result<Dropped, Error> {
    let _upkeep = table.upkeep();
    let old = choose(&table.state().files, unwanted, now());
    let dropped = Dropped {
        files: old.len(),
        rows: old.iter().map(|file| file.rows).sum(),
        bytes: old.iter().map(|file| file.bytes).sum(),
    };
    if old.is_empty() {
        return Ok(dropped);
    }
    table.shared().store.commit(|writes, _| {
        if table.state().dropped {
            return Err(table.not_found());
        }
        writes.remove(Shelf::Files, old.iter().map(|file| (table.id, file.number)))?;
        let table = Arc::clone(table);
        let apply = move || {
            table.state_mut().replace(&old, None);
            old.iter().for_each(|file| file.disown());
        };
        Ok((dropped, Box::new(apply)))
    })
}

fn choose(files: &[Arc<DataFile>], unwanted: &Unwanted, now: i64) -> Vec<Arc<DataFile>> {
    let mut files = files.to_vec();
    files.sort_by_key(|file| (file.newest(), file.row_ids));
    match unwanted {
        Unwanted::Named(name) => files.retain(|file| file.name() == *name),
        Unwanted::AllBut(kept) => files.truncate(files.len().saturating_sub(*kept)),
        Unwanted::NotKept(retention) => leave_unkept(&mut files, *retention, now),
    }
    files
}

/// Leaves the files that are too old or, of the oldest, those that are too many.
fn leave_unkept(files: &mut Vec<Arc<DataFile>>, retention: Retention, now: i64) {
    let age = retention.max_age.and_then(|age| i64::try_from(age.as_micros()).ok());
    let limit = age.map_or(i64::MIN, |age| now.saturating_sub(age));
    let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
    files.retain(|file| {
        let goes = file.newest() < limit || retention.max_bytes.is_some_and(|max| bytes > max);
        if goes {
            bytes -= file.bytes;
        }
        goes
    });
}
