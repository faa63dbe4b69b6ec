//! The storage's folder: its lock, where things are in it, and how a new file becomes durable.
//!
//! It knows files and their durability, and nothing of what is in them.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::private;
use crate::storage::Error;
use crate::storage::tables::name;

/// How a Parquet file's name ends.
pub(crate) const PARQUET: &str = ".parquet";

/// How the name of a file ends that is still being written.
const TEMPORARY: &str = ".parquet.tmp";

/// A folder that is locked against every other user until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes the folder when it is missing, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        // Queries know files by URLs, which are never relative.
        let path = &std::path::absolute(path).map_err(|error| Error::io("find", path, error))?;
        create_durably(path)?;
        let name = path.join("storage.lock");
        let lock = private::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name)
            .map_err(|error| Error::io("open", &name, error))?;
        match lock.try_lock() {
            Ok(()) => {
                // It may have been given as seen from where the node was started, with ".." in it;
                // queries need to know where it is.
                let path = path.canonicalize().map_err(|error| Error::io("open", path, error))?;
                Ok(Self { path, _lock: lock })
            }
            Err(TryLockError::WouldBlock) => Err(Error::Locked { folder: path.to_owned() }),
            Err(TryLockError::Error(error)) => Err(Error::io("lock", &name, error)),
        }
    }

    /// The folder itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the key-value store is.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("fresh.redb")
    }

    /// Where the Parquet files are.
    pub(crate) fn data(&self) -> PathBuf {
        self.path.join("data")
    }

    /// Where the Parquet files of a table are.
    pub(crate) fn table(&self, dbms: &str, table: &str) -> PathBuf {
        self.data().join(name::folder(dbms)).join(name::folder(table))
    }

    /// Where Parquet files are moved to that nobody knows.
    pub(crate) fn lost(&self) -> PathBuf {
        self.path.join("lost")
    }

    /// Moves a Parquet file to the same place among the lost ones, under a name that is free there.
    pub(crate) fn lose(&self, path: &Path) -> Result<PathBuf, Error> {
        let place =
            path.strip_prefix(self.data()).unwrap_or(path.file_name().map_or(path, Path::new));
        let to = self.lost().join(place);
        let above = to.parent().unwrap_or(Path::new("."));
        create_durably(above)?;
        let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let again = (1..).map(|count: u64| above.join(format!("{name}.{count}")));
        let free =
            std::iter::once(to.clone()).chain(again).find(|to| !to.exists()).unwrap_or(to.clone());
        fs::rename(path, &free).map_err(|error| Error::io("move", path, error))?;
        sync_folder(above)?;
        path.parent().map_or(Ok(()), sync_folder)?;
        Ok(free)
    }

    /// Every Parquet file that is there, whole or not, whether or not a manifest names it.
    ///
    /// Files that cannot be the storage's own are left out.
    pub(crate) fn parquet_files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        for dbms in entries(&self.data())? {
            for table in entries(&dbms)? {
                files.extend(entries(&table)?.into_iter().filter(|path| is_own(path)));
            }
        }
        Ok(files)
    }

    /// Removes the folders of tables and databases in which nothing is left.
    pub(crate) fn remove_empty_folders(&self) -> Result<(), Error> {
        for dbms in entries(&self.data())? {
            for table in entries(&dbms)? {
                // One that is not empty refuses, which is what is wanted.
                let _ = fs::remove_dir(&table);
            }
            let _ = fs::remove_dir(&dbms);
        }
        Ok(())
    }
}

/// Makes a file under another name, and gives it its own when it is whole and durable. After an
/// error nothing is left of it.
pub(crate) fn create_whole<T>(
    path: &Path,
    write: impl FnOnce(&Path, File) -> Result<T, Error>,
) -> Result<T, Error> {
    let above = path.parent().unwrap_or(Path::new("."));
    create_durably(above)?;
    let temporary = path.with_extension("parquet.tmp");
    let made = private::create(&temporary)
        .map_err(|error| Error::io("create", &temporary, error))
        .and_then(|file| write(&temporary, file))
        .and_then(|value| {
            fs::rename(&temporary, path).map_err(|error| Error::io("rename", &temporary, error))?;
            sync_folder(above)?;
            Ok(value)
        });
    if made.is_err() {
        // That it cannot be removed changes nothing: the next open removes it.
        let _ = fs::remove_file(&temporary);
        let _ = fs::remove_file(path);
    }
    made
}

/// Puts a durable copy of a file in its place.
pub(crate) fn renew(path: &Path) -> Result<(), Error> {
    let copy = path.with_extension("copy");
    fs::copy(path, &copy)
        .and_then(|_| File::open(&copy)?.sync_all())
        .and_then(|()| fs::rename(&copy, path))
        .map_err(|error| {
            // Half a copy is of no use, and the next one would replace it anyway.
            let _ = fs::remove_file(&copy);
            Error::io("copy", path, error)
        })?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Makes a folder with those above it, such that a power cut does not lose their names.
pub(crate) fn create_durably(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    if let Some(above) = above {
        create_durably(above)?;
    }
    match private::create_dir(path) {
        Ok(()) => above.map_or(Ok(()), sync_folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::io("create", path, error)),
    }
}

pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| Error::io("sync", path, error))
}

/// What is in a folder; nothing when it is a file or not there.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |error| Error::io("list", folder, error);
    match fs::read_dir(folder) {
        Ok(entries) => {
            entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
        }
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(failed(error)),
    }
}

/// Whether a file was not finished.
pub(crate) fn is_unfinished(path: &Path) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(TEMPORARY))
}

/// Whether a file has a name as the storage gives them: two numbers.
fn is_own(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let stem = name.strip_suffix(PARQUET).or_else(|| name.strip_suffix(TEMPORARY));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    stem.and_then(|stem| stem.split_once('-'))
        .is_some_and(|(row, number)| is_number(row) && is_number(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_with_its_own_names_are_the_storages() {
        for name in ["1-2.parquet", "100-3.parquet.tmp"] {
            assert!(is_own(Path::new(name)), "{name}");
        }
        for name in ["a-2.parquet", "12.parquet", "1-.parquet", "1-2.csv", "notes", "1-2.parquet~"]
        {
            assert!(!is_own(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn a_file_that_fails_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("d/t/1-1.parquet");
        let failed =
            create_whole(&path, |path, _| Err::<(), _>(Error::damaged(path, "on purpose")));
        assert!(matches!(failed, Err(Error::Damaged { .. })));
        assert_eq!(entries(path.parent().unwrap()).unwrap(), Vec::<PathBuf>::new());
    }
}
