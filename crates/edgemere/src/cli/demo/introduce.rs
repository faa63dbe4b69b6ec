//! What the demo says when it is ready: which nodes there are, what to try, and what a query on all
//! of them answers.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use super::fill::ROWS_A_SECOND;
use super::network::{Network, Node};
use super::sample::{COMPANY, DBMS, Table};
use crate::cli::node::{ask, program};
use crate::client::{Answer, Question};
use crate::config::keys;
use crate::terminal::{self, grouped};

/// Where a node serves MCP.
const MCP_PATH: &str = "/mcp";

/// The query that the demo shows the answer of.
const SHOWN: &str = "select device, count(*) as readings, round(avg(temperature), 2) as mean, \
                     max(temperature) as hottest from pumps group by device \
                     order by hottest desc limit 5";

/// A query to try: what came lately.
const LATELY: &str = "select device, count(*) as readings, max(timestamp) as last from pumps where \
                      timestamp > now() - 1 minute group by device order by device";

/// Another one.
const HOURLY: &str = "select increments(hour, 1, timestamp), max(timestamp) as until, \
                      avg(litres_per_second) as mean from flow";

/// Asks the query node what is shown.
pub(super) async fn answer(network: &Network) -> anyhow::Result<Answer> {
    let command = edgemere_command::sql_command(DBMS, "format = table and stat = false", SHOWN);
    let destination = Some("network".to_owned());
    network.query.client.ask(&Question { command, destination, ..Question::default() }).await
}

/// Says what there is, how long it took to store it, and what to try.
pub(super) fn introduce(
    network: &Network,
    stored: &[u64],
    time: Duration,
    folder: &Path,
    answer: &Answer,
) -> anyhow::Result<()> {
    let operators = network.stores.operators.len();
    terminal::say(&format!(
        "The network of \"{COMPANY}\" runs: {} nodes, each a process of its own.\n\n{}\n\
         {} rows were stored in {:.1} s, and {} new ones come each second. Data and logs are in {}.\n\n\
         In another terminal, try:\n\n{}\n\
         Agents ask the query node with this in the configuration of their client:\n\n  {}\n\n\
         Here is what the query node answers to\n{SHOWN}:\n",
        operators + 2,
        list(network, stored),
        grouped(stored.iter().sum()),
        time.as_secs_f64(),
        operators * ROWS_A_SECOND,
        folder.display(),
        to_try(network.query.place.http),
        mcp(network.query.place.http),
    ));
    terminal::print_reply(answer)?;
    terminal::say("\nCtrl-C stops all nodes and removes everything.");
    Ok(())
}

/// The nodes, a line each.
fn list(network: &Network, stored: &[u64]) -> String {
    let line = |node: &Node, what: &str| {
        format!("  {:8}  {what:40}  http://{}\n", node.name, node.place.http)
    };
    let mut lines = line(&network.stores.master, "master: keeps the ledger");
    for (operator, stored) in network.stores.operators.iter().zip(stored) {
        let (rows, tables) = (grouped(*stored), Table::ALL.len());
        lines.push_str(&line(operator, &format!("operator: {rows} rows in {tables} tables")));
    }
    lines.push_str(&line(&network.query, "query node: asks the operators"));
    lines
}

/// The lines to try, for the query node.
fn to_try(http: SocketAddr) -> String {
    let command = edgemere_command::sql_command(DBMS, "format = table", LATELY);
    let (program, node) = (program(), node_flag(http));
    let lines = [
        format!("curl -H 'command: {command}' -H 'destination: network' http://{http}"),
        format!("{program} sql --network {DBMS} '{HOURLY}'{node}"),
        ask(http, "get data nodes"),
        ask(http, "blockchain get device where site = harbour"),
        ask(http, "test network"),
        format!("{program} shell{node}"),
    ];
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

/// What an agent is configured with.
fn mcp(http: SocketAddr) -> String {
    let url = format!("http://{http}{MCP_PATH}");
    let servers = serde_json::json!({ "edgemere": { "type": "http", "url": url } });
    serde_json::json!({ "mcpServers": servers }).to_string()
}

/// The flag for the command line, where it would ask another node.
fn node_flag(http: SocketAddr) -> String {
    let url = format!("http://{http}");
    if keys::NODE.is_default(&url) { String::new() } else { format!(" --node {url}") }
}
