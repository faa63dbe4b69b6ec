//! The data folder is its owner's alone: rows, policies and keys are in it.

use std::io;
use std::path::Path;

use edgemere_storage::private;

/// What is in a data folder, all of which is the node's own.
const OWN: [&str; 3] = ["rows", "ledger", "backup"];

/// How the names of a node's own files end that are in the data folder itself.
const OWN_ENDS: [&str; 3] = [".json", ".key", ".new"];

/// Makes the data folder when it is missing, and takes the permissions of others from it and from what the
/// node has in it, which is reported when there was something to read. A folder that has something else in it
/// is left as it is: it may be anybody's.
pub(super) fn prepare(data: &Path) -> io::Result<()> {
    if !data.exists() {
        private::create_dir_all(data)?;
    }
    let was_used = OWN.iter().any(|name| data.join(name).is_dir());
    let changed = tighten(data)?;
    if changed > 0 && was_used {
        let data = data.display();
        tracing::info!(%data, changed, "others on this machine may no longer read the data folder");
    }
    Ok(())
}

/// Does so for what was made since, by those who do not say who may read it: nothing of it was there before.
pub(super) fn finish(data: &Path) -> io::Result<()> {
    tighten(data).map(drop)
}

fn tighten(data: &Path) -> io::Result<usize> {
    let mut changed = 0;
    if is_own(data)? {
        changed += count(data, private::tighten(data));
    }
    for name in OWN {
        let path = data.join(name);
        if path.is_dir() {
            changed += count(&path, private::tighten_all(&path));
        }
    }
    for entry in std::fs::read_dir(data)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if OWN_ENDS.iter().any(|end| name.ends_with(end)) && path.is_file() && !path.is_symlink() {
            changed += count(&path, private::tighten(&path));
        }
    }
    Ok(changed)
}

/// Whether a folder is a node's, or nobody's yet.
fn is_own(data: &Path) -> io::Result<bool> {
    let is_nodes = OWN.iter().any(|name| data.join(name).is_dir());
    let is_empty = std::fs::read_dir(data)?.next().is_none();
    let is_shared = is_shared(data)?;
    if !is_nodes && !is_empty {
        let data = data.display();
        tracing::warn!(%data, "the data folder has other files in it, so who may read it is not changed");
    }
    Ok((is_nodes || is_empty) && !is_shared)
}

/// Whether a folder is one in which everybody has their own files, as /tmp.
#[cfg(unix)]
fn is_shared(data: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::metadata(data)?.permissions().mode() & 0o1000 != 0)
}

#[cfg(not(unix))]
fn is_shared(_: &Path) -> io::Result<bool> {
    Ok(false)
}

/// A failed change is logged and stops nothing: the folder may be on a disk without permissions.
fn count<T: Into<Changed>>(path: &Path, changed: io::Result<T>) -> usize {
    match changed {
        Ok(changed) => changed.into().0,
        Err(error) => {
            let path = path.display();
            tracing::warn!(%path, %error, "others on this machine may be able to read it");
            0
        }
    }
}

struct Changed(usize);

impl From<bool> for Changed {
    fn from(changed: bool) -> Self {
        Self(usize::from(changed))
    }
}

impl From<usize> for Changed {
    fn from(changed: usize) -> Self {
        Self(changed)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_that_is_wider_is_tightened() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("new/data");
        prepare(&data).unwrap();
        assert_eq!(mode(&data), 0o700);
        fs::create_dir_all(data.join("rows/data")).unwrap();
        for file in ["node.json", "network.key", "notes.txt", "rows/data/x"] {
            fs::write(data.join(file), "").unwrap();
            set(&data.join(file), 0o644);
        }
        for folder in ["", "rows", "rows/data"] {
            set(&data.join(folder), 0o755);
        }
        prepare(&data).unwrap();
        for folder in ["", "rows", "rows/data"] {
            assert_eq!(mode(&data.join(folder)), 0o700, "{folder}");
        }
        for file in ["node.json", "network.key", "rows/data/x"] {
            assert_eq!(mode(&data.join(file)), 0o600, "{file}");
        }
    }

    #[test]
    fn a_folder_of_others_is_left_alone_but_for_what_is_the_nodes() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("home");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("notes.txt"), "").unwrap();
        set(&data, 0o755);
        prepare(&data).unwrap();
        assert_eq!(mode(&data), 0o755);
    }
}
