//! Retention: the oldest files of a table are dropped, by their age or because they are too many.

use std::sync::Arc;
use std::time::Duration;

use super::shared::now;
use super::writes::Shelf;
use super::{DataFile, Error, Table};

/// How much of a table is kept. Rows that have not settled are always kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// A file goes when its newest row is older. That is by the table's first timestamp column or,
    /// without one, by the time of the insert.
    pub max_age: Option<Duration>,
    /// The oldest files go until all take no more on disk.
    pub max_bytes: Option<u64>,
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

/// Drops the files of a table that are not to be kept.
pub(crate) fn retain(table: &Arc<Table>, retention: Retention) -> Result<Dropped, Error> {
    let _upkeep = table.upkeep();
    let old = choose(&table.state().files, retention, now());
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

fn choose(files: &[Arc<DataFile>], retention: Retention, now: i64) -> Vec<Arc<DataFile>> {
    let age = retention.max_age.and_then(|age| i64::try_from(age.as_micros()).ok());
    let limit = age.map_or(i64::MIN, |age| now.saturating_sub(age));
    let mut bytes: u64 = files.iter().map(|file| file.bytes).sum();
    let mut files = files.to_vec();
    files.sort_by_key(|file| (file.newest(), file.row_ids));
    files.retain(|file| {
        let goes = file.newest() < limit || retention.max_bytes.is_some_and(|max| bytes > max);
        if goes {
            bytes -= file.bytes;
        }
        goes
    });
    files
}
