//! `test network`: which nodes of the ledger answer, and whether their ledgers agree.

use std::fmt;
use std::sync::Arc;

use edgemere_ledger::{Condition, Kinds, Policy};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::destination::{address_of, is_address};
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
        usage: "test network [metadata version] [with ROLE|ADDRESS] [where format = FORMAT]",
        about: "Which nodes of the ledger answer.",
        details: "\"with\" tests only the nodes of a role (master, operator, query) or at an \
                  address. \"metadata version\" asks each node for the version of its ledger: they \
                  are the same when all know the same policies.",
        examples: &["test network", "test network with operator", "test network metadata version"],
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
        let command = if self.metadata_version { "get metadata version" } else { "get status" };
        let peers = &context.node.settings().peers;
        let calls = nodes.iter().map(|(address, ..)| peers.call(address, command, PING_TIMEOUT));
        let last = if self.metadata_version { "Metadata Version" } else { "Status" };
        let mut table = Table::new(["Address", "Node Type", "Node Name", last]);
        let mut list = Vec::new();
        for ((address, kind, name), answer) in nodes.iter().zip(join_all(calls).await) {
            let answer = match answer {
                Ok(reply) => reply.into_text().await,
                Err(error) => Err(error),
            };
            let reason = answer.as_ref().err().map(Error::message);
            let answer = answer.ok();
            let shown = match (&answer, self.metadata_version) {
                (None, _) => "",
                (Some(_), false) => "+",
                (Some(version), true) => version,
            };
            table.push([address.as_str(), kind, name, shown]);
            list.push(json!({
                "address": address, "node_type": kind, "name": name, "answer": answer,
                "error": reason,
            }));
        }
        Ok(Reply::table(table).with_mcp(Value::Array(list)))
    }
}

impl Network {
    /// Address, type and name of the nodes to test, in the ledger's order.
    fn nodes(&self, context: &Context<'_>) -> Result<Vec<(String, String, String)>, Error> {
        let with = self.with.as_ref().map(|with| with.text(&context.node.variables)).transpose()?;
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
