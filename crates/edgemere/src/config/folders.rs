//! The user's own folders, by the rules of XDG.

use std::path::PathBuf;

/// Where the user's configuration of Edgemere is.
pub(crate) fn config_folder() -> Option<PathBuf> {
    user_folder("XDG_CONFIG_HOME", ".config")
}

/// Where what the shell remembers is.
pub(crate) fn state_folder() -> Option<PathBuf> {
    user_folder("XDG_STATE_HOME", ".local/state")
}

fn user_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = set(variable).or_else(|| Some(set("HOME")?.join(in_home)))?;
    Some(base.join("edgemere"))
}
