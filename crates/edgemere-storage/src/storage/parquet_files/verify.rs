//! Verification: every byte of every data file is read and compared with its checksum, on
//! request and by the scrub.
//!
//! The manifest and the rows that have not been flushed are verified whenever a storage is opened, and
//! are in memory from then on.

use std::sync::Arc;

use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Storage;
use crate::storage::Table;
use crate::storage::handle::{Inner, blocking};
use crate::storage::parquet_files::damage;

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many files were read.
    pub files: usize,
    /// How many bytes they have,
    pub bytes: u64,
    /// and how many rows.
    pub rows: u64,
    /// The files whose rows cannot be read.
    pub damaged: Vec<DamagedFile>,
}

/// A file whose rows cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedFile {
    /// The database,
    pub dbms: String,
    /// and the table whose file it is.
    pub table: String,
    /// Its name, without its folder.
    pub file: String,
    /// How many rows it has.
    pub rows: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl DamagedFile {
    fn new(table: &Table, file: &DataFile, reason: String) -> Self {
        Self {
            dbms: table.dbms().to_owned(),
            table: table.name().to_owned(),
            file: file.name(),
            rows: file.rows,
            reason,
        }
    }
}

impl Storage {
    /// Reads every data file and compares it with its checksums. Files are marked as damaged, or as
    /// whole again, durable when this returns.
    pub async fn verify(&self) -> Result<Verification, Error> {
        let this = self.clone();
        blocking(move || this.verify_now(|_| {})).await
    }

    /// The same on this thread, which waits for the disk. `progress` hears how many bytes were read.
    pub fn verify_now(&self, mut progress: impl FnMut(u64)) -> Result<Verification, Error> {
        self.inner.verify(|bytes| {
            progress(bytes);
            true
        })
    }

    /// The files that are known to be damaged.
    #[must_use]
    pub fn damaged(&self) -> Vec<DamagedFile> {
        let tables = self.inner.catalog.all();
        let of_table = |table: &Arc<Table>| {
            let files = table.state().files.clone();
            let damaged = files.into_iter().filter_map(|file| Some((file.damage()?, file)));
            let table = Arc::clone(table);
            damaged.map(move |(reason, file)| DamagedFile::new(&table, &file, reason.to_string()))
        };
        tables.iter().flat_map(of_table).collect()
    }
}

impl Inner {
    fn verify(&self, go_on: impl FnMut(u64) -> bool) -> Result<Verification, Error> {
        verify(&self.catalog.all(), go_on)
    }
}

/// Verifies the files of tables, until it is to stop.
pub(crate) fn verify(
    tables: &[Arc<Table>],
    mut go_on: impl FnMut(u64) -> bool,
) -> Result<Verification, Error> {
    let mut found = Verification::default();
    for table in tables {
        let files = table.state().files.clone();
        for file in files {
            match file.verify(&mut go_on) {
                Ok(true) => {}
                Ok(false) => return Ok(found),
                Err(Error::Damaged { reason, .. }) => {
                    found.damaged.push(DamagedFile::new(table, &file, reason));
                }
                Err(error) => {
                    found.damaged.push(DamagedFile::new(table, &file, error.to_string()));
                }
            }
            found.files += 1;
            found.bytes += file.bytes;
            found.rows += file.rows;
        }
        match damage::record(table) {
            Err(Error::NotFound { .. }) | Ok(()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
