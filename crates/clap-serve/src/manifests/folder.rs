//! Open folders and their entries. Nothing here follows a symbolic link or blocks on a pipe.

use std::{fs::File, io, path::Path};

use rustix::fs::{Dir, FileType, Mode, OFlags, open, openat};

/// A link is not accepted as a folder.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Opening a pipe without a writer would block without `NONBLOCK`.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open folder. It stays the same folder if its path changes.
#[derive(Debug)]
pub(super) struct Folder(File);

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// Unknown until it is opened.
    Unknown,
}

impl Folder {
    /// The folder at a path. Links are followed only before the last component.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, FOLDER, Mode::empty())?.into()))
    }

    /// A folder in this folder.
    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, FOLDER, Mode::empty())?.into()))
    }

    /// A regular file in this folder.
    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        let file = File::from(openat(&self.0, name, FILE, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "not a file")),
        }
    }

    /// Entries with UTF-8 names that may be files or folders, up to a limit, and the number of entries read.
    pub(super) fn entries(&self, max: usize) -> io::Result<(Vec<(String, Kind)>, usize)> {
        let (mut entries, mut count) = (Vec::new(), 0);
        for entry in Dir::read_from(&self.0)?.take(max) {
            let entry = entry?;
            count += 1;
            let kind = match entry.file_type() {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Folder,
                FileType::Unknown => Kind::Unknown,
                _ => continue,
            };
            if let Ok(name) = entry.file_name().to_str() {
                entries.push((name.to_owned(), kind));
            }
        }
        Ok((entries, count))
    }
}

/// Whether every user can create files there.
pub(super) fn is_everybodys(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    folder.metadata().is_ok_and(|about| about.permissions().mode() & 0o002 != 0)
}
