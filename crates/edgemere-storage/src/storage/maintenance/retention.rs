//! Retention: files of a table are dropped, by their age, because they are too many, or by name.
//!
//! Age is counted from now or from the table's newest row, whichever is earlier, so that a clock that is
//! ahead deletes nothing by itself; and not at all while the clock is known to have jumped (`clock`). The
//! keeper drops at most half of a table's rows at once, by age, and then leaves it alone for an hour.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Storage;
use crate::storage::Table;
use crate::storage::handle::{Inner, blocking};
use crate::storage::persist::keyspace::Keyspace;
use crate::storage::shared::Shared;

/// The keeper drops one part in so many of a table's rows at once, by age.
const SHARE: u64 = 2;

/// How much of a table is kept. Rows of the memtable are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// A file goes when its newest row is older than that, counted from now or from the table's newest
    /// row, whichever is earlier. That is by the table's first timestamp column or,
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
pub enum DropSelector {
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
        unwanted: DropSelector,
    ) -> Result<Dropped, Error> {
        let table = Arc::clone(table);
        blocking(move || drop_files(&table, &unwanted, By::Command)).await
    }

    /// Drops the files of a table that a rule does not keep, as the keeper does again and again.
    pub async fn retain(&self, table: &Arc<Table>, retention: Retention) -> Result<Dropped, Error> {
        let table = Arc::clone(table);
        blocking(move || retain(&table, retention, By::Maintenance)).await
    }

    /// Why less of a table is dropped than its rule says, while that is so.
    #[must_use]
    pub fn retention_held(&self, table: &Table) -> Option<String> {
        let shared = &self.inner.shared;
        let rule = self.inner.catalog.retention(table);
        rule.max_age?;
        shared.clock.flush_error().or_else(|| shared.held(table.id))
    }

    /// Why nothing is dropped by age on this node, while that is so.
    #[must_use]
    pub fn clock_trouble(&self) -> Option<String> {
        let clock = &self.inner.shared.clock;
        clock.check().err()
    }

    /// An admin confirms the machine's clock: rows are dropped by age again.
    pub async fn confirm_clock(&self) -> Result<(), Error> {
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            inner.shared.clock.confirm();
            remember_clock(&inner.shared)
        })
        .await
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
            dropped.add(retain(table, self.catalog.retention(table), By::Rule)?);
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

/// Writes down which time it is, for the next open.
pub(crate) fn remember_clock(shared: &Shared) -> Result<(), Error> {
    let Some(seen) = shared.clock.seen() else { return Ok(()) };
    shared.store.commit(|writes, _| {
        writes.put_json(Keyspace::Clock, (0, 0), &seen)?;
        Ok(((), Box::new(|| {})))
    })
}

fn set_own(table: &Arc<Table>, retention: Retention) -> Result<(), Error> {
    table.shared().store.commit(|writes, _| {
        if table.state().dropped {
            return Err(table.not_found());
        }
        match retention.is_set() {
            true => writes.put_json(Keyspace::Retention, (table.id, 0), &retention)?,
            false => writes.remove(Keyspace::Retention, [(table.id, 0)])?,
        }
        let table = Arc::clone(table);
        Ok(((), Box::new(move || table.state_mut().retention = retention)))
    })
}

/// Who drops by a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// The keeper, again and again: at most a share of a table at once.
    Maintenance,
    /// An admin who sets a rule.
    Rule,
    /// A drop command, which is carried out as given.
    Command,
}

/// Drops the files of a table that are not to be kept, and says so.
pub(crate) fn retain(table: &Arc<Table>, rule: Retention, by: By) -> Result<Dropped, Error> {
    if !rule.is_set() {
        return Ok(Dropped::default());
    }
    let dropped = drop_files(table, &DropSelector::NotKept(rule), by)?;
    if dropped.files > 0 {
        let Dropped { files, rows, bytes } = dropped;
        let (dbms, table) = (table.dbms(), table.name());
        tracing::info!(dbms, table, files, rows, bytes, "retention dropped old rows");
    }
    Ok(dropped)
}

fn drop_files(table: &Arc<Table>, unwanted: &DropSelector, by: By) -> Result<Dropped, Error> {
    let _upkeep = table.upkeep();
    let old = choose(table, unwanted, by);
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
        writes.remove(Keyspace::Files, old.iter().map(|file| (table.id, file.number)))?;
        let table = Arc::clone(table);
        let apply = move || {
            table.state_mut().replace(&old, None);
            old.iter().for_each(|file| file.disown());
        };
        Ok((dropped, Box::new(apply)))
    })
}

fn choose(table: &Table, unwanted: &DropSelector, by: By) -> Vec<Arc<DataFile>> {
    let mut files = table.state().files.clone();
    files.sort_by_key(|file| (file.newest(), file.row_ids));
    match unwanted {
        DropSelector::Named(name) => files.retain(|file| file.name() == *name),
        DropSelector::AllBut(kept) => files.truncate(files.len().saturating_sub(*kept)),
        DropSelector::NotKept(rule) => {
            let old = too_old(table, &files, *rule, by);
            files.truncate(old.max(too_many(&files, rule.max_bytes)));
        }
    }
    files
}

/// How many of the oldest files are too old to be kept.
fn too_old(table: &Table, files: &[Arc<DataFile>], rule: Retention, by: By) -> usize {
    let shared = table.shared();
    let Some(age) = rule.max_age else { return 0 };
    let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
    let now = match (shared.clock.check(), by) {
        (Ok(now), _) => now,
        (Err(_), By::Command) => shared.clock.wall(),
        (Err(_), By::Maintenance | By::Rule) => return 0,
    };
    // What is older than the newest row by so much is old whatever the clock says.
    let newest = table.newest().unwrap_or(now);
    let limit = if by == By::Command { now } else { now.min(newest) }.saturating_sub(age);
    let due = files.iter().take_while(|file| file.newest() < limit).count();
    let at_once = if by == By::Maintenance { within_share(files, due) } else { due };
    shared.set_held(table.id, (at_once < due).then(|| held_reason(files, due)));
    at_once
}

/// How many of the files that are due go at once: at most half of the rows, but one at least.
fn within_share(files: &[Arc<DataFile>], due: usize) -> usize {
    let half = files.iter().map(|file| file.rows).sum::<u64>() / SHARE;
    let mut rows = 0;
    let fit = files.iter().take(due).take_while(|file| {
        rows += file.rows;
        rows <= half
    });
    fit.count().max(1).min(due)
}

fn held_reason(files: &[Arc<DataFile>], due: usize) -> String {
    let rows = |files: &[Arc<DataFile>]| files.iter().map(|file| file.rows).sum::<u64>();
    let (old, all) = (rows(files.get(..due).unwrap_or(files)), rows(files));
    format!("{old} of {all} rows are too old at once, and go a half at a time, once an hour")
}

/// How many of the oldest files have to go until the rest is not too large.
fn too_many(files: &[Arc<DataFile>], bytes_max: Option<u64>) -> usize {
    let Some(bytes_max) = bytes_max else { return 0 };
    let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let goes = |file: &&Arc<DataFile>| {
        let goes = bytes > bytes_max;
        bytes -= file.bytes;
        goes
    };
    files.iter().take_while(goes).count()
}
