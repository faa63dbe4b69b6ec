//! A file is replaced at once, or not at all, and what it was is kept beside it.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;

/// How many copies may have the same second in their names.
const COPIES_MAX: usize = 100;

/// Replaces a file, and gives the name of the copy of what it was; none when it is new.
pub(super) fn replace(
    file: &Path,
    before: Option<&str>,
    text: &str,
) -> anyhow::Result<Option<PathBuf>> {
    // A link to the file stays one.
    let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().unwrap_or(Path::new("."));
    let cannot = || format!("cannot write \"{}\"", file.display());
    fs::create_dir_all(folder).with_context(cannot)?;
    let copy = before.map(|before| copy(file, before)).transpose().with_context(cannot)?;
    let mut new = tempfile::NamedTempFile::new_in(folder).with_context(cannot)?;
    new.write_all(text.as_bytes()).and_then(|()| new.as_file().sync_all()).with_context(cannot)?;
    match fs::metadata(file) {
        Ok(about) => fs::set_permissions(new.path(), about.permissions()).with_context(cannot)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(cannot),
    }
    new.persist(file).with_context(cannot)?;
    Ok(copy)
}

fn copy(file: &Path, before: &str) -> std::io::Result<PathBuf> {
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    for number in 0..COPIES_MAX {
        let again = if number == 0 { String::new() } else { format!("-{number}") };
        let mut name = file.as_os_str().to_owned();
        name.push(format!(".bak-{time}{again}"));
        let path = PathBuf::from(name);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(mut copy) => {
                copy.write_all(before.as_bytes())?;
                // A file that only its owner reads has a copy that only its owner reads.
                fs::set_permissions(&path, fs::metadata(file)?.permissions())?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other("there are too many copies of this second"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_leaves_a_copy_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new/mcp.json");
        assert_eq!(replace(&file, None, "1").unwrap(), None);
        let first = replace(&file, Some("1"), "2").unwrap().unwrap();
        let second = replace(&file, Some("2"), "3").unwrap().unwrap();
        assert_ne!(first, second);
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!([read(&first), read(&second), read(&file)], ["1", "2", "3"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&file, "1").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let copy = replace(&link, Some("1"), "2").unwrap().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "2");
        for path in [&file, &copy] {
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
