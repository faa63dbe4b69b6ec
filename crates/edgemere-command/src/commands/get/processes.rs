//! `get processes`: what runs on the node.

use serde_json::{Map, Value};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::node::{Node, Role};
use crate::reply::Reply;
use crate::sync::State;

pub(crate) struct Processes;

impl Report for Processes {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get processes",
        usage: "get processes [where format = FORMAT]",
        about: "The node's services and whether they run.",
        examples: &["get processes", "get processes where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let mut table = Table::new(["Process", "Status", "Details"]);
        let mut json = Map::new();
        for (name, details) in processes(context.node) {
            let status = if details.is_some() { "Running" } else { "Not declared" };
            table.push([name, status, details.as_deref().unwrap_or_default()]);
            let mut process = Map::new();
            process.insert("Status".into(), status.into());
            process.extend(details.map(|details| ("Details".into(), details.into())));
            json.insert(name.into(), Value::Object(process));
        }
        Ok(Reply::table(table).with_json(Value::Object(json)))
    }
}

/// The services and, of those that run, the details.
fn processes(node: &Node) -> Vec<(&'static str, Option<String>)> {
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
        ("MCP", None),
    ]
}

/// How it goes with the master, in EdgeLake's words.
fn sync_details(node: &Node, master: &str) -> String {
    let mut details = match node.synchronizer().status().state {
        State::Failed(reason) => format!("Failed to connect to master using: {master} ({reason})"),
        _ => format!("Sync on every change with master using: {master}"),
    };
    match node.ledger().waiting() {
        0 => {}
        1 => details.push_str(", 1 policy waits"),
        waiting => details.push_str(&format!(", {waiting} policies wait")),
    }
    details
}
