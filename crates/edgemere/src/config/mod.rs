//! The configuration: what holds, and where it came from.
//!
//! 1. `keys` lists every key once: name, variable, form, default, help.
//! 2. `flags` makes clap arguments of them, which also read the environment.
//! 3. `file` finds and reads `edgemere.toml`, and says where in it something is wrong.
//! 4. [`Config::load`] puts them together: flag over environment over file over default. What a file may
//!    say that nobody has named, because it lies in the working folder, is in `folder`.
//! 5. `write` makes TOML of it again, for `config show` and `config init`.

mod file;
mod flags;
mod folder;
mod folders;
mod form;
mod key;
pub(crate) mod keys;
pub(crate) mod machine;
mod misspelt;
mod write;

use std::fmt;
use std::path::{Path, PathBuf};

pub(crate) use self::file::FILE_NAME;
pub(crate) use self::flags::{CallKeys, ClientKeys, DataKeys, Flags, LogKeys, NodeKeys, ToolKeys};
pub(crate) use self::folder::{harmless, lowered};
pub(crate) use self::folders::state_folder;
pub(crate) use self::form::{address, count, node_url, seconds, size};
use self::key::Default;
pub(crate) use self::key::Key;
pub(crate) use self::misspelt::misspelt;
pub(crate) use self::write::{show, template};

/// The value of a key and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: &'static Key,
    /// The value as a flag would give it; none when nothing holds.
    pub(crate) text: Option<String>,
    pub(crate) source: Source,
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Nobody said anything.
    Default,
    /// A configuration file.
    File(PathBuf),
    /// An environment variable.
    Environment(&'static str),
    /// A flag.
    Flag(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(variable) => f.write_str(variable),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// What holds: an entry for every key.
#[derive(Debug)]
pub(crate) struct Config {
    entries: Vec<Entry>,
    /// What the file of the working folder says and may not say.
    ignored: Vec<Entry>,
    /// The file that was named.
    file: Option<PathBuf>,
}

impl Config {
    /// Puts together what the command line and the environment give, the file and the defaults.
    /// Without a file's name, it is the user's own file, and over it what is harmless in the working
    /// folder's.
    pub(crate) fn load(file: Option<&Path>, given: Vec<Entry>) -> anyhow::Result<Self> {
        match file {
            Some(file) => {
                let config = Self::of(&[given, file::named(file)?].concat());
                Ok(Self { file: Some(file.to_owned()), ..config })
            }
            None => Ok(folder::load(&given, &file::of_user()?, file::of_folder()?)),
        }
    }

    /// Puts together what is known, the first of each key, and the defaults.
    fn of(known: &[Entry]) -> Self {
        let entries = Vec::with_capacity(keys::ALL.len());
        let mut config = Self { entries, ignored: Vec::new(), file: None };
        for key in keys::ALL {
            let entry = known.iter().find(|entry| entry.key == key).cloned();
            let entry = entry.unwrap_or_else(|| config.default_of(key));
            config.entries.push(entry);
        }
        config
    }

    /// A default may depend on the keys before.
    fn default_of(&self, key: &'static Key) -> Entry {
        let text = match &key.default {
            Default::Unset(_) => None,
            Default::Fixed(text) => Some((*text).to_owned()),
            Default::Computed { of, .. } => Some(of(self)),
        };
        Entry { key, text, source: Source::Default }
    }

    /// The value of a key, when there is one.
    pub(crate) fn get(&self, key: &Key) -> Option<&str> {
        self.entries.iter().find(|entry| entry.key == key)?.text.as_deref()
    }

    /// The value of a key that always has one.
    pub(crate) fn text(&self, key: &Key) -> &str {
        self.get(key).unwrap_or_default()
    }

    /// Whether nobody said anything of a key.
    pub(crate) fn is_default(&self, key: &Key) -> bool {
        let entry = self.entries.iter().find(|entry| entry.key == key);
        entry.is_none_or(|entry| entry.source == Source::Default)
    }

    /// The file that was named with `--config`.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// What the file of the working folder says and may not say, where that makes a difference.
    pub(crate) fn ignored(&self) -> &[Entry] {
        &self.ignored
    }

    /// Every key with its value.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(key: &'static Key, text: &str) -> Entry {
        Entry { key, text: Some(text.into()), source: Source::Flag(key.flag()) }
    }

    fn load(toml: &str, given: Vec<Entry>) -> Config {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE_NAME);
        std::fs::write(&file, toml).unwrap();
        Config::load(Some(&file), given).unwrap()
    }

    #[test]
    fn a_flag_counts_over_the_file_and_the_file_over_the_default() {
        let config = load("name = \"f\"\ncompany = \"F\"", vec![given(&keys::NAME, "flag")]);
        assert_eq!(config.text(&keys::NAME), "flag");
        assert_eq!(config.text(&keys::COMPANY), "F");
        assert_eq!(config.text(&keys::DATA), "edgemere-data");
    }

    #[test]
    fn the_ports_follow_the_roles_and_the_cluster_follows_the_name() {
        let ports = |role: &str| {
            let config = load("", vec![given(&keys::ROLE, role)]);
            [config.text(&keys::HTTP).to_owned(), config.text(&keys::NETWORK).to_owned()]
        };
        assert_eq!(ports("master"), ["127.0.0.1:32049", "127.0.0.1:32048"]);
        assert_eq!(ports("operator"), ["127.0.0.1:32149", "127.0.0.1:32148"]);
        for role in ["query", "master,operator", "master,operator,query"] {
            assert_eq!(ports(role), ["127.0.0.1:32349", "127.0.0.1:32348"], "{role}");
        }
        let config = load("name = \"harbour\"", Vec::new());
        assert_eq!(config.text(&keys::CLUSTER), "harbour-cluster");
        assert_eq!(config.get(&keys::MASTER), None);
    }
}
