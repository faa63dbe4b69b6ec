//! Folders where the system has no files relative to an open folder. Links are left out, as far as can
//! be seen before a file is opened.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

/// A folder.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

/// What an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// Known of every entry here, but not everywhere.
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

    /// The folder of this name in it.
    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        Self::open(&self.0.join(name))
    }

    /// The file of this name in it: a regular one.
    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        let path = self.0.join(name);
        match path.symlink_metadata()?.is_file() {
            true => File::open(path),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "not a file")),
        }
    }

    /// At most so many entries, with how many there were, that have a name of text and are files or
    /// folders.
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

/// Whether anybody can put a file there, as far as is known.
pub(super) fn is_everybodys(_: &Path) -> bool {
    false
}
