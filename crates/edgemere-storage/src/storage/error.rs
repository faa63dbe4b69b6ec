//! What can go wrong in the storage, told apart by variant so that a caller never reads the message.
//!
//! An error can be cloned, since one failed transaction is the answer to many writers.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What helps a data folder that does not open.
const WAYS_OUT: &str = "\"edgemere restore BACKUP --force\" brings a backup back, \"edgemere data repair\" \
                        rebuilds the manifest from the Parquet files; both take --data DIR";

/// An error of the storage.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The name of a database or table has characters that it may not have.
    #[error("\"{name}\" cannot be the name of a {what}: {reason}")]
    Name {
        /// What was to be named: "table".
        what: &'static str,
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The columns of a table, or of a batch, are not acceptable.
    #[error("{reason}")]
    Columns {
        /// What is wrong with them.
        reason: String,
    },
    /// A column cannot have another type: a value of it is none of that type.
    #[error(
        "the value \"{value}\" of the column \"{column}\" in the row {row_id} does not fit: {reason}"
    )]
    Value {
        /// The column.
        column: String,
        /// The row's `row_id`.
        row_id: i64,
        /// The value, shortened.
        value: String,
        /// What it is not.
        reason: &'static str,
    },
    /// Columns cannot become wider: a value that they hold would not be the same.
    #[error("the columns {} hold values that a wider type would change", columns.join(", "))]
    Unfit {
        /// The columns.
        columns: Vec<String>,
    },
    /// The table exists, with other columns.
    #[error("the table \"{dbms}.{table}\" exists with other columns")]
    Conflict {
        /// The table's database.
        dbms: String,
        /// The table.
        table: String,
    },
    /// The key of an append was used before, with other content.
    #[error(
        "the idempotency key was used before for other content of \"{dbms}.{table}\" ({rows} rows); \
         nothing was stored"
    )]
    KeyReused {
        /// The table's database.
        dbms: String,
        /// The table.
        table: String,
        /// How many rows were stored then.
        rows: u64,
    },
    /// There is no such table.
    #[error("the database \"{dbms}\" has no table \"{table}\"")]
    NotFound {
        /// The database.
        dbms: String,
        /// The table.
        table: String,
    },
    /// There is no such database.
    #[error("no database \"{dbms}\"")]
    NoDatabase {
        /// The database.
        dbms: String,
    },
    /// The database does not answer until it is connected again.
    #[error("the database \"{dbms}\" is disconnected")]
    Disconnected {
        /// The database.
        dbms: String,
    },
    /// The database still answers, and is not empty.
    #[error("the database \"{dbms}\" is connected and not empty")]
    Connected {
        /// The database.
        dbms: String,
    },
    /// There is no such view.
    #[error("the database \"{dbms}\" has no view \"{view}\"")]
    NoView {
        /// The database.
        dbms: String,
        /// The view.
        view: String,
    },
    /// The name is that of something else.
    #[error("the database \"{dbms}\" has a {what} \"{name}\" already")]
    Taken {
        /// What has the name: "view".
        what: &'static str,
        /// The database.
        dbms: String,
        /// The name.
        name: String,
    },
    /// Something is over a limit.
    #[error("{what} is over the limit of {limit}")]
    TooLarge {
        /// What is too large: "the batch".
        what: &'static str,
        /// The limit, with its unit.
        limit: String,
    },
    /// Rows come faster than they are flushed, and memory is full.
    #[error("the storage is busy: {reason}")]
    Busy {
        /// When to try again.
        retry_after: Duration,
        /// What keeps it from taking more.
        reason: String,
    },
    /// Less than the reserve is free on the disk.
    #[error(
        "the disk of \"{}\" has {} MiB free, and rows leave {} MiB of it alone; nothing was stored",
        shown(folder), free >> 20, reserve >> 20
    )]
    DiskReserve {
        /// A folder on the disk.
        folder: PathBuf,
        /// The bytes that are free.
        free: u64,
        /// The bytes that are left alone.
        reserve: u64,
    },
    /// Another process, or another storage of this one, has the folder open.
    #[error("the storage in \"{}\" is in use", folder.display())]
    Locked {
        /// The folder that is in use.
        folder: PathBuf,
    },
    /// The storage was closed.
    #[error("the storage is closed")]
    Closed,
    /// A file does not hold what was written to it.
    #[error("the file \"{}\" is damaged: {reason}", shown(path))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// Rows of a table cannot be read, because the file that they are in is damaged.
    #[error(
        "{rows} rows of the table \"{dbms}.{table}\" cannot be read: the file \"{file}\" is damaged: \
         {reason}{}", others(*files)
    )]
    Unreadable {
        /// The database.
        dbms: Box<str>,
        /// The table.
        table: Box<str>,
        /// The file, or the first of several.
        file: Box<str>,
        /// How many files are damaged.
        files: usize,
        /// How many rows they have.
        rows: u64,
        /// What is wrong with the file.
        reason: Box<str>,
    },
    /// The manifest is not that of the files beside it: it is from before they were written.
    #[error("the manifest \"{}\" is older than its Parquet files: {reason}", path.display())]
    Older {
        /// The file with the manifest.
        path: PathBuf,
        /// How that can be seen.
        reason: String,
    },
    /// The store has lost its last transactions, and they were acknowledged.
    #[error(
        "the file \"{}\" ends with transaction {found}, and transaction {acknowledged} was acknowledged: \
         what was stored between them is lost", path.display()
    )]
    Forgotten {
        /// The file.
        path: PathBuf,
        /// Its last transaction.
        found: u64,
        /// The last one that was acknowledged.
        acknowledged: u64,
    },
    /// The operating system refused.
    #[error("cannot {action} \"{}\"", shown(path))]
    Io {
        /// What was tried, as a verb: "write".
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why it failed.
        source: Arc<io::Error>,
    },
}

