//! Commands for a node of EdgeLake: the text that it understands, and what makes of its reply the one that
//! a node of ours would have given. It knows no network; who asks is elsewhere.
//!
//! EdgeLake is one text to the end: it looks for options, variables (`!name`, `$name`) and keywords also in
//! quotes, and passes over what it does not understand. So nothing is sent as it was written:
//!
//! - `sql`: the statement is printed anew from its tree, in forms that EdgeLake answers rightly; the rest
//!   is done here, or refused. See `edgemere_query::sql::edgelake`.
//! - `blockchain get`: whole policies are asked for, and conditions, `bring` and looks are done here.
//!   EdgeLake answers `name = a and port > 1` with policies of other names.
//! - Of the other commands only those are sent that EdgeLake has and that read, with values of plain letters
//!   (`plain`).

mod nodes;
mod plain;

use std::sync::Arc;

use edgemere_ledger::Policy;
use edgemere_query::sql::edgelake::{Query, Refused};
pub use edgemere_query::sql::edgelake::{Rows, Strange};
use serde_json::{Map, Value};

pub use self::nodes::Nodes;
use crate::commands::Command;
use crate::error::Error;
use crate::format::{Format, Rendered, nodes_to_mcp, render, render_small};
use crate::reply::{NodeReply, Reply};
use edgemere_service::Kind;

/// A command for a node of EdgeLake.
#[derive(Clone, Debug)]
pub struct Foreign {
    texts: Vec<String>,
    reply: Expected,
    command: Command,
    query: Option<Arc<Query>>,
}

/// What its reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The rows of a query, as `{"Query": [{…}], "Statistics": [{…}]}`.
    Rows,
    /// A list of whole policies.
    Policies,
    /// JSON.
    Json,
    /// Text for people.
    Text,
}

/// Why a command is not sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Unsendable {
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// The kind of it.
    pub kind: Kind,
}

impl Unsendable {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: Some(hint.into()), kind: Kind::Input }
    }

    /// A value in which EdgeLake would read more than a value.
    fn value(value: &str) -> Self {
        Self::new(
            format!("a node of EdgeLake cannot be given the value {value:?}"),
            "EdgeLake reads variables, options and keywords also in quotes: values may have letters, \
             digits, single spaces and _-.:/@#+ only",
        )
    }
}

impl From<Refused> for Unsendable {
    fn from(refused: Refused) -> Self {
        Self { message: refused.to_string(), hint: refused.hint(), kind: Kind::Input }
    }
}

impl From<Error> for Unsendable {
    fn from(error: Error) -> Self {
        Self {
            message: error.message(),
            hint: error.hint().map(|hint| hint.to_string()),
            kind: error.kind(),
        }
    }
}

/// The formats that the rows of EdgeLake can have.
const ROW_FORMATS: [Format; 6] = [
    Format::Table,
    Format::Json,
    Format::JsonList,
    Format::JsonOutput,
    Format::Mcp,
    Format::McpColumns,
];

impl Foreign {
    /// Whether a command, by its declared name, can ever be sent to EdgeLake.
    pub fn knows(name: &str) -> bool {
        ["sql", "blockchain get"].contains(&name) || plain::is_sent(name)
    }

    /// What a command is to EdgeLake.
    pub fn of(command: &Command, text: &str) -> Result<Self, Unsendable> {
        if let Some(asked) = command.asked_query() {
            let (text, query) = query(asked, command.format())?;
            let (texts, query) = (vec![text], Some(Arc::new(query)));
            return Ok(Self { texts, reply: Expected::Rows, command: command.clone(), query });
        }
        let (texts, reply) = match command.asked_policies() {
            Some(kinds) => (vec![policies_text(kinds)], Expected::Policies),
            None => plain::texts(command, text)?,
        };
        Ok(Self { texts, reply, command: command.clone(), query: None })
    }

    /// The texts to try: the next one when EdgeLake does not take one.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// What the reply is.
    pub fn expected(&self) -> Expected {
        self.reply
    }

    /// The rows of the query, of those that EdgeLake gave for it.
    pub fn rows(&self, objects: Vec<Map<String, Value>>) -> Result<Rows, Strange> {
        match &self.query {
            Some(query) => query.finish(objects),
            None => Err(Strange),
        }
    }

    /// A reply with the looks that were asked for.
    pub async fn shaped(&self, reply: Value) -> Result<Rendered, Error> {
        match self.reply {
            Expected::Policies => {
                let reply = self.command.of_policies(policies(reply)?);
                render(reply.unwrap_or_else(|| Ok(Reply::done()))?, self.command.output())
            }
            _ => Ok(render_small(Reply::value(reply), self.command.output())),
        }
    }

    /// What several nodes answered, each by its address, or why there is no answer.
    pub fn of_nodes(
        &self,
        replies: Vec<(String, Result<Value, String>)>,
    ) -> Result<Rendered, Error> {
        let replies = replies.into_iter().map(|(address, answer)| NodeReply {
            name: address.clone(),
            address,
            answer,
        });
        let replies: Vec<_> = replies.collect();
        let for_agents = nodes_to_mcp(&replies);
        render(Reply::nodes(replies).with_mcp(for_agents), self.command.output())
    }
}

/// The policies in a reply.
fn policies(reply: Value) -> Result<Vec<Arc<Policy>>, Error> {
    let list = match reply {
        Value::Array(list) => list,
        other => vec![other],
    };
    let policies = list.into_iter().map(|policy| Policy::from_value(policy).map(Arc::new));
    Ok(policies.collect::<Result<Vec<_>, _>>()?)
}

/// A query as a command has it.
pub(crate) struct AskedQuery<'a> {
    pub(crate) dbms: &'a str,
    pub(crate) sql: &'a str,
    /// The options that are no looks.
    pub(crate) options: Vec<(&'a str, Option<&'a str>)>,
}

/// `sql DBMS format = json [and timezone = ZONE] select …`.
fn query(asked: AskedQuery<'_>, format: Option<Format>) -> Result<(String, Query), Unsendable> {
    if !plain::is_name(asked.dbms) {
        return Err(Unsendable::value(asked.dbms));
    }
    if let Some(format) = format.filter(|format| !ROW_FORMATS.contains(format)) {
        return Err(Unsendable::new(
            format!("the rows of a node of EdgeLake cannot be given as \"{}\"", format.name()),
            "ask for json, json:list, mcp or mcp:columns",
        ));
    }
    let mut front = format!("sql {} format = json", asked.dbms);
    for (key, value) in asked.options {
        match (key, value) {
            ("stat", _) => {}
            ("timezone", Some(zone)) if plain::is_name(&zone.replace(['/', '+'], "_")) => {
                front.push_str(&format!(" and timezone = {zone}"));
            }
            _ => {
                return Err(Unsendable::new(
                    format!("the option \"{key}\" of sql is not sent to a node of EdgeLake"),
                    "leave it out; timezone and format may stand before the SELECT",
                ));
            }
        }
    }
    let query = Query::of(asked.sql, asked.dbms)?;
    Ok((format!("{front} {}", query.sql()), query))
}

/// All policies.
pub const ALL: &str = "blockchain get *";

/// The policies of some types, or all of them.
fn policies_text(kinds: &[String]) -> String {
    match kinds {
        kinds if !kinds.iter().all(|kind| plain::is_name(kind)) => ALL.into(),
        [] => ALL.into(),
        [kind] => format!("blockchain get {kind}"),
        kinds => format!("blockchain get ({})", kinds.join(", ")),
    }
}

#[cfg(test)]
mod tests;
