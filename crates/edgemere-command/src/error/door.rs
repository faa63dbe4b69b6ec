//! The next step after a failure, in the words of the door that the caller came through: a flag of the
//! command line, a key of a request, an argument of a tool.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The ways in which callers come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// A subcommand of `edgemere`, with flags.
    Cli,
    /// `edgemere shell`, with its own commands.
    Shell,
    /// HTTP, with headers and keys.
    Rest,
    /// An agent, with arguments of tools.
    Agent,
    /// The command language itself: scripts, and other nodes.
    Command,
}

impl Door {
    /// Every door.
    pub const ALL: [Self; 5] = [Self::Cli, Self::Shell, Self::Rest, Self::Agent, Self::Command];
}

/// The next step after a failure. What every door says alike is a text. The rest is sent from node to client
/// as it is, and the client says it in its own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Hint {
    /// In the same words everywhere.
    Text {
        /// The words.
        text: String,
    },
    /// Ask all operators as one database.
    AskNetwork,
    /// Take the rows of the operators that answer.
    TakeSubset,
    /// Start an operator: there is none that answers.
    StartOperator,
    /// Take the rows of the other operators; look what is damaged on this one.
    TakeUndamaged,
    /// Leave out an operator that is not the one of the ledger, or accept it.
    LeaveOut {
        /// Its name.
        operator: String,
    },
    /// Take the rows of the other files, bring the file back, or give its rows up.
    TakeOtherFiles {
        /// The database.
        dbms: String,
        /// The table.
        table: String,
        /// The file.
        file: String,
    },
    /// Ask for less, or give it more time.
    MoreTime,
    /// Ask in a format that says at its end what is missing.
    SeeMissing,
    /// Send it to the master.
    SendToMaster {
        /// Where the master is.
        master: String,
    },
    /// Send it with POST.
    UsePost,
}

impl<T: Into<String>> From<T> for Hint {
    fn from(text: T) -> Self {
        Self::Text { text: text.into() }
    }
}

impl fmt::Display for Hint {
    /// In the words of the command language.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.at(Door::Command))
    }
}

impl Hint {
    /// The words for a caller at a door.
    pub fn at(&self, door: Door) -> String {
        let subset = subset(door);
        match self {
            Self::Text { text } => text.clone(),
            Self::AskNetwork => format!("the network has it: {}", ask_network(door)),
            Self::TakeSubset => {
                format!("try again, or ask for the rows of the other operators with {subset}")
            }
            Self::StartOperator => start_operator(door).to_owned(),
            Self::TakeUndamaged => format!(
                "ask for the other rows with {subset}, and see \"get partitions\" on the operator"
            ),
            Self::LeaveOut { operator } => format!(
                "bring its data folder back, or take it as it is for good with \"accept operator \
                 {operator}\"; \"drop operator {operator}\" takes it out, and {subset} leaves it out"
            ),
            Self::TakeOtherFiles { dbms, table, file } => format!(
                "ask for the other rows with {subset}; put the file back from a backup; or give its \
                 rows up with \"drop partition {file} where dbms = {dbms} and table = {table}\""
            ),
            Self::MoreTime => format!("ask for less{}", more_time(door)),
            Self::SeeMissing => see_missing(door).to_owned(),
            Self::SendToMaster { master } => send_to_master(door, master),
            Self::UsePost => match door {
                Door::Rest | Door::Command => "send it with POST".to_owned(),
                _ => "it changes something: a question cannot do that".to_owned(),
            },
        }
    }

    /// Whether every door says it alike.
    pub fn is_text(&self) -> bool {
        matches!(self, Self::Text { .. })
    }
}

fn subset(door: Door) -> &'static str {
    match door {
        Door::Cli => "--subset",
        Door::Shell => "\"\\subset on\"",
        Door::Rest => "\"subset: true\" (a header, or a key of the URL or the body)",
        Door::Agent => "subset: true",
        Door::Command => "subset = true",
    }
}

