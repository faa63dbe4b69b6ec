//! Files and folders that only their owner may read, whatever the umask says: rows are in them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// How a file is opened that, when it is made, is its owner's alone.
#[must_use]
pub fn options() -> OpenOptions {
    #[cfg_attr(
        not(unix),
        allow(unused_mut, reason = "elsewhere folders inherit who may read them")
    )]
    let mut options = File::options();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Makes a file that is its owner's alone, or empties the one that is there.
pub fn create(path: &Path) -> io::Result<File> {
    options().create(true).truncate(true).write(true).open(path)
}

/// Makes a folder that is its owner's alone.
pub fn create_dir(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Makes a folder with those above it, each its owner's alone where it is new.
pub fn create_dir_all(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

/// Makes a folder, or removes all that is in it. The folder itself may be another disk's.
pub fn clear(folder: &Path) -> io::Result<()> {
    create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn builder() -> DirBuilder {
    #[cfg_attr(
        not(unix),
        allow(unused_mut, reason = "elsewhere folders inherit who may read them")
    )]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder
}

/// Takes the permissions of all others from a file or folder, and says whether there were any.
pub fn tighten(path: &Path) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path)?.permissions().mode();
        if mode & 0o077 == 0 {
            return Ok(false);
        }
        fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700))?;
        Ok(true)
    }
    #[cfg(not(unix))]
    {
        fs::metadata(path).map(|_| false)
    }
}

/// Does so for a folder and everything in it; links are left alone. Returns how many were changed.
pub fn tighten_all(path: &Path) -> io::Result<usize> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_symlink() {
        return Ok(0);
    }
    let mut changed = 0;
    if kind.is_dir() {
        for entry in fs::read_dir(path)? {
            changed += tighten_all(&entry?.path())?;
        }
    }
    Ok(changed + usize::from(tighten(path)?))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_its_owners_alone_and_what_was_not_becomes_so() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("a/b");
        create_dir_all(&folder).unwrap();
        let file = folder.join("x");
        create(&file).unwrap().write_all(b"1").unwrap();
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        assert_eq!(tighten_all(&scratch.path().join("a")).unwrap(), 0);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink("/", folder.join("link")).unwrap();
        assert_eq!(tighten_all(&scratch.path().join("a")).unwrap(), 2);
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    }
}
