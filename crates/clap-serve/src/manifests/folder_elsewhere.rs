//! Folders on systems without `openat`. Links are skipped, as far as this can be checked before a file is
//! opened.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A folder.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// Every entry has a known type here.
    #[expect(dead_code, reason = "other systems have it")]
    Unknown,
}

impl Folder {
    /// The folder at a path.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        match path.symlink_metadata()?.is_dir() {
            true => Ok(Self(path.to_owned())),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "not a folder")),
        }
    }

    /// A folder in this folder.
    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        Self::open(&self.0.join(name))
    }

    /// A regular file in this folder.
    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        let path = self.0.join(name);
        match path.symlink_metadata()?.is_file() {
            true => File::open(path),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "not a file")),
        }
    }

    /// Entries with UTF-8 names that are files or folders, up to a limit, and the number of entries read.
    pub(super) fn entries(&self, max: usize) -> io::Result<(Vec<(String, Kind)>, usize)> {
        let (mut entries, mut count) = (Vec::new(), 0);
        for entry in fs::read_dir(&self.0)?.take(max) {
            let entry = entry?;
            count += 1;
            let kind = match entry.file_type()? {
                kind if kind.is_file() => Kind::File,
                kind if kind.is_dir() => Kind::Folder,
                _ => continue,
            };
            if let Ok(name) = entry.file_name().into_string() {
                entries.push((name, kind));
            }
        }
        Ok((entries, count))
    }
}

/// Whether every user can create files there, as far as is known.
pub(super) fn is_everybodys(_: &Path) -> bool {
    false
}
