//! `get synchronizer`: how the node keeps in step with the master's ledger.

use std::time::Duration;

use serde_json::json;

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::reply::Reply;
use crate::sync::{State, Status, WAIT};

pub(crate) struct Synchronizer;

impl Report for Synchronizer {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get synchronizer",
        usage: "get synchronizer [where format = FORMAT]",
        about: "Shows how the node synchronizes with the master's ledger.",
        details: "\
\"Status\" is \"In step\" when the node has everything that the master has. A change at the \
master arrives at once; \"Sync Time\" is the number of seconds after which the node repeats its \
request when there is none. \"Waiting\" counts the policies that the master still has to \
receive. \"Master refused\" means that the master's ledger belongs to another network, or has \
lost policies: the node keeps its copy until it finds the right master, or \"accept ledger\" \
accepts this one. A node without a master has nothing to synchronize.",
        examples: &["get synchronizer", "get synchronizer where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let Status { state, in_step_at, calls, loads, succeeded, failed, refused, refusal } =
            node.synchronizer().status();
        let (master, policies) = (node.follows(), node.ledger().len());
        let (version, waiting) = (node.metadata_version(), node.ledger().waiting());
        let status = if master.is_some() { name(&state) } else { "Not Running" };
        let since = in_step_at.map(|time| clock(time.elapsed()));
        let mut table = Table::new([
            "Status",
            "Sync Source",
            "Connection",
            "Sync Time",
            "Metadata Version",
            "Time Since Update",
            "Calls",
            "Loads",
            "Policies",
            "Sync OK",
            "Sync Err",
            "Waiting",
        ]);
        table.push([
            json!(status),
            json!(master.map_or("", |_| "master")),
            json!(master.unwrap_or_default()),
            master.map_or_else(|| json!(""), |_| json!(WAIT.as_secs())),
            json!(version),
            json!(since.as_deref().unwrap_or("Not updated")),
            json!(calls),
            json!(loads),
            json!(policies),
            json!(succeeded),
            json!(failed),
            json!(waiting),
        ]);
        let reason = match &state {
            State::Failed(reason) | State::Refused(reason) => Some(reason.as_str()),
            _ => None,
        };
        Ok(Reply::table(table).with_mcp(json!({
            "status": status, "master": master, "version": version, "waiting": waiting,
            "policies": policies, "since_update": since, "refused": refused,
            "last_refusal": refusal, "error": reason,
        })))
    }
}

fn name(state: &State) -> &'static str {
    match state {
        State::Starting => "Starting",
        State::Behind => "Catching up",
        State::InStep => "In step",
        State::Failed(_) => "Master not reached",
        State::Refused(_) => "Master refused",
    }
}

/// A time as hours, minutes and seconds.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}
