//! The shell's own commands, which begin with a backslash as those of psql do.

use crate::failure::Failure;

/// A command of the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meta {
    Help,
    Leave,
    /// The databases.
    Databases,
    /// The tables of the database.
    Tables,
    /// The columns of a table.
    Columns(String),
    /// Choose a database.
    Use(String),
    /// Whose rows are asked.
    Reach(Reach),
    /// Whether the rows of some operators will do.
    Subset(Option<bool>),
    /// How long a query may take, in seconds; none for as long as the node says.
    Timeout(Option<u64>),
    /// Whether the time is shown.
    Timing(Option<bool>),
    /// Whether rows are blocks.
    Expanded(Option<bool>),
    /// The next rows of the last query.
    More,
}

/// Whose rows are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Reach {
    /// This node's, or the network's when it has nothing of the database.
    #[default]
    Auto,
    Local,
    Network,
}

/// What `\?` says.
pub(super) const HELP: &str = "\
SQL ends with \";\" or an empty line; any other line is a command for the node: \"help\" lists them.

  use DB, \\c DB    select a database
  \\l               list the databases
  \\dt              list the tables of the database
  \\d TABLE         list the columns of a table
  \\more            show the next rows of the last query
  \\x [on|off]      show each row as a block of lines
  \\timing [on|off] show how long queries take
  \\timeout SECONDS limit the time of a query; 0 for the limit of the node
  \\network         query all operators as one database
  \\local           query only the rows of this node
  \\auto            query this node, or the network if it stores nothing of the database
  \\subset [on|off] accept the rows of some operators when others do not answer
  \\q               leave; so do exit and Ctrl-D

Ctrl-C cancels the running query. Tab completes.";

/// The names, for completion.
pub(super) const NAMES: [&str; 16] = [
    "\\?",
    "\\auto",
    "\\c",
    "\\d",
    "\\dt",
    "\\l",
    "\\local",
    "\\more",
    "\\network",
    "\\q",
    "\\subset",
    "\\timeout",
    "\\timing",
    "\\use",
    "\\x",
    "\\h",
];

impl Meta {
    /// Reads a command, which begins with its backslash.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let (name, argument) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let argument = argument.trim().trim_matches('"');
        let flag = || flag(name, argument);
        Ok(match (name, argument) {
            ("\\?" | "\\h" | "\\help", _) => Self::Help,
            ("\\q" | "\\quit", _) => Self::Leave,
            ("\\l" | "\\list", _) => Self::Databases,
            ("\\dt", _) | ("\\d", "") => Self::Tables,
            ("\\d", table) => Self::Columns(table.to_lowercase()),
            ("\\c" | "\\use" | "\\connect", dbms) if !dbms.is_empty() => {
                Self::Use(dbms.to_lowercase())
            }
            ("\\auto", _) => Self::Reach(Reach::Auto),
            ("\\local", _) => Self::Reach(Reach::Local),
            ("\\network", _) => Self::Reach(Reach::Network),
            ("\\more", _) => Self::More,
            ("\\subset", _) => Self::Subset(flag()?),
            ("\\timing", _) => Self::Timing(flag()?),
            ("\\x", _) => Self::Expanded(flag()?),
            ("\\timeout", seconds) => {
                let seconds: u64 = seconds.parse().map_err(|_| {
                    Failure::input(format!("\"{seconds}\" is not a number of seconds"))
                        .with_hint("write \"\\timeout 60\", or 0 for as long as the node says")
                })?;
                Self::Timeout(Some(seconds).filter(|seconds| *seconds > 0))
            }
            _ => {
                let failure = Failure::input(format!("unknown command \"{name}\""));
                return Err(failure.with_hint("\"\\?\" lists the shell's own commands"));
            }
        })
    }
}

/// On, off, or the other than now.
fn flag(name: &str, argument: &str) -> Result<Option<bool>, Failure> {
    match argument.to_lowercase().as_str() {
        "" => Ok(None),
        "on" | "true" => Ok(Some(true)),
        "off" | "false" => Ok(Some(false)),
        other => Err(Failure::input(format!("\"{name}\" cannot be \"{other}\""))
            .with_hint("write on, off or nothing")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_as_psql_has_them() {
        let parsed = |text| Meta::parse(text).ok();
        assert_eq!(parsed("\\d"), Some(Meta::Tables));
        assert_eq!(parsed("\\d  Pumps"), Some(Meta::Columns("pumps".into())));
        assert_eq!(parsed("\\c water"), Some(Meta::Use("water".into())));
        assert_eq!(parsed("\\c"), None);
        assert_eq!(parsed("\\timing"), Some(Meta::Timing(None)));
        assert_eq!(parsed("\\subset ON"), Some(Meta::Subset(Some(true))));
        assert_eq!(parsed("\\subset perhaps"), None);
        assert_eq!(parsed("\\timeout 5"), Some(Meta::Timeout(Some(5))));
        assert_eq!(parsed("\\timeout 0"), Some(Meta::Timeout(None)));
        assert_eq!(parsed("\\timeout soon"), None);
        assert_eq!(parsed("\\nonsense"), None);
    }

    #[test]
    fn the_help_has_every_command_and_every_name_is_one() {
        for name in NAMES {
            let argument = if name == "\\timeout" { "1" } else { "x" };
            let text = if ["\\c", "\\use", "\\timeout"].contains(&name) { argument } else { "" };
            assert!(Meta::parse(&format!("{name} {text}")).is_ok(), "{name}");
            let is_other_name = ["\\?", "\\use", "\\h"].contains(&name);
            assert!(is_other_name || HELP.contains(&format!("{name} ")), "{name}");
        }
    }
}
