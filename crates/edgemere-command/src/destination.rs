//! Destinations: the nodes that a command is sent to, as written in `run client (…)` and in the
//! REST header `destination`.

use std::fmt;
use std::time::Duration;

use edgemere_ledger::{Condition, Kinds, Policy};
use futures_util::future::join_all;

use crate::commands::Command;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::render;
use crate::language::cursor::Cursor;
use crate::language::term::Term;
use crate::node::{Node, Role};
use crate::reply::{NodeReply, Reply};

/// How many nodes one command may be sent to.
const NODES_MAX: usize = 10_000;

/// The nodes that a command is sent to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Destination {
    /// This node: `local`.
    Local,
    /// All that the command concerns: `network` or nothing.
    Network,
    /// Addresses and names, given or in a variable.
    Nodes(Vec<Term>),
    /// Those that a ledger query gives.
    Query(Box<Command>),
}

/// How a command is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Whether the answers of some will do when others do not answer.
    pub(crate) subset: bool,
    /// How long each node has.
    pub(crate) timeout: Duration,
}

impl Destination {
    /// Parses a whole text, such as the header's.
    pub(crate) fn from_text(text: &str) -> Result<Self, Error> {
        let mut cursor = Cursor::new(text);
        let destination = Self::parse(&mut cursor)?;
        cursor.end()?;
        Ok(destination)
    }

    /// Takes what stands between the parentheses of `run client (…)`.
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        match cursor.peek_keyword().as_deref() {
            Some("network") => {
                cursor.take();
                Ok(Self::Network)
            }
            Some("local") => {
                cursor.take();
                Ok(Self::Local)
            }
            Some("blockchain") => {
                let command = cursor.nested(Command::parse)?;
                Ok(Self::Query(Box::new(command)))
            }
            _ => Self::parse_nodes(cursor),
        }
    }

    fn parse_nodes(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let mut nodes = Vec::new();
        while let Ok(node) = cursor.term("a node") {
            nodes.push(node);
            cursor.symbol(',');
        }
        Ok(if nodes.is_empty() { Self::Network } else { Self::Nodes(nodes) })
    }

    /// Runs a command there.
    pub(crate) async fn run(
        &self,
        command: &Command,
        context: &Context<'_>,
        delivery: Delivery,
    ) -> Result<Reply, Error> {
        if *self == Self::Local {
            return command.run(context).await;
        }
        let addresses = self.addresses(context).await?;
        let text = command.to_string();
        let calls = addresses.iter().map(|address| async {
            let peers = &context.node.settings().peers;
            peers.call(address, &text, delivery.timeout).await
        });
        let mut replies = Vec::with_capacity(addresses.len());
        for (address, answer) in addresses.iter().zip(join_all(calls).await) {
            let answer = match answer {
                Ok(rendered) => Ok(rendered.into_value().await?),
                Err(error) if delivery.subset && !is_callers_fault(&error) => {
                    Err("Not responding".to_owned())
                }
                Err(error) => return Err(error),
            };
            replies.push(NodeReply { address: address.clone(), answer });
        }
        Ok(Reply::nodes(replies))
    }

    /// The network addresses of the nodes.
    async fn addresses(&self, context: &Context<'_>) -> Result<Vec<String>, Error> {
        let unknown = |hint: &str| {
            let destination = self.to_string();
            Err(Error::NoDestination { destination, hint: hint.into() })
        };
        let names = match self {
            Self::Local => return Ok(vec![context.node.settings().network.to_string()]),
            Self::Network => {
                return unknown(
                    "\"network\" is for commands about a table; name the nodes instead, for \
                     example \"blockchain get operator bring.ip_port\"",
                );
            }
            Self::Nodes(terms) => {
                let texts = terms.iter().map(|term| term.text(&context.node.variables));
                texts.collect::<Result<Vec<_>, _>>()?
            }
            Self::Query(command) => vec![query_text(command, context).await?],
        };
        let parts = names.iter().flat_map(|name| name.split(',')).map(str::trim);
        let mut addresses = Vec::new();
        for part in parts.filter(|part| !part.is_empty()) {
            addresses.extend(addresses_of(context.node, part)?);
        }
        match addresses.len() {
            0 => unknown("no node of the ledger is of that kind"),
            1..=NODES_MAX => Ok(addresses),
            _ => Err(Error::Limit { what: "the number of nodes", limit: NODES_MAX }),
        }
    }
}

/// Whether another node would say the same, so that its silence is no excuse.
fn is_callers_fault(error: &Error) -> bool {
    use crate::error::Kind;
    matches!(error.kind(), Kind::Input | Kind::Denied | Kind::Conflict | Kind::NotFound)
}

async fn query_text(command: &Command, context: &Context<'_>) -> Result<String, Error> {
    let reply = command.run(context).await?;
    render(reply, command.output())?.into_text().await
}

/// The addresses that a word stands for: itself, or those of the nodes of that name.
fn addresses_of(node: &Node, word: &str) -> Result<Vec<String>, Error> {
    if is_address(word) {
        return Ok(vec![word.to_owned()]);
    }
    let kinds = Role::ALL.map(|role| role.name().to_owned()).to_vec();
    let policies = node.ledger().select(&Kinds::Named(kinds), &Condition::equal("name", word));
    let addresses: Vec<_> = policies.iter().filter_map(|policy| address_of(policy)).collect();
    if addresses.is_empty() {
        return Err(Error::NoDestination {
            destination: word.to_owned(),
            hint: "give an address as IP:PORT or the name of a node in the ledger".into(),
        });
    }
    Ok(addresses)
}

/// Whether a word is `HOST:PORT`.
pub(crate) fn is_address(word: &str) -> bool {
    let is_host = |host: &str| {
        !host.is_empty() && host.chars().all(|c| c.is_alphanumeric() || ".-_[]:".contains(c))
    };
    word.rsplit_once(':').is_some_and(|(host, port)| is_host(host) && port.parse::<u16>().is_ok())
}

/// The network address that a node's policy gives.
pub(crate) fn address_of(policy: &Policy) -> Option<String> {
    Some(format!("{}:{}", policy.text("ip")?, policy.attribute("port")?.as_u64()?))
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Network => f.write_str("network"),
            Self::Nodes(nodes) => {
                let nodes: Vec<_> = nodes.iter().map(Term::to_string).collect();
                f.write_str(&nodes.join(", "))
            }
            Self::Query(command) => command.fmt(f),
        }
    }
}
