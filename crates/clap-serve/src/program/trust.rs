//! Checks that only the user can change a file whose content is run as that user. The rules are those of
//! sshd's `StrictModes`: only the user and root may write to the file and to the directories above it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a file is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    /// The file, or the directory above it, that others can change.
    pub path: PathBuf,
    /// Why they can.
    pub reason: &'static str,
    /// The command that corrects it.
    pub remedy: String,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for Untrusted {}

/// Refuses a file that others than the user and root can change or replace. A file that does not exist is
/// accepted.
#[cfg(unix)]
pub fn trusted(file: &Path) -> Result<(), Untrusted> {
    let Ok(absolute) = std::path::absolute(file) else { return Ok(()) };
    // Both the named path and the resolved one: a link can be replaced, and so can its target.
    let real = std::fs::canonicalize(&absolute).unwrap_or_else(|_| absolute.clone());
    for path in [absolute, real] {
        check(&path, false)?;
        path.ancestors().skip(1).try_for_each(|folder| check(folder, true))?;
    }
    Ok(())
}

/// On other systems the system's own rules apply.
#[cfg(not(unix))]
pub fn trusted(_file: &Path) -> Result<(), Untrusted> {
    Ok(())
}

/// Checks a file or directory itself, without following links.
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
    // In a sticky directory such as /tmp everybody may create files, but only owners may replace theirs.
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
