//! What queries may use.

use std::time::Duration;

/// What queries may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The memory of one query, in bytes; what needs more goes to disk.
    pub memory_bytes: usize,
    /// The memory of all queries together, in bytes.
    pub memory_total_bytes: usize,
    /// The memory of the whole process, in bytes: near it queries are refused, then ended. The machine's
    /// when it is not said.
    pub process_bytes: Option<u64>,
    /// The disk space for what does not fit in memory, in bytes; none without any.
    pub spill_bytes: u64,
    /// How long a query may take when it does not say otherwise.
    pub time: Duration,
    /// How many rows are few: one thread puts the groups of so many together.
    pub single_threaded_rows_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 512 << 20,
            memory_total_bytes: 1 << 30,
            process_bytes: None,
            spill_bytes: 16 << 30,
            time: Duration::from_secs(300),
            single_threaded_rows_max: 128 << 10,
        }
    }
}
