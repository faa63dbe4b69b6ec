//! How much there is.

/// How much a table holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStats {
    /// All rows.
    pub rows: u64,
    /// Those that are in the memtable,
    pub memtable_rows: u64,
    /// and what they take in memory.
    pub memtable_bytes: u64,
    /// The Parquet files,
    pub files: usize,
    /// and what they take on disk.
    pub file_bytes: u64,
    /// The files among them that are damaged,
    pub damaged_files: usize,
    /// and how many rows these have, which cannot be read.
    pub damaged_rows: u64,
}

/// How much a storage holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The databases.
    pub databases: usize,
    /// The tables of all.
    pub tables: usize,
    /// What all tables hold together.
    pub total: TableStats,
    /// What the file with the rows of the memtable takes on disk.
    pub store_bytes: u64,
}

impl TableStats {
    pub(crate) fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.memtable_rows += other.memtable_rows;
        self.memtable_bytes += other.memtable_bytes;
        self.files += other.files;
        self.file_bytes += other.file_bytes;
        self.damaged_files += other.damaged_files;
        self.damaged_rows += other.damaged_rows;
    }
}
