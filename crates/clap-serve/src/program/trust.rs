//! Whether a file is only its user's to change: what it says, or does, is then run as that user. The
//! rules are those of sshd's `StrictModes`: nobody but the user and root may write to it, or to a folder
//! above it, where it could be replaced.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a file is not to be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    /// The file, or the folder above it, that others may change.
    pub path: PathBuf,
    /// Why they may.
    pub reason: &'static str,
    /// The command that mends it.
    pub remedy: String,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for Untrusted {}

/// Refuses a file that others than the user and root may change or replace. A file that is not there is
/// no matter of trust.
#[cfg(unix)]
pub fn trusted(file: &Path) -> Result<(), Untrusted> {
    let Ok(absolute) = std::path::absolute(file) else { return Ok(()) };
    // As it is named and as it is: a link can be replaced where it stands, and its target there.
    let real = std::fs::canonicalize(&absolute).unwrap_or_else(|_| absolute.clone());
    for path in [absolute, real] {
        check(&path, false)?;
        path.ancestors().skip(1).try_for_each(|folder| check(folder, true))?;
    }
    Ok(())
}

/// Elsewhere the system's own rules hold.
#[cfg(not(unix))]
pub fn trusted(_file: &Path) -> Result<(), Untrusted> {
    Ok(())
}

/// Checks one file or folder, by what it is and not by what a link leads to.
#[cfg(unix)]
fn check(path: &Path, is_folder: bool) -> Result<(), Untrusted> {
    use std::os::unix::fs::MetadataExt;
    const OTHERS_WRITE: u32 = 0o022;
    const STICKY: u32 = 0o1000;

    let Ok(about) = path.symlink_metadata() else { return Ok(()) };
    let untrusted = |reason, remedy| {
        Err(Untrusted {
            path: path.to_owned(),
            reason,
            remedy: format!("{remedy} {}", path.display()),
        })
    };
    let own = rustix::process::geteuid().as_raw();
    if about.uid() != own && about.uid() != 0 {
        return untrusted("belongs to another user", "chown \"$USER\"");
    }
    // In a folder as /tmp everybody may make files, and only owners replace theirs.
    let is_shared = is_folder && about.mode() & STICKY != 0;
    if about.mode() & OTHERS_WRITE != 0 && !is_shared && !about.is_symlink() {
        return untrusted("may be written by others", "chmod go-w");
    }
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn with_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_that_others_may_write_or_replace_is_refused_with_what_mends_it() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, file) = (folder.path().join("in"), folder.path().join("in/tools.yaml"));
        fs::create_dir(&inner).unwrap();
        fs::write(&file, "tools: []").unwrap();
        with_mode(&inner, 0o755);
        with_mode(&file, 0o644);
        assert_eq!(trusted(&file), Ok(()));
        for mode in [0o664, 0o646, 0o666, 0o777] {
            with_mode(&file, mode);
            let refused = trusted(&file).unwrap_err();
            assert_eq!(refused.path, file, "{mode:o}");
            assert_eq!(refused.remedy, format!("chmod go-w {}", file.display()));
        }
        with_mode(&file, 0o600);
        for mode in [0o775, 0o757, 0o777] {
            with_mode(&inner, mode);
            assert_eq!(trusted(&file).unwrap_err().path, inner, "{mode:o}");
        }
        with_mode(&inner, 0o1777);
        assert_eq!(trusted(&file), Ok(()), "as /tmp");
        with_mode(&inner, 0o700);
        assert_eq!(trusted(&file), Ok(()));
    }

    #[test]
    fn a_link_is_as_good_as_where_it_stands_and_what_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "").unwrap();
        with_mode(&file, 0o644);
        symlink(&file, &link).unwrap();
        assert_eq!(trusted(&link), Ok(()));
        with_mode(&file, 0o666);
        assert_eq!(trusted(&link).unwrap_err().path, fs::canonicalize(&file).unwrap());
        assert_eq!(trusted(&folder.path().join("none")), Ok(()));
    }
}
