//! The nodes that a command is for, as a destination names them: looked up here, in the policies that
//! EdgeLake gives, so that a node that is down is still in the answer by its address.

use edgemere_ledger::Policy;
use serde_json::Value;

use super::{Foreign, Unsendable, policies};
use crate::destination::{Destination, Places, address_of, is_address};
use crate::error::Error;
use crate::format::render;
use crate::node::Role;
use crate::reply::Body;

/// How many nodes one command is sent to.
const NODES_MAX: usize = 1000;

/// The nodes that a command is for.
#[derive(Clone, Debug)]
pub enum Nodes {
    /// The one that is asked.
    Here,
    /// All operators as one database.
    Network,
    /// Some, by their addresses or names.
    Named(Vec<String>),
    /// Those that a question to the ledger gives.
    Asked(Box<Foreign>),
}

impl Nodes {
    /// The nodes that a destination names.
    pub fn of(destination: Option<&str>) -> Result<Self, Unsendable> {
        let Some(destination) = destination else { return Ok(Self::Here) };
        match Destination::from_text(destination)?.places() {
            Places::Here => Ok(Self::Here),
            Places::Network => Ok(Self::Network),
            Places::Words(words) => Ok(Self::Named(words)),
            Places::Question(command) => {
                Ok(Self::Asked(Box::new(Foreign::of(&command, &command.to_string())?)))
            }
            Places::Unknown => Err(Unsendable::new(
                format!("a node of EdgeLake cannot be given the destination \"{destination}\""),
                "name nodes by address, as 127.0.0.1:32148, or by name, without variables",
            )),
        }
    }

    /// What is to be asked of the ledger to know the addresses; none when they are known.
    pub fn question(&self) -> Option<String> {
        match self {
            Self::Here | Self::Network => None,
            Self::Named(words) if words.iter().all(|word| is_address(word)) => None,
            Self::Named(_) => {
                let roles = Role::ALL.map(|role| role.name()).join(", ");
                Some(format!("blockchain get ({roles})"))
            }
            Self::Asked(foreign) => foreign.texts().first().cloned(),
        }
    }

    /// The addresses, each once, where the ledger gave this for the question.
    pub async fn addresses(&self, reply: Value) -> Result<Vec<String>, Error> {
        let words = match self {
            Self::Here | Self::Network => Vec::new(),
            Self::Named(words) if words.iter().all(|word| is_address(word)) => words.clone(),
            Self::Named(words) => {
                let policies = policies(reply)?;
                let mut addresses = Vec::new();
                for word in words {
                    let named = |policy: &&std::sync::Arc<Policy>| policy.name() == Some(word);
                    match is_address(word) {
                        true => addresses.push(word.clone()),
                        false => addresses
                            .extend(policies.iter().filter(named).filter_map(|p| address_of(p))),
                    }
                }
                addresses
            }
            Self::Asked(foreign) => asked(foreign, reply).await?,
        };
        let mut addresses: Vec<String> = Vec::new();
        for word in words {
            if is_address(&word) && !addresses.contains(&word) {
                addresses.push(word);
            }
        }
        match addresses.len() {
            0 => Err(Error::NoDestination {
                destination: format!("{self}"),
                hint: "give an address as IP:PORT or the name of a node in the ledger".into(),
            }),
            1..=NODES_MAX => Ok(addresses),
            _ => Err(Error::Limit { what: "the number of nodes", limit: NODES_MAX }),
        }
    }
}

/// The addresses that a question to the ledger gives: what it brings, or where its policies are.
async fn asked(foreign: &Foreign, reply: Value) -> Result<Vec<String>, Error> {
    let Some(reply) = foreign.command.of_policies(policies(reply)?) else { return Ok(Vec::new()) };
    let reply = reply?;
    if let Body::Policies(policies) = &reply.body {
        return Ok(policies.iter().filter_map(|policy| address_of(policy)).collect());
    }
    let text = render(reply, foreign.command.output())?.into_text().await?;
    Ok(text.split(',').map(|word| word.trim().to_owned()).collect())
}

impl std::fmt::Display for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Here => f.write_str("local"),
            Self::Network => f.write_str("network"),
            Self::Named(words) => f.write_str(&words.join(", ")),
            Self::Asked(foreign) => foreign.command.fmt(f),
        }
    }
}
