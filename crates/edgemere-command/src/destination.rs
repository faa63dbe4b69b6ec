//! Destinations: the nodes that a command is sent to, as written in `run client (…)` and in the
//! REST header `destination`.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use edgemere_ledger::{Condition, Kinds};
use futures_util::future::join_all;

use crate::addresses::permit;
pub(crate) use crate::addresses::{address_of, is_address};
use crate::commands::Command;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::{nodes_to_mcp, render};
use crate::language::cursor::Cursor;
use crate::language::lexer::{Token, word_or_quote};
use crate::language::term::Term;
use crate::lookup;
use crate::node::{Node, Role};
use crate::peers::TIMEOUT;
use crate::reply::{Body, NodeReply, Reply};

/// How many nodes one command may be sent to.
const NODES_MAX: usize = 10_000;

/// How long a node may be given, in seconds.
const TIMEOUT_MAX_S: u32 = 3600;

/// The nodes that a command is sent to, and how.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Destination {
    target: Target,
    /// `subset = …`, where it is said here and not by the request.
    subset: Option<bool>,
    /// `timeout = …`, likewise.
    timeout_s: Option<u32>,
}

/// The nodes that a command is sent to.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    /// This node: `local`.
    Local,
    /// All that the command concerns: `network` or nothing.
    Network,
    /// Addresses and names, given or in a variable.
    Nodes(Vec<Term>),
    /// Those that a ledger query gives.
    Query(Box<Command>),
    /// Those that hold a table: `dbms = …, table = …`.
    Table { dbms: String, table: String },
}

/// The nodes of a destination, as they are named.
pub(crate) enum Places {
    /// The node that is asked.
    Here,
    /// All operators as one database.
    Network,
    /// Addresses and names.
    Words(Vec<String>),
    /// What a question to the ledger gives.
    Question(Box<Command>),
    /// Nodes that only a node of ours finds.
    Unknown,
}

