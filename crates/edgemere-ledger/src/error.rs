//! What can go wrong in the ledger, told apart by variant so that a caller never reads the message.

use std::io;
use std::path::PathBuf;

use crate::policy::{DEPTH_MAX, POLICY_BYTES_MAX};

/// An error of the ledger.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The value is not an object with exactly one root key that holds an object.
    #[error("a policy is an object with one root key that holds an object: {reason}")]
    Root {
        /// What was found instead.
        reason: String,
    },
    /// An attribute, at any depth, has an empty name.
    #[error("an attribute of a policy of type \"{kind}\" has an empty name")]
    EmptyName {
        /// The policy's type.
        kind: String,
    },
    /// The policy's type requires an attribute that is not there.
    #[error("a policy of type \"{kind}\" needs the attribute \"{attribute}\"")]
    MissingAttribute {
        /// The policy's type.
        kind: String,
        /// The attribute that is missing.
        attribute: String,
    },
    /// An attribute holds a value of the wrong type or range.
    #[error("the attribute \"{attribute}\" of a policy of type \"{kind}\" must be {expected}")]
    WrongType {
        /// The policy's type.
        kind: String,
        /// The attribute with the wrong value.
        attribute: String,
        /// What the value must be, with its article: "a text".
        expected: &'static str,
    },
    /// A name has a character that nobody sees, or that changes how others are shown.
    #[error(
        "the {what} of a policy of type \"{}\" has the invisible character U+{:04X} as its {place}. character",
        kind.escape_default(), u32::from(*character)
    )]
    Invisible {
        /// The policy's type.
        kind: String,
        /// What has it: "name".
        what: String,
        /// The character.
        character: char,
        /// Where it is, from 1.
        place: usize,
    },
    /// A policy with this id is in the ledger already.
    #[error("the ledger has a policy with the id \"{id}\" already")]
    DuplicateId {
        /// The id that both have.
        id: String,
    },
    /// Another policy of the type has the same values in attributes that must differ.
    #[error(
        "another policy of type \"{kind}\" has the same {}: the one with the id \"{existing}\"",
        quoted(attributes)
    )]
    NotUnique {
        /// The policy's type.
        kind: String,
        /// The attributes whose values together must differ.
        attributes: Vec<String>,
        /// The id of the policy that has these values.
        existing: String,
    },
    /// No policy has this id.
    #[error("the ledger has no policy with the id \"{id}\"")]
    NotFound {
        /// The id that was asked for.
        id: String,
        /// Ids that look like it, the nearest first.
        near: Vec<String>,
    },
    /// The new policy of an update carries another id than the one it is to replace.
    #[error("the policy has the id \"{given}\" but is to replace the one with the id \"{id}\"")]
    IdMismatch {
        /// The id of the policy to be replaced.
        id: String,
        /// The id that the new policy carries.
        given: String,
    },
    /// The new policy of an update is of another type than the one it is to replace.
    #[error("a policy of type \"{given}\" cannot replace \"{id}\", which is of type \"{kind}\"")]
    KindMismatch {
        /// The id of the policy to be replaced.
        id: String,
        /// Its type.
        kind: String,
        /// The type of the new policy.
        given: String,
    },
    /// An operator names a cluster that no cluster policy has as its id.
    #[error("no cluster policy has the id \"{id}\"")]
    MissingCluster {
        /// The id that the operator names.
        id: String,
    },
    /// All member numbers of a cluster are taken.
    #[error("the cluster \"{id}\" has no free member number")]
    ClusterFull {
        /// The cluster's id.
        id: String,
    },
    /// A policy, or a batch of them, is over a limit.
    #[error("{what} is over the limit of {limit}")]
    TooLarge {
        /// What is too large: "the policy", "the nesting of the policy".
        what: &'static str,
        /// The limit, with its unit.
        limit: String,
    },
    /// The ledger's file is damaged, and cutting it would lose entries that are intact.
    #[error(
        "the ledger file \"{}\" is damaged in line {line}, at byte {offset}: {reason}",
        file.display()
    )]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// The line of the first bad record, from 1.
        line: u64,
        /// Where that line begins, in bytes from the start of the file.
        offset: u64,
        /// How many intact entries come before the damage.
        entries: u64,
        /// What is wrong with the record.
        reason: String,
    },
    /// The file on disk is sound, but it is not the history of what is in memory.
    #[error(
        "the ledger file \"{}\" does not hold what this node has in memory: {reason}",
        file.display()
    )]
    Diverged {
        /// The file.
        file: PathBuf,
        /// The first difference.
        reason: String,
    },
    /// What was given for a stretch of the master's history is not one.
    #[error("what the master sent does not continue its history after entry {after}: {reason}")]
    BadPage {
        /// The last entry that was known.
        after: u64,
        /// What is wrong.
        reason: String,
    },
    /// Another process, or another ledger of this one, has the folder open.
    #[error("the ledger in \"{}\" is in use", folder.display())]
    Locked {
        /// The folder that is in use.
        folder: PathBuf,
    },
    /// An earlier write failed and could not be undone, so no more are taken.
    #[error(
        "the ledger file \"{}\" takes no changes since a write to the disk failed",
        file.display()
    )]
    ReadOnly {
        /// The ledger's file.
        file: PathBuf,
    },
    /// The ledger, or what a node may add to it, is full.
    #[error("{what} is full: the limit is {limit}")]
    Quota {
        /// What is full: "the ledger".
        what: String,
        /// The limit, with its unit.
        limit: String,
    },
    /// The policy is of a node with another identity than the one that it would replace.
    #[error(
        "the {kind} \"{name}\" of the ledger has another identity: its data folder is another one"
    )]
    OtherIdentity {
        /// The type of the policy.
        kind: String,
        /// The node's name.
        name: String,
    },
    /// A node's data folder is older than the ledger knows it.
    #[error("the operator \"{name}\" is not what it was: {reason}; it is an older copy of itself")]
    Backwards {
        /// The node's name.
        name: String,
        /// How that can be seen.
        reason: String,
    },
    /// The policy says to be of a node that has not signed it, or not last.
    #[error("the policy of the {kind} \"{name}\" is not signed by that node, or an older one")]
    NotSigned {
        /// The type of the policy.
        kind: String,
        /// The node's name.
        name: String,
    },
    /// The ledger is a copy of a master's, and cannot be a master's itself.
    #[error("the ledger file \"{}\" is a copy of another master's ledger", file.display())]
    IsCopy {
        /// The ledger's file.
        file: PathBuf,
    },
    /// The master's history is not one that this copy may become.
    #[error("the master's ledger is refused, and the copy of before is kept: {reason}")]
    HistoryRefused {
        /// Why.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {action} \"{}\"", path.display())]
    Io {
        /// What was tried, as a verb: "write".
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
}

impl Error {
    /// What the person who reads the error can do next.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::DuplicateId { id } => {
                Some(format!("use \"blockchain update policy\" to change the policy \"{id}\""))
            }
            Self::NotFound { near, .. } if !near.is_empty() => {
                Some(format!("did you mean {}?", quoted(near)))
            }
            Self::MissingCluster { .. } => Some("insert the cluster policy first".to_owned()),
            Self::Corrupt { entries, .. } => Some(format!(
                "restore ledger.log from a copy, or run \"edgemere ledger repair --data DIR\" to \
                 keep the {entries} {} before the damage",
                if *entries == 1 { "entry" } else { "entries" }
            )),
            Self::Diverged { .. } => Some("restart the node to read the file again".to_owned()),
            Self::Locked { .. } => {
                Some("stop the other node, or give this one a data folder of its own".to_owned())
            }
            Self::ReadOnly { .. } => {
                Some("check the disk and its free space, then restart the node".to_owned())
            }
            Self::Quota { .. } => Some(
                "take policies out with \"blockchain drop policy where id = ID\", or on a node that \
                 is stopped with \"edgemere ledger drop ID --data DIR\""
                    .to_owned(),
            ),
            Self::OtherIdentity { name, .. } => Some(format!(
                "give this node another --name, or put it in the place of the other for good with \
                 \"accept operator {name}\" on the node that is in the ledger's network; \
                 \"drop operator {name}\" takes the other out without a successor"
            )),
            Self::Backwards { name, .. } => Some(format!(
                "bring the newer data folder back, or take this one as it is for good with \"accept \
                 operator {name}\" on a node of the network"
            )),
            Self::Invisible { .. } => {
                Some("names are for people: leave out what they cannot see".to_owned())
            }
            Self::IsCopy { .. } => Some(
                "run \"edgemere ledger promote --data DIR\" to make it the network's ledger, or \
                 start the node without the role master"
                    .to_owned(),
            ),
            Self::HistoryRefused { .. } => Some(
                "point the node to the right master, or take this history for good with \
                 \"accept ledger\", or on a node that is stopped with \"edgemere ledger accept --data \
                 DIR\""
                    .to_owned(),
            ),
            Self::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                Some("free some disk space and try again; nothing was changed".to_owned())
            }
            _ => None,
        }
    }

    pub(crate) fn io(action: &'static str, path: &std::path::Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn policy_too_large() -> Self {
        Self::TooLarge { what: "the policy", limit: format!("{POLICY_BYTES_MAX} bytes") }
    }

    pub(crate) fn policy_too_deep() -> Self {
        Self::TooLarge { what: "the nesting of the policy", limit: format!("{DEPTH_MAX} levels") }
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
