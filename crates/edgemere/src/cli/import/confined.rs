//! Files that an agent names: only those below the folder that was declared for it. An agent must not have
//! the machine's other files read to it by way of a table.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap_serve::manifests::open_below;
use edgemere_command::Kind;

use crate::client::is_run_for_agent;
use crate::failure::Failure;

/// The folder whose files agents may have imported. Without it they may not import.
pub(crate) const FOLDER_VARIABLE: &str = "EDGEMERE_IMPORT_FOLDER";

/// The folder that was declared.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os(FOLDER_VARIABLE).filter(|folder| !folder.is_empty())?;
    std::path::absolute(folder).ok()
}

/// The file that an agent names, opened; none when it is a person who names it.
pub(super) fn opened(file: &Path) -> Result<Option<File>, Failure> {
    match is_run_for_agent() {
        true => open_in(folder().as_deref(), file).map(Some),
        false => Ok(None),
    }
}

fn open_in(folder: Option<&Path>, file: &Path) -> Result<File, Failure> {
    let refused = |why: String| {
        let message = format!("\"{}\" cannot be imported by agents: {why}", file.display());
        let hint = format!("agents may import files below the folder of {FOLDER_VARIABLE}");
        Failure::new(Kind::Denied, message).with_hint(hint)
    };
    let folder = folder.ok_or_else(|| refused("no folder is declared for it".into()))?;
    let below = file.strip_prefix(folder).unwrap_or(file);
    open_below(folder, below).map_err(|error| refused(error.to_string()))
}

/// A path to an open file that means this file and no other, where the system has one.
pub(super) fn path_of(file: &File) -> Option<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        Some(PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn an_agents_file_is_below_the_folder_by_whichever_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.csv");
        std::fs::write(&file, "a\n1\n").unwrap();
        let text = |path: &Path| {
            let opened = open_in(Some(folder.path()), path).unwrap();
            let mut text = String::new();
            let again = path_of(&opened).unwrap_or(file.clone());
            File::open(again).unwrap().read_to_string(&mut text).unwrap();
            text
        };
        assert_eq!([text(Path::new("x.csv")), text(&file)], ["a\n1\n", "a\n1\n"]);
        for path in ["/etc/passwd", "../x", "/proc/self/environ"] {
            let failure = open_in(Some(folder.path()), Path::new(path)).unwrap_err();
            assert_eq!(failure.kind, Kind::Denied, "{path}");
        }
        assert_eq!(open_in(None, Path::new("x.csv")).unwrap_err().kind, Kind::Denied);
    }
}