/// How a command is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Whether the answers of some will do when others do not answer.
    pub(crate) subset: bool,
    /// How long each node has, where somebody says so. A query has it in all.
    pub(crate) timeout: Option<Duration>,
    /// Whether it comes from a client of EdgeLake's.
    pub(crate) edgelake: bool,
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
        let mut found = None;
        let mut nodes = Vec::new();
        let mut said = Said::default();
        loop {
            match cursor.peek_keyword().as_deref() {
                Some(key) if is_key(key, cursor) => said.take(cursor)?,
                Some("network") if found.is_none() && nodes.is_empty() => {
                    cursor.take();
                    found = Some(Target::Network);
                }
                Some("local") if found.is_none() && nodes.is_empty() => {
                    cursor.take();
                    found = Some(Target::Local);
                }
                Some("blockchain") if found.is_none() && nodes.is_empty() => {
                    found = Some(Target::Query(Box::new(cursor.nested(Command::parse)?)));
                }
                Some(role) if found.is_none() && nodes.is_empty() && is_role(role) => {
                    found = Some(Target::Query(Box::new(Command::parse_blockchain_get(cursor)?)));
                }
                _ => match cursor.clone().term("a node") {
                    Err(_) => break,
                    Ok(_) if found.is_some() => {
                        return Err(cursor.expected("\"subset\", \"timeout\" or \")\""));
                    }
                    Ok(_) => nodes.push(cursor.term("a node")?),
                },
            }
            cursor.symbol(',');
        }
        let target = match (found, said.table()?) {
            (Some(target), _) => target,
            (None, Some(table)) => table,
            (None, None) if nodes.is_empty() => Target::Network,
            (None, None) => Target::Nodes(nodes),
        };
        Ok(Self { target, subset: said.subset, timeout_s: said.timeout_s })
    }

    /// Takes the value of `destination = …`: a word or a text in quotes, several nodes with commas
    /// between them, or in parentheses all that `run client (…)` takes.
    pub(crate) fn parse_value(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        if cursor.symbol('(') {
            let destination = Self::parse(cursor)?;
            cursor.expect_symbol(')')?;
            return Ok(destination);
        }
        if let Token::Quoted(text) = cursor.peek().token {
            cursor.take();
            return Self::from_text(&text);
        }
        let target = match cursor.peek_keyword().as_deref() {
            Some("network") => Some(Target::Network),
            Some("local") => Some(Target::Local),
            _ => None,
        };
        let target = match target {
            Some(target) => {
                cursor.take();
                target
            }
            None => {
                let mut nodes = vec![cursor.term("a node")?];
                while cursor.symbol(',') {
                    nodes.push(cursor.term("a node")?);
                }
                Target::Nodes(nodes)
            }
        };
        Ok(Self { target, subset: None, timeout_s: None })
    }

    /// Whether it is the node that is asked.
    pub(crate) fn is_local(&self) -> bool {
        self.target == Target::Local
    }

    /// Whether every command there has one answer: this node's, or that of all operators together.
    pub(crate) fn is_one_database(&self) -> bool {
        matches!(self.target, Target::Local | Target::Network)
    }

    /// The nodes as they are named, for who looks them up elsewhere.
    pub(crate) fn places(self) -> Places {
        match self.target {
            Target::Local => Places::Here,
            Target::Network => Places::Network,
            Target::Nodes(terms) => {
                let words: Option<Vec<_>> = terms.iter().map(Term::literal).collect();
                let words = words.map(|words| {
                    words
                        .iter()
                        .flat_map(|word| word.split(','))
                        .map(|word| word.trim().to_owned())
                        .collect()
                });
                words.map_or(Places::Unknown, Places::Words)
            }
            Target::Query(command) => Places::Question(command),
            Target::Table { .. } => Places::Unknown,
        }
    }

    /// Runs a command there.
    pub(crate) async fn run(
        &self,
        command: &Command,
        context: &Context<'_>,
        delivery: Delivery,
    ) -> Result<Reply, Error> {
        if self.target == Target::Local {
            return command.run(&Context { on_network: false, nodes: None, ..*context }).await;
        }
        let subset = self.subset.unwrap_or(delivery.subset);
        let said = self.timeout_s.map(|seconds| Duration::from_secs(seconds.into()));
        let timeout = said.or(delivery.timeout);
        let edgelake = delivery.edgelake;
        let delivery = Delivery { subset, timeout, ..delivery };
        let on_network = Context { delivery, on_network: true, nodes: None, ..*context };
        let is_query = command.declaration().asks_network;
        if self.target == Target::Network && is_query {
            return command.run(&on_network).await;
        }
        let timeout = timeout.unwrap_or(TIMEOUT);
        let addresses = self.target.addresses(context).await?;
        if is_query {
            // Several operators are one database for a query: one answer, and not one from each.
            check_operators(context.node, &addresses)?;
            return command.run(&Context { nodes: Some(&addresses), ..on_network }).await;
        }
        let text = match edgelake {
            true => command.as_edgelake_asks().to_string(),
            false => command.to_string(),
        };
        let caller = context.forwarded();
        let calls = addresses.iter().map(|address| async {
            let peers = &context.node.settings().peers;
            peers.call_as(address, &text, &caller, timeout).await
        });
        let mut replies = Vec::with_capacity(addresses.len());
        for (address, answer) in addresses.iter().zip(join_all(calls).await) {
            let answer = match answer {
                Ok(rendered) => Ok(rendered.into_value().await?),
                Err(error) if subset && !is_callers_fault(&error) => {
                    Err("Not responding".to_owned())
                }
                Err(error) => return Err(error),
            };
            let name = name_of(context.node, address);
            replies.push(NodeReply { address: address.clone(), name, answer });
        }
        let for_agents = nodes_to_mcp(&replies);
        Ok(Reply::nodes(replies).with_mcp(for_agents))
    }
}

/// What is said of a destination by `key = value`.
#[derive(Default)]
struct Said {
    subset: Option<bool>,
    timeout_s: Option<u32>,
    dbms: Option<String>,
    table: Option<String>,
}

const KEYS: [&str; 4] = ["subset", "timeout", "dbms", "table"];

impl Said {
    fn take(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        let key = cursor.name("a key")?.to_lowercase();
        cursor.expect_operator("=")?;
        let at = cursor.characters(&cursor.peek().span);
        let value = cursor.name("a value")?;
        let wrong = |expected: &str| Error::BadValue {
            key: key.clone(),
            value: value.clone(),
            expected: expected.into(),
            at: Some(at.clone()),
        };
        match key.as_str() {
            "subset" => {
                let flag = value.to_lowercase().parse();
                self.subset = Some(flag.map_err(|_| wrong("true or false"))?);
            }
            "timeout" => {
                let seconds =
                    value.parse().ok().filter(|seconds| (1..=TIMEOUT_MAX_S).contains(seconds));
                self.timeout_s = Some(seconds.ok_or_else(|| wrong("1 to 3600 seconds"))?);
            }
            "dbms" => self.dbms = Some(value.to_lowercase()),
            _ => self.table = Some(value.to_lowercase()),
        }
        Ok(())
    }

    fn table(&mut self) -> Result<Option<Target>, Error> {
        let missing = |key: &str| {
            let usage = "run client (dbms = DBMS, table = TABLE) COMMAND";
            Err(Error::MissingKey { command: "run client", key: key.into(), usage })
        };
        match (self.dbms.take(), self.table.take()) {
            (None, None) => Ok(None),
            (Some(dbms), Some(table)) => Ok(Some(Target::Table { dbms, table })),
            (None, Some(_)) => missing("dbms"),
            (Some(_), None) => missing("table"),
        }
    }
}

