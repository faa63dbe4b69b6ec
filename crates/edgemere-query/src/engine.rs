//! The engine of a node: its storage, and SQL on it.

use std::path::Path;
use std::time::Duration;

use edgemere_storage::decode::Input;
use edgemere_storage::storage::{self, Recovery, Storage};
use edgemere_storage::{Put, Rows};

use crate::sql::{self, Sql};

/// Why the engine did not open, or did not do what it was to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The storage refused.
    #[error(transparent)]
    Storage(#[from] edgemere_storage::Error),
    /// SQL cannot be set up, or a view's query is not valid.
    #[error(transparent)]
    Sql(#[from] sql::Error),
}

impl From<storage::Error> for Error {
    fn from(error: storage::Error) -> Self {
        Self::Storage(error.into())
    }
}

impl Error {
    /// Whether the disk is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Storage(error) if error.is_disk_full())
    }

    /// When to try again, of a storage that cannot take more for a while.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Storage(error) => error.retry_after(),
            Self::Sql(_) => None,
        }
    }

    /// What to do next, where there is something.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Storage(error) => error.hint(),
            Self::Sql(error) => error.hint(),
        }
    }
}

/// A storage and SQL on its tables. Clones are the same engine.
#[derive(Clone, Debug)]
pub struct Engine {
    storage: Storage,
    sql: Sql,
}

impl Engine {
    /// Opens the engine in a folder.
    pub fn open(folder: &Path) -> Result<(Self, Recovery), Error> {
        Self::open_with(folder, storage::Options::default(), sql::Limits::default())
    }

    /// Opens the engine in a folder, with the given options of the storage and limits of queries.
    pub fn open_with(
        folder: &Path,
        options: storage::Options,
        limits: sql::Limits,
    ) -> Result<(Self, Recovery), Error> {
        let (storage, recovery) = Storage::open(folder, options)?;
        // The storage has locked the folder, so no other process's queries spill there.
        let sql = Sql::new(storage.clone(), &folder.join("spill"), limits)?;
        Ok((Self { storage, sql }, recovery))
    }

    /// SQL on the node's rows.
    #[must_use]
    pub fn sql(&self) -> &Sql {
        &self.sql
    }

    /// Where the rows are kept.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Stores rows without a key: see [`Storage::put`].
    pub async fn put(
        &self,
        dbms: &str,
        table: &str,
        input: Input,
        bytes: &[u8],
    ) -> Result<Put, edgemere_storage::Error> {
        self.storage.put(Rows::new(dbms, table, input, bytes)).await
    }

    /// Stores rows: see [`Storage::put`].
    pub async fn put_rows(&self, rows: Rows<'_>) -> Result<Put, edgemere_storage::Error> {
        self.storage.put(rows).await
    }

    /// Creates a view of a query that was validated, durable when this returns.
    pub async fn create_view(&self, dbms: &str, name: &str, sql: &str) -> Result<(), Error> {
        self.sql.check_view(dbms, sql).await?;
        Ok(self.storage.create_view(dbms, name, sql).await?)
    }
}
