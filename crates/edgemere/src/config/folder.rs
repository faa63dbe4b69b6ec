//! `edgemere.toml` of the working folder, which nobody has named. Programs are started in folders of
//! other people, as a cloned repository: so it may say what a node is called and how much it may use,
//! and not which programs run, which node is asked, which data is served, and who may do what. All of
//! that holds from a file that was named with `--config`, and from the user's own.

use edgemere_command::Access;

use super::key::Key;
use super::{Config, Entry, FILE_NAME, keys};
use crate::failure::Failure;

/// The keys that hold from a file that nobody has named. All others, and those that come to be, do not.
static HARMLESS: [&Key; 12] = [
    &keys::NAME,
    &keys::COMPANY,
    &keys::CLUSTER,
    &keys::QUERY_MEMORY,
    &keys::QUERY_MEMORY_TOTAL,
    &keys::QUERY_SPILL,
    &keys::QUERY_TIME,
    &keys::JOB_DISK,
    &keys::JOB_DISK_TOTAL,
    &keys::JOB_KEEP,
    &keys::FRESH_MEMORY,
    &keys::LOG_FORMAT,
];

/// The keys that hold from there when they say less than what holds without them.
static LOWERED: [&Key; 2] = [&keys::ACCESS, &keys::AGENT_ACCESS];

/// The keys that apply from a file that nobody has named.
pub(crate) fn harmless() -> &'static [&'static Key] {
    &HARMLESS
}

/// The keys that apply from there only when they lower what applies otherwise.
pub(crate) fn lowered() -> &'static [&'static Key] {
    &LOWERED
}

/// Puts together what flags and the environment give, the user's own file, and the working folder's.
pub(super) fn load(given: &[Entry], of_user: &[Entry], of_folder: Vec<Entry>) -> Config {
    let without = Config::of(&[given, of_user].concat());
    let (taken, others): (Vec<_>, Vec<_>) =
        of_folder.into_iter().partition(|entry| is_harmless(entry, &without));
    let mut config = Config::of(&[given, &taken, of_user].concat());
    // What a flag says anyway, or nobody has changed, needs no word.
    let is_ignored = |entry: &Entry| {
        is_said_by_nobody(entry, given) && config.get(entry.key) != entry.text.as_deref()
    };
    config.ignored = others.into_iter().filter(is_ignored).collect();
    config
}

fn is_said_by_nobody(entry: &Entry, given: &[Entry]) -> bool {
    given.iter().all(|given| given.key != entry.key)
}

fn is_harmless(entry: &Entry, without: &Config) -> bool {
    let access = |text: Option<&str>| text.and_then(|text| text.parse::<Access>().ok());
    if LOWERED.contains(&entry.key) {
        return access(entry.text.as_deref()) <= access(without.get(entry.key));
    }
    HARMLESS.contains(&entry.key)
}

impl Config {
    /// What was ignored, and how to accept it; none when nothing was.
    pub(crate) fn warning(&self) -> Option<Failure> {
        let names: Vec<_> =
            self.ignored.iter().map(|entry| format!("\"{}\"", entry.key.name)).collect();
        if names.is_empty() {
            return None;
        }
        let message = format!(
            "{FILE_NAME} of the working folder sets {}, which holds only from a file that is named",
            names.join(", ")
        );
        let hint = format!("--config ./{FILE_NAME} (or EDGEMERE_CONFIG) uses all of it");
        Some(Failure::input(message).with_hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    fn entry(key: &'static Key, text: &str) -> Entry {
        Entry { key, text: Some(text.into()), source: Source::File(FILE_NAME.into()) }
    }

    fn ignored(config: &Config) -> Vec<&'static str> {
        config.ignored().iter().map(|entry| entry.key.name).collect()
    }

    /// Values that differ from the defaults, so that each makes a difference.
    const OTHER: [(&Key, &str); 10] = [
        (&keys::TOOLS, "evil.yaml"),
        (&keys::NODE, "http://evil:1"),
        (&keys::DATA, "/elsewhere"),
        (&keys::NETWORK_KEY, "k"),
        (&keys::MASTER, "evil:1"),
        (&keys::CLI_TOOLS, "true"),
        (&keys::NETWORK, "0.0.0.0:1"),
        (&keys::HTTP, "127.0.0.1:1"),
        (&keys::AGENT_ACCESS, "admin"),
        (&keys::LOG, "off"),
    ];

    #[test]
    fn a_folder_brings_no_tools_programs_keys_data_or_other_nodes() {
        for (key, text) in OTHER {
            let config = load(&[], &[], vec![entry(key, text), entry(&keys::NAME, "n")]);
            assert_ne!(config.get(key), Some(text), "{}", key.name);
            assert_eq!(ignored(&config), [key.name]);
            assert_eq!(config.text(&keys::NAME), "n");
            let warning = config.warning().unwrap();
            assert!(warning.message.contains(key.name), "{}", warning.message);
            assert!(warning.hint.unwrap().contains("--config ./edgemere.toml"));
        }
    }

    #[test]
    fn a_folder_lowers_access_and_never_raises_it() {
        let lower = load(&[], &[], vec![entry(&keys::ACCESS, "read")]);
        assert_eq!((lower.text(&keys::ACCESS), ignored(&lower).len()), ("read", 0));
        let of_user = [entry(&keys::ACCESS, "read")];
        let raised = load(&[], &of_user, vec![entry(&keys::ACCESS, "admin")]);
        assert_eq!(raised.text(&keys::ACCESS), "read");
        assert_eq!(ignored(&raised), ["access"]);
    }

    #[test]
    fn the_users_own_file_holds_also_where_there_is_one_in_the_folder() {
        let of_user = [entry(&keys::TOOLS, "mine.yaml"), entry(&keys::NAME, "user")];
        let config = load(&[], &of_user, vec![entry(&keys::NAME, "folder")]);
        assert_eq!(config.get(&keys::TOOLS), Some("mine.yaml"));
        assert_eq!(config.text(&keys::NAME), "folder");
    }

    #[test]
    fn what_changes_nothing_needs_no_word() {
        let same = load(&[], &[], vec![entry(&keys::DATA, "edgemere-data")]);
        assert!(same.warning().is_none());
        let flag = Entry { source: Source::Flag("--data".into()), ..entry(&keys::DATA, "a") };
        assert!(load(&[flag], &[], vec![entry(&keys::DATA, "b")]).warning().is_none());
    }
}
