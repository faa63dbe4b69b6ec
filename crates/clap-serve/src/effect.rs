//! The effect of a command, declared on the command itself.

use std::{fmt, str::FromStr};

use clap::{ArgGroup, Command};
use serde::Deserialize;

use crate::Error;

/// The effect of a command, from the mildest to the gravest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// It only reads.
    Read,
    /// It adds or changes data.
    Write,
    /// It may delete or overwrite data.
    Destructive,
    /// It shows or changes keys, tokens or accounts. Never offered, whatever is allowed.
    Secret,
}

impl Effect {
    const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Destructive, Self::Secret];

    /// The name of the argument group that carries the effect. clap has no custom metadata on commands, but it
    /// keeps an empty group, and neither shows nor checks it.
    fn mark(self) -> &'static str {
        match self {
            Self::Read => "clap-serve:effect:read",
            Self::Write => "clap-serve:effect:write",
            Self::Destructive => "clap-serve:effect:destructive",
            Self::Secret => "clap-serve:effect:secret",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Destructive => "destructive",
            Self::Secret => "secret",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Effect {
    type Err = Error;

    fn from_str(word: &str) -> Result<Self, Error> {
        let found = Self::ALL.into_iter().find(|effect| effect.word() == word);
        found.ok_or_else(|| Error::Effect { word: word.to_owned() })
    }
}

/// Declares the effect of a command and of its subcommands that declare none:
///
/// ```
/// use clap_serve::{CommandExt, Effect};
///
/// let list = clap::Command::new("list").effect(Effect::Read);
/// ```
///
/// In a derived command line it is an attribute, with the trait in scope:
///
/// ```
/// use clap_serve::{CommandExt, Effect};
///
/// #[derive(clap::Parser)]
/// enum Cli {
///     /// Lists the notes
///     #[command(effect = Effect::Read)]
///     List,
///     /// Removes a note
///     #[command(effect = Effect::Destructive)]
///     Remove { name: String },
/// }
/// # let _ = <Cli as clap::CommandFactory>::command();
/// ```
pub trait CommandExt: Sized {
    /// Declares the effect of the command.
    #[must_use]
    fn effect(self, effect: Effect) -> Self;
}

impl CommandExt for Command {
    fn effect(self, effect: Effect) -> Self {
        self.group(ArgGroup::new(effect.mark()))
    }
}

/// The declared effect of a command; the gravest if there are several.
pub(crate) fn declared(command: &Command) -> Option<Effect> {
    let is_marked =
        |effect: &Effect| command.get_groups().any(|group| group.get_id() == effect.mark());
    Effect::ALL.into_iter().filter(is_marked).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_carries_its_effect_and_is_parsed_as_before() {
        let plain = || Command::new("a").arg(clap::arg!(-n --name <NAME> "A name"));
        let mut marked = plain().effect(Effect::Write);
        assert_eq!(declared(&plain()), None);
        assert_eq!(declared(&marked), Some(Effect::Write));
        assert_eq!(marked.render_long_help().to_string(), plain().render_long_help().to_string());
        let matches = marked.clone().try_get_matches_from(["a", "-n", "x"]).unwrap();
        assert_eq!(matches.ids().map(clap::Id::as_str).collect::<Vec<_>>(), ["name"]);
        marked.build();
        assert_eq!(declared(&marked), Some(Effect::Write));
    }

    #[test]
    fn the_gravest_of_several_holds() {
        let twice = Command::new("a").effect(Effect::Secret).effect(Effect::Read);
        assert_eq!(declared(&twice), Some(Effect::Secret));
    }
}