/// Whether a word is a key here: one of those that are known, with a value after it.
fn is_key(word: &str, cursor: &Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    ahead.take();
    KEYS.contains(&word) && ahead.operator("=")
}

fn is_role(word: &str) -> bool {
    Role::ALL.iter().any(|role| role.name() == word)
}

impl Target {
    /// The network addresses of the nodes, each once.
    async fn addresses(&self, context: &Context<'_>) -> Result<Vec<String>, Error> {
        let unknown = |hint: &str| {
            let destination = self.to_string();
            Err(Error::NoDestination { destination, hint: hint.into() })
        };
        let names = match self {
            Self::Local => return Ok(vec![context.node.settings().network.to_string()]),
            // Queries never come here: see `run`.
            Self::Network => {
                return unknown(
                    "\"network\" is for queries; name the nodes instead, for example \
                     \"blockchain get operator bring.ip_port\"",
                );
            }
            Self::Nodes(terms) => {
                let texts = terms.iter().map(|term| term.text(context.variables()));
                texts.collect::<Result<Vec<_>, _>>()?
            }
            Self::Query(command) => queried(command, context).await?,
            Self::Table { dbms, table } => {
                let operators = lookup::operators_of(context.node.ledger(), dbms, table);
                operators.iter().filter_map(|operator| address_of(operator)).collect()
            }
        };
        let parts = names.iter().flat_map(|name| name.split(',')).map(str::trim);
        let mut addresses = Vec::new();
        let mut seen = HashSet::new();
        for part in parts.filter(|part| !part.is_empty()) {
            let found = addresses_of(context.node, part)?;
            addresses.extend(found.into_iter().filter(|address| seen.insert(address.clone())));
        }
        addresses.iter().try_for_each(|address| permit(address, context))?;
        match (addresses.len(), self) {
            (0, Self::Table { .. }) => unknown("no operator of the ledger holds the table"),
            (0, _) => unknown("no node of the ledger is of that kind"),
            (1..=NODES_MAX, _) => Ok(addresses),
            _ => Err(Error::Limit { what: "the number of nodes", limit: NODES_MAX }),
        }
    }
}

/// Refuses addresses at which the ledger knows no operator: only operators hold rows.
fn check_operators(node: &Node, addresses: &[String]) -> Result<(), Error> {
    let operators = lookup::of_kind(node.ledger(), Role::Operator.name());
    let known: HashSet<_> = operators.iter().filter_map(|policy| address_of(policy)).collect();
    match addresses.iter().find(|address| !known.contains(*address)) {
        None => Ok(()),
        Some(address) => Err(Error::NoDestination {
            destination: address.clone(),
            hint: "a query is for operators, and the ledger has none at this address; \
                   \"blockchain get operator bring.ip_port\" lists them"
                .into(),
        }),
    }
}

/// The name of the node at an address, as the ledger has it; the address itself when it has none.
fn name_of(node: &Node, address: &str) -> String {
    let policies = Role::ALL.iter().flat_map(|role| lookup::of_kind(node.ledger(), role.name()));
    let mut there =
        policies.filter(|policy| address_of(policy).is_some_and(|known| known == address));
    let name = there.find_map(|policy| policy.name().map(str::to_owned));
    name.unwrap_or_else(|| address.to_owned())
}

/// Whether another node would say the same, so that its silence is no excuse.
fn is_callers_fault(error: &Error) -> bool {
    use edgemere_service::Kind;
    matches!(error.kind(), Kind::Input | Kind::Denied | Kind::Conflict | Kind::NotFound)
}

/// The addresses that a ledger query gives: what it brings, or where its policies say they are.
async fn queried(command: &Command, context: &Context<'_>) -> Result<Vec<String>, Error> {
    let reply = command.run(context).await?;
    match &reply.body {
        Body::Policies(policies) => Ok(policies.iter().filter_map(|p| address_of(p)).collect()),
        _ => Ok(vec![render(reply, command.output())?.into_text().await?]),
    }
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

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(f)?;
        if let Some(subset) = self.subset {
            write!(f, ", subset = {subset}")?;
        }
        if let Some(seconds) = self.timeout_s {
            write!(f, ", timeout = {seconds}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Network => f.write_str("network"),
            Self::Nodes(nodes) => {
                let nodes: Vec<_> = nodes.iter().map(Term::to_string).collect();
                f.write_str(&nodes.join(", "))
            }
            Self::Query(command) => command.fmt(f),
            Self::Table { dbms, table } => {
                write!(f, "dbms = {}, table = {}", word_or_quote(dbms), word_or_quote(table))
            }
        }
    }
}
