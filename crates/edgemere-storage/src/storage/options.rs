//! What can be set about a storage, and the limits that cannot.

use std::time::Duration;

use crate::storage::Clock;
use crate::storage::DiskProbe;

/// The most rows of one append.
pub const APPEND_ROWS_MAX: usize = 1_000_000;

/// The most bytes of one append, encoded.
pub const APPEND_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most columns of a table, without the system columns.
pub const COLUMNS_MAX: usize = 1000;

/// The most tables of a storage.
pub const TABLES_MAX: usize = 10_000;

/// The most bytes of the key of an append.
pub const KEY_BYTES_MAX: usize = 256;

/// The most views of a storage.
pub const VIEWS_MAX: usize = 10_000;

/// The most databases of which something is recorded.
pub const DATABASES_MAX: usize = 1_000;

/// The most bytes of a view's text.
pub const VIEW_BYTES_MAX: usize = 64 * 1024;

/// The most characters in the name of a database, a table or a column.
pub const NAME_LENGTH_MAX: usize = 128;

/// The most appends that wait for the committer.
pub(crate) const QUEUE_MAX: usize = 1024;

/// How much of `fresh.redb` is cached. It is written and hardly ever read.
pub(crate) const CACHE_BYTES: usize = 32 * 1024 * 1024;

/// The most rows of a row group: small enough that a query over a short time skips most of a file.
pub(crate) const ROW_GROUP_ROWS: usize = 256 * 1024;

/// The fewest rows of a row group in a file that has several.
pub(crate) const ROW_GROUP_ROWS_MIN: usize = 32 * 1024;

/// How many rows are read from a Parquet file, or handed to its writer, at once.
pub(crate) const SLICE_ROWS: usize = 64 * 1024;

/// Blocks in memory are joined until they have so many rows: queries like it.
pub(crate) const CHUNK_ROWS: usize = 8192;

/// What can be set about a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes of rows of the memtable, in memory, over all tables.
    pub memtable_bytes_max: u64,
    /// How long an append waits for room before it fails as busy.
    pub wait_max: Duration,
    /// A table is flushed when it has so many rows in its memtable,
    pub flush_rows: u64,
    /// or so many bytes of them,
    pub flush_bytes: u64,
    /// or when the oldest is so old.
    pub flush_age: Duration,
    /// So many small files, one after the other, are merged into one.
    pub compact_files: usize,
    /// Files are merged up to this size, as the rows are in memory.
    pub compact_bytes: u64,
    /// Of so many appends of a table with keys, the keys are remembered.
    pub keys_max: u64,
    /// How often the keeper looks for what is not to be kept any more.
    pub retain_every: Duration,
    /// How often all files are read and compared with their checksums,
    pub scrub_every: Duration,
    /// and how fast at most, in bytes a second.
    pub scrub_bytes_per_s: u64,
    /// How many bytes of the disk rows leave alone; none when that follows from the size of the disk.
    pub disk_reserve: Option<u64>,
    /// Where the figures of the disk come from.
    pub disk: DiskProbe,
    /// Where the time comes from that retention counts with.
    pub clock: Clock,
    /// Whether tables are flushed and compacted by themselves. Without, appends never wait for room.
    pub background: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            memtable_bytes_max: 256 * 1024 * 1024,
            wait_max: Duration::from_secs(5),
            flush_rows: 500_000,
            flush_bytes: 64 * 1024 * 1024,
            flush_age: Duration::from_secs(300),
            compact_files: 8,
            compact_bytes: 128 * 1024 * 1024,
            keys_max: 100_000,
            retain_every: Duration::from_secs(60),
            scrub_every: Duration::from_secs(24 * 3600),
            scrub_bytes_per_s: 32 * 1024 * 1024,
            disk_reserve: None,
            disk: DiskProbe::System,
            clock: Clock::System,
            background: true,
        }
    }
}
