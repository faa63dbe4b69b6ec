//! What a key of the configuration is.

use super::Config;
use super::form::Form;

/// A key of the configuration.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name in the file, and with two dashes before it as a flag.
    pub(crate) name: &'static str,
    /// The environment variable.
    pub(crate) variable: &'static str,
    /// What stands for the value in help.
    pub(crate) value_name: &'static str,
    /// What it says, in one sentence without its full stop.
    pub(crate) help: &'static str,
    /// What its values look like.
    pub(crate) form: Form,
    /// What holds when nobody says anything.
    pub(crate) default: Default,
}

/// What holds when nobody says anything.
#[derive(Debug)]
pub(crate) enum Default {
    /// Nothing; in words, what happens then.
    Unset(&'static str),
    /// Always the same.
    Fixed(&'static str),
    /// It depends on keys that come before.
    Computed {
        /// In words, how.
        words: &'static str,
        /// The value.
        of: fn(&Config) -> String,
    },
}

impl Key {
    /// The flag.
    pub(crate) fn flag(&self) -> String {
        format!("--{}", self.name)
    }

    /// Whether a value is what holds when nobody says anything.
    pub(crate) fn is_default(&self, text: &str) -> bool {
        matches!(self.default, Default::Fixed(default) if default == text)
    }
}

/// Keys are the same when their names are.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Default {
    /// The default in words.
    pub(crate) fn words(&self) -> &'static str {
        match self {
            Self::Unset(words) | Self::Fixed(words) | Self::Computed { words, .. } => words,
        }
    }
}
