//! `test network`: which nodes of the ledger answer, and whether their ledgers agree.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use edgemere_ledger::{Condition, Kinds, Policy};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::addresses::{address_of, is_address, permit};
use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::language::term::Term;
use crate::node::Role;
use crate::peers::PING_TIMEOUT;
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Network {
    metadata_version: bool,
    with: Option<Term>,
    options: Options,
}

impl Declared for Network {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "test network",
        usage: "test network [metadata version] [with ROLE|ADDRESS] \
                [where times = true and format = FORMAT]",
        about: "Shows which nodes of the ledger answer.",
        details: "\
\"with\" tests only the nodes of a role (master, operator, query) or at an address. \"metadata \
version\" requests the version of each node's ledger: nodes with the same version have the same \
policies. \"times = true\" adds the response times; a node that does not answer within 1.5 s \
counts as down.",
        examples: &[
            "test network",
            "test network with operator",
            "test network metadata version",
            "test network where times = true",
        ],
        keys: &["times"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let metadata_version = cursor.keyword("metadata");
        if metadata_version {
            cursor.expect_keyword("version")?;
        }
        let with =
            cursor.keyword("with").then(|| cursor.term("a role or an address")).transpose()?;
        Ok(Self { metadata_version, with, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.metadata_version { " metadata version" } else { "" })?;
        if let Some(with) = &self.with {
            write!(f, " with {with}")?;
        }
        write!(f, "{}", self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let nodes = self.nodes(context)?;
        let answers = self.ask(&nodes, context).await;
        let times = self.options.flag("times", false)?;
        let last = if self.metadata_version { "Metadata Version" } else { "Status" };
        let mut columns = vec!["Address", "Node Type", "Node Name", last];
        columns.extend(times.then_some("Time (ms)"));
        let mut table = Table::new(columns);
        let mut list = Vec::new();
        for (address, kind, name) in &nodes {
            let Some((answer, time)) = answers.get(address) else { continue };
            let shown = match (answer, self.metadata_version) {
                (Err(_), _) => "",
                (Ok(_), false) => "+",
                (Ok(version), true) => version,
            };
            let time_ms = answer.is_ok().then(|| (time.as_secs_f64() * 1e5).round() / 100.0);
            let mut row = vec![json!(address), json!(kind), json!(name), json!(shown)];
            row.extend(times.then(|| time_ms.map_or_else(|| json!(""), |time| json!(time))));
            table.push(row);
            list.push(json!({
                "address": address, "node_type": kind, "name": name, "answer": answer.as_ref().ok(),
                "error": answer.as_ref().err(), "time_ms": time_ms,
            }));
        }
        Ok(Reply::table(table).with_mcp(Value::Array(list)))
    }
}

/// What a node answered, or why it did not, and how long that took.
type Answer = (Result<String, String>, Duration);

impl Network {
    /// Asks every node at the same time, and once even if it has several roles.
    async fn ask(
        &self,
        nodes: &[(String, String, String)],
        context: &Context<'_>,
    ) -> HashMap<String, Answer> {
        let command = if self.metadata_version { "get metadata version" } else { "get status" };
        let addresses: BTreeSet<_> = nodes.iter().map(|(address, ..)| address.clone()).collect();
        let calls = addresses.into_iter().map(|address| async {
            let start = Instant::now();
            let peers = &context.node.settings().peers;
            let answer = match peers.call(&address, command, PING_TIMEOUT).await {
                Ok(reply) => reply.into_text().await,
                Err(error) => Err(error),
            };
            (address, (answer.map_err(|error| error.message()), start.elapsed()))
        });
        join_all(calls).await.into_iter().collect()
    }

    /// Address, type and name of the nodes to test, in the ledger's order.
    fn nodes(&self, context: &Context<'_>) -> Result<Vec<(String, String, String)>, Error> {
        let with = self.with.as_ref().map(|with| with.text(context.variables())).transpose()?;
        let all = Role::ALL.map(|role| role.name().to_owned());
        let (kinds, address) = match with {
            None => (all.to_vec(), None),
            Some(address) if is_address(&address) => (all.to_vec(), Some(address)),
            Some(role) => match role.parse::<Role>() {
                Ok(role) => (vec![role.name().to_owned()], None),
                Err(_) => {
                    let expected = "master, operator, query or an address as IP:PORT".into();
                    return Err(Error::BadValue {
                        key: "with".into(),
                        value: role,
                        expected,
                        at: None,
                    });
                }
            },
        };
        let policies = context.node.ledger().select(&Kinds::Named(kinds), &Condition::True);
        let mut nodes: Vec<_> = policies.iter().filter_map(describe).collect();
        if let Some(address) = address {
            nodes.retain(|(known, ..)| *known == address);
            if nodes.is_empty() {
                permit(&address, context)?;
                nodes.push((address, String::new(), String::new()));
            }
        }
        Ok(nodes)
    }
}

fn describe(policy: &Arc<Policy>) -> Option<(String, String, String)> {
    let name = policy.name().unwrap_or_default().to_owned();
    Some((address_of(policy)?, policy.kind().to_owned(), name))
}
