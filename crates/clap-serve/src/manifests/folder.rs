//! Open folders, and what is in them. Nothing here follows a symbolic link, or waits for a pipe.

use std::{fs::File, io, path::Path};

use rustix::fs::{Dir, FileType, Mode, OFlags, open, openat};

/// A link in the place of a folder is no folder.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Opening a pipe that nobody writes to would wait, without `NONBLOCK`.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open folder. It stays the same one, whatever its path comes to mean.
#[derive(Debug)]
pub(super) struct Folder(File);

/// What an entry of a folder may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
    /// The file system says only who opens it.
    Unknown,
}

impl Folder {
    /// The folder at a path, whose parts but the last are taken as they are.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(open(path, FOLDER, Mode::empty())?.into()))
    }

    /// The folder of this name in it.
    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        Ok(Self(openat(&self.0, name, FOLDER, Mode::empty())?.into()))
    }

    /// The file of this name in it: a regular one.
    pub(super) fn file(&self, name: &str) -> io::Result<File> {
        let file = File::from(openat(&self.0, name, FILE, Mode::empty())?);
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "not a file")),
        }
    }

    /// At most so many entries, with how many there were, that have a name of text and may be files
    /// or folders.
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

/// Whether anybody can put a file there.
pub(super) fn is_everybodys(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    folder.metadata().is_ok_and(|about| about.permissions().mode() & 0o002 != 0)
}