fn start_operator(door: Door) -> &'static str {
    match door {
        Door::Cli => {
            "start an operator, and ask again; \"edgemere run 'test network'\" shows which nodes answer"
        }
        Door::Agent => "no node that holds these rows can be reached: try again later",
        Door::Shell | Door::Rest | Door::Command => {
            "start an operator, and ask again; \"test network\" shows which nodes answer"
        }
    }
}

fn ask_network(door: Door) -> &'static str {
    match door {
        Door::Cli => "add --network",
        Door::Shell => "\"\\network\" asks it from now on",
        Door::Rest => "send \"destination: network\" (a header, or a key of the URL or the body)",
        Door::Agent => "call a tool that asks the network",
        Door::Command => "ask with \"run client () sql …\"",
    }
}

fn more_time(door: Door) -> &'static str {
    match door {
        Door::Cli => ", or give it longer: --max-time SECONDS",
        Door::Shell => ", or give it longer: \"\\timeout SECONDS\"",
        Door::Rest => ", or give it longer with \"max_time\": SECONDS",
        Door::Agent => ": a shorter span of time, fewer columns, or an aggregate",
        Door::Command => ", or give it longer: max_time = SECONDS",
    }
}

fn see_missing(door: Door) -> &'static str {
    match door {
        Door::Cli => "add --format json, which names at its end what is missing",
        Door::Shell | Door::Agent => "ask again: the answer names what is missing",
        Door::Rest | Door::Command => {
            "ask for format = json, which names at its end what is missing"
        }
    }
}

fn send_to_master(door: Door, master: &str) -> String {
    match door {
        Door::Cli => format!("send it to the master: --destination {master}"),
        Door::Rest => format!("send it to the master, with the header \"destination: {master}\""),
        Door::Agent => "only the network's master can do this".to_owned(),
        Door::Shell | Door::Command => {
            format!("send it to the master: \"run client ({master}) …\"")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every step that a door says in its own words.
    fn steps() -> Vec<Hint> {
        let (dbms, table, file) = ("d".into(), "t".into(), "f.parquet".into());
        vec![
            Hint::AskNetwork,
            Hint::TakeSubset,
            Hint::StartOperator,
            Hint::TakeUndamaged,
            Hint::LeaveOut { operator: "o".into() },
            Hint::TakeOtherFiles { dbms, table, file },
            Hint::MoreTime,
            Hint::SeeMissing,
            Hint::SendToMaster { master: "10.0.0.1:32048".into() },
            Hint::UsePost,
        ]
    }

    /// What belongs to one door and may not be said at another.
    const FOREIGN: [(&str, &[Door]); 13] = [
        ("--network", &[Door::Cli]),
        ("--subset", &[Door::Cli]),
        ("--max-time", &[Door::Cli]),
        ("--format", &[Door::Cli]),
        ("--destination", &[Door::Cli]),
        ("edgemere run", &[Door::Cli]),
        ("\\subset", &[Door::Shell]),
        ("\\network", &[Door::Shell]),
        ("\\timeout", &[Door::Shell]),
        ("header", &[Door::Rest]),
        ("POST", &[Door::Rest, Door::Command]),
        ("subset = true", &[Door::Command]),
        ("run client", &[Door::Command, Door::Shell]),
    ];

    #[test]
    fn every_door_says_every_step_in_its_own_words() {
        for step in steps() {
            for door in Door::ALL {
                let said = step.at(door);
                assert!(!said.is_empty() && !said.starts_with(' '), "{step:?} at {door:?}");
                for (word, doors) in FOREIGN {
                    let is_own = doors.contains(&door);
                    assert!(is_own || !said.contains(word), "{step:?} at {door:?}: {said}");
                }
            }
        }
    }

    #[test]
    fn a_client_reads_the_step_that_a_node_sent() {
        for step in steps() {
            let sent = serde_json::to_string(&step).unwrap();
            assert_eq!(serde_json::from_str::<Hint>(&sent).unwrap(), step, "{sent}");
        }
        assert_eq!(serde_json::to_string(&Hint::TakeSubset).unwrap(), r#"{"step":"take_subset"}"#);
    }
}