impl Error {
    /// What the person who reads the error can do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Name { .. } => Some(
                "use lower-case letters, digits and \"_\", and after the first character also \
                 spaces, \".\", \";\" and \"-\""
                    .to_owned(),
            ),
            Self::Busy { retry_after, .. } => {
                Some(format!("try again in {} s", retry_after.as_secs().max(1)))
            }
            Self::Disconnected { dbms } => {
                Some(format!("\"connect dbms {dbms} where type = edgemere\" brings it back"))
            }
            Self::Connected { dbms } => Some(format!("\"disconnect dbms {dbms}\" first")),
            Self::Taken { what: "view", dbms, name } => {
                Some(format!("\"drop view {name} where dbms = {dbms}\" removes it"))
            }
            Self::NoDatabase { .. } => Some("\"get databases\" lists the databases".to_owned()),
            Self::NoView { .. } => Some("\"get views\" lists the views".to_owned()),
            Self::Locked { .. } => {
                Some("stop the other node, or give this one a data folder of its own".to_owned())
            }
            Self::Unreadable { dbms, table, file, .. } => Some(format!(
                "ask for the other rows with subset = true; put the file back from a backup; or give \
                 its rows up with \"drop partition {file} where dbms = {dbms} and table = {table}\""
            )),
            Self::KeyReused { .. } => Some(
                "send other rows under another key; the same key is for sending the same bytes again"
                    .to_owned(),
            ),
            Self::Damaged { .. } | Self::Older { .. } | Self::Forgotten { .. } => {
                Some(format!("nothing was changed; {WAYS_OUT}"))
            }
            Self::DiskReserve { .. } => Some(
                "free some disk space, or drop rows: \"drop partition\", \"drop table\" and \"set \
                 retention\" still work; --disk-reserve sets how much is left alone"
                    .to_owned(),
            ),
            _ if self.is_full() => Some("free some disk space and try again".to_owned()),
            _ => None,
        }
    }

    /// Whether the disk is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            Self::DiskReserve { .. } => true,
            _ => false,
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.into() }
    }

    pub(crate) fn columns(reason: impl Into<String>) -> Self {
        Self::Columns { reason: reason.into() }
    }

    /// The error of the key-value store while it did something to its file.
    pub(crate) fn store(action: &'static str, path: &Path, error: redb::Error) -> Self {
        match error {
            redb::Error::Io(source) => Self::io(action, path, source),
            redb::Error::PreviousIo => {
                Self::io(action, path, io::Error::other("an earlier write failed"))
            }
            other => Self::damaged(path, other.to_string()),
        }
    }

    /// The error of the Parquet library: it wraps those of the operating system.
    pub(crate) fn parquet(
        action: &'static str,
        path: &Path,
        error: parquet::errors::ParquetError,
    ) -> Self {
        use parquet::errors::ParquetError;
        match error {
            ParquetError::External(source) => match source.downcast::<io::Error>() {
                Ok(source) => Self::io(action, path, *source),
                Err(source) => Self::damaged(path, source.to_string()),
            },
            other => Self::damaged(path, other.to_string()),
        }
    }
}

/// A path as callers see it: a file with its table and its database, and not where the data folder is
/// on this machine.
fn shown(path: &Path) -> String {
    const PARTS: usize = 3;
    let names: Vec<_> = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    match path.is_absolute() {
        // A short path is a folder of the machine's: its own name says enough.
        true if names.len() <= PARTS => names.last().map(ToString::to_string).unwrap_or_default(),
        true => names.get(names.len() - PARTS..).unwrap_or_default().join("/"),
        false => path.display().to_string(),
    }
}

/// How many files are damaged beside the one that is named.
fn others(files: usize) -> String {
    match files.saturating_sub(1) {
        0 => String::new(),
        1 => ", and so is another".to_owned(),
        more => format!(", and so are {more} others"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_error_that_a_caller_sees_has_an_absolute_path() {
        for (path, told) in [
            ("/srv/edge/data/rows/d/t/1.parquet", "d/t/1.parquet"),
            ("/srv/edge/data/rows/fresh.redb", "data/rows/fresh.redb"),
            ("/srv/data", "data"),
            ("/", ""),
            ("d/t/1.parquet", "d/t/1.parquet"),
        ] {
            let path = PathBuf::from(path);
            let errors = [
                Error::io("write", &path, io::Error::other("no")),
                Error::damaged(&path, "torn"),
                Error::DiskReserve { folder: path.clone(), free: 0, reserve: 1 },
            ];
            for error in errors {
                let text = error.to_string();
                assert!(text.contains(&format!("\"{told}\"")), "{text}");
                assert!(!text.contains("/srv"), "{text}");
            }
        }
    }
}
