//! `get processes`: what runs on the node.

use serde_json::{Map, Value};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::node::{Details, Node, Role};
use crate::reply::Reply;
use crate::sync::State;

pub(crate) struct Processes;

impl Report for Processes {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get processes",
        usage: "get processes [where format = FORMAT]",
        about: "Lists the node's services and whether they run.",
        examples: &["get processes", "get processes where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let mut table = Table::new(["Process", "Status", "Details"]);
        let mut json = Map::new();
        for (name, details) in processes(context.node) {
            let status = if details.is_some() { "Running" } else { "Not declared" };
            let text = details.as_ref().map(|details| details.text.as_str());
            table.push([name, status, text.unwrap_or_default()]);
            let mut process = Map::new();
            process.insert("Status".into(), status.into());
            if let Some(Details { text, more }) = details {
                process.insert("Details".into(), text.into());
                process.extend(more);
            }
            json.insert(name.into(), Value::Object(process));
        }
        Ok(Reply::table(table).with_json(Value::Object(json)))
    }
}

/// The services and, of those that run, the details.
fn processes(node: &Node) -> Vec<(&'static str, Option<Details>)> {
    let own = own(node).into_iter();
    let own =
        own.map(|(name, text)| (name, text.map(|text| Details { text, ..Details::default() })));
    own.chain(beside(node)).collect()
}

/// What runs beside the node; without anything for agents that is said, too.
fn beside(node: &Node) -> Vec<(&'static str, Option<Details>)> {
    let beside = node.processes();
    match beside.is_empty() {
        true => vec![("MCP", None)],
        false => beside.into_iter().map(|(name, details)| (name, Some(details))).collect(),
    }
}

/// The node's own services.
fn own(node: &Node) -> Vec<(&'static str, Option<String>)> {
    let settings = node.settings();
    let role = |role| node.has_role(role);
    let ledger = node.ledger();
    vec![
        ("TCP", Some(format!("Listening on: {}", settings.network))),
        ("REST", Some(format!("Listening on: {}", settings.http))),
        ("Ledger", Some(format!("{} policies, version {}", ledger.len(), node.metadata_version()))),
        ("Master", role(Role::Master).then(|| "Keeps the ledger".into())),
        ("Operator", role(Role::Operator).then(|| format!("Cluster: {}", settings.cluster))),
        ("Query", role(Role::Query).then(|| "Answers for the network".into())),
        ("Blockchain Sync", node.follows().map(|master| sync_details(node, master))),
    ]
}

/// How it goes with the master, in EdgeLake's words.
fn sync_details(node: &Node, master: &str) -> String {
    let mut details = match node.synchronizer().status().state {
        State::Failed(reason) => format!("Failed to connect to master using: {master} ({reason})"),
        State::Refused(reason) => format!("Refused the ledger of master {master} ({reason})"),
        _ => format!("Sync on every change with master using: {master}"),
    };
    match node.ledger().waiting() {
        0 => {}
        1 => details.push_str(", 1 policy waits"),
        waiting => details.push_str(&format!(", {waiting} policies wait")),
    }
    details
}
