//! The folder of a ledger on disk: `ledger.log` with the history, `ledger.lock` while it is open,
//! `ledger.cut-…` with what was ever cut from the log, and `ledger.before-…` with what it was before
//! another history was taken. `ledger.new` is a log that is being written, and `ledger.doubt` says
//! that the disk failed while the log was written to.
//!
//! It knows files and their durability, and nothing of what is in them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;

/// The most files that are saved of the same entry.
const CUTS_MAX: u32 = 1000;

/// How much of the log is read at once.
const READ_BYTES: usize = 256 * 1024;

/// A ledger's folder, locked against every other user until this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    log: PathBuf,
    _lock: File,
}

impl Folder {
    /// Locks a folder that must exist.
    pub(crate) fn lock(path: &Path) -> Result<Self, Error> {
        let name = path.join("ledger.lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&name)
            .map_err(|error| Error::io("open", &name, error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { folder: path.to_owned() });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &name, error)),
        }
        Ok(Self { path: path.to_owned(), log: path.join("ledger.log"), _lock: lock })
    }

    /// Makes the folder when it is missing, and locks it.
    pub(crate) fn create(path: &Path) -> Result<Self, Error> {
        if !path.is_dir() {
            fs::create_dir_all(path).map_err(|error| Error::io("create", path, error))?;
            // The folder above holds the new one's name, which a power cut must not lose either.
            if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
                sync_folder(above)?;
            }
        }
        Self::lock(path)
    }

    /// Where the log is.
    pub(crate) fn log(&self) -> &Path {
        &self.log
    }

    /// Opens the log for appending, and makes it when it is missing.
    pub(crate) fn open_log(&self) -> Result<File, Error> {
        let open = |create| OpenOptions::new().append(true).create_new(create).open(&self.log);
        match open(true) {
            Ok(file) => {
                file.sync_all().map_err(|error| Error::io("sync", &self.log, error))?;
                sync_folder(&self.path)?;
                Ok(file)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                open(false).map_err(|error| Error::io("open", &self.log, error))
            }
            Err(error) => Err(Error::io("create", &self.log, error)),
        }
    }

    /// Opens the log for reading from its beginning.
    pub(crate) fn read_log(&self) -> Result<BufReader<File>, Error> {
        let file = File::open(&self.log).map_err(|error| Error::io("open", &self.log, error))?;
        Ok(BufReader::with_capacity(READ_BYTES, file))
    }

    /// Opens the log for reading at any place. What is read is of this log, also when another takes
    /// its place meanwhile.
    pub(crate) fn log_reader(&self) -> Result<Arc<File>, Error> {
        let file = File::open(&self.log).map_err(|error| Error::io("open", &self.log, error))?;
        Ok(Arc::new(file))
    }

    /// Puts another log in the place of the log: all of it is on disk before it is there at all.
    /// Returns it, open for appending.
    pub(crate) fn replace_log(
        &self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<File, Error> {
        let new = self.path.join("ledger.new");
        let failed = |error| Error::io("write", &new, error);
        let file = File::create(&new).map_err(failed)?;
        let mut to = BufWriter::with_capacity(READ_BYTES, file);
        write(&mut to).map_err(failed)?;
        let file = to.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        fs::rename(&new, &self.log).map_err(|error| Error::io("replace", &self.log, error))?;
        sync_folder(&self.path)?;
        self.open_log()
    }

    /// Notes that the disk failed, for the next open. That this fails too changes nothing.
    pub(crate) fn note_doubt(path: &Path) {
        let _ = File::create(path.join("ledger.doubt"));
    }

    /// After a failure of the disk what is read may not be on it: writes the log anew.
    pub(crate) fn renew_after_doubt(&self) -> Result<(), Error> {
        let doubt = self.path.join("ledger.doubt");
        if !doubt.exists() || !self.log.exists() {
            return Ok(());
        }
        let mut log = self.read_log()?;
        drop(self.replace_log(|to| io::copy(&mut log, to).map(drop))?);
        fs::remove_file(&doubt).map_err(|error| Error::io("remove", &doubt, error))
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Copies the log to a file of its own, before another history is taken.
    pub(crate) fn keep_log(&self, entries: u64) -> Result<PathBuf, Error> {
        let (saved, mut file) = self.create_saved("before", entries)?;
        self.copy_from(0, &mut file).map_err(|error| {
            let _ = fs::remove_file(&saved);
            Error::io("write", &saved, error)
        })?;
        sync_folder(&self.path)?;
        Ok(saved)
    }

    /// Cuts the log at an offset, where the entry `seq` begins, after saving what is cut to a file
    /// of its own.
    pub(crate) fn cut_log(&self, seq: u64, offset: u64) -> Result<(PathBuf, u64), Error> {
        let (saved, mut file) = self.create_saved("cut", seq)?;
        let bytes = self.copy_from(offset, &mut file).map_err(|error| {
            // Half a copy would look like a whole one. That it cannot be removed changes nothing.
            let _ = fs::remove_file(&saved);
            Error::io("write", &saved, error)
        })?;
        sync_folder(&self.path)?;
        let log = self.open_log()?;
        log.set_len(offset)
            .and_then(|()| log.sync_all())
            .map_err(|error| Error::io("truncate", &self.log, error))?;
        Ok((saved, bytes))
    }

    fn create_saved(&self, what: &str, seq: u64) -> Result<(PathBuf, File), Error> {
        let mut last = None;
        for count in 1..=CUTS_MAX {
            let name = match count {
                1 => format!("ledger.{what}-{seq}"),
                _ => format!("ledger.{what}-{seq}-{count}"),
            };
            let path = self.path.join(name);
            match File::create_new(&path) {
                Ok(file) => return Ok((path, file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => last = Some(error),
                Err(error) => return Err(Error::io("create", &path, error)),
            }
        }
        let source = last.unwrap_or_else(|| ErrorKind::AlreadyExists.into());
        Err(Error::io("save a copy of", &self.log, source))
    }

    fn copy_from(&self, offset: u64, to: &mut File) -> io::Result<u64> {
        let mut log = File::open(&self.log)?;
        log.seek(SeekFrom::Start(offset))?;
        let bytes = io::copy(&mut log, to)?;
        to.sync_all()?;
        Ok(bytes)
    }
}

fn sync_folder(path: &Path) -> Result<(), Error> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|error| Error::io("sync", path, error))
}
