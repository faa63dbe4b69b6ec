//! The partitions of a table: its Parquet files, and the rows of the memtable.

use arrow::array::RecordBatch;

use crate::storage::DataFile;
use crate::storage::Table;
use crate::storage::parquet_files::sort::{time_column, time_range};

/// A part of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The name of its Parquet file; none of rows of the memtable.
    pub file: Option<String>,
    /// How many rows it has.
    pub rows: u64,
    /// Its size: on disk, or in memory of rows of the memtable.
    pub bytes: u64,
    /// The earliest and the latest time in it: of the table's first timestamp column or, without
    /// one, of the insert.
    pub times: Option<(i64, i64)>,
    /// Why its rows cannot be read, if its file is damaged.
    pub damage: Option<String>,
}

impl Table {
    /// The time of the newest row, flushed or not; none without rows that have one.
    pub(crate) fn newest(&self) -> Option<i64> {
        let snapshot = self.snapshot();
        let column = time_column(&snapshot.schema).unwrap_or(1);
        let fresh = snapshot.memtable.iter().filter_map(|batch| times(batch, column));
        let flushed = snapshot.files.iter().map(|file| file.newest());
        fresh.map(|(_, latest)| latest).chain(flushed).max()
    }

    /// The table's partitions, the oldest rows first.
    #[must_use]
    pub fn partitions(&self) -> Vec<Partition> {
        let (snapshot, stats) = {
            let state = self.state();
            (state.snapshot(), state.stats())
        };
        let mut partitions: Vec<_> = snapshot.files.iter().map(|file| flushed(file)).collect();
        partitions.sort_by_key(|partition| partition.times);
        if stats.memtable_rows > 0 {
            // Without a timestamp column it is the time of the insert, which all tables have.
            let column = time_column(&snapshot.schema).unwrap_or(1);
            let times = snapshot.memtable.iter().filter_map(|batch| times(batch, column));
            partitions.push(Partition {
                file: None,
                rows: stats.memtable_rows,
                bytes: stats.memtable_bytes,
                times: times.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))),
                damage: None,
            });
        }
        partitions
    }
}

fn flushed(file: &DataFile) -> Partition {
    Partition {
        file: Some(file.name()),
        rows: file.rows,
        bytes: file.bytes,
        times: Some(file.times.unwrap_or(file.inserted)),
        damage: file.damage().map(|reason| reason.to_string()),
    }
}

fn times(batch: &RecordBatch, column: usize) -> Option<(i64, i64)> {
    time_range(batch.columns().get(column)?)
}
