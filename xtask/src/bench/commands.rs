//! `get status` and lookups in a ledger with many policies: latency, rate, memory.

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::{Args, SPEC, connection::Connection, milliseconds, process, row, seconds};
use crate::{http::Client, interrupt, node::Node};

const COMPANY: &str = "New Company";
/// A cluster and its operators: no cluster has more than 255 of them.
const CLUSTER_POLICIES: usize = 200;
const CONNECTIONS: &[usize] = &[1, 8];

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let node = Node::start(binary, SPEC)?;
    row("start until node.json", &milliseconds(node.started_in));
    row("idle memory after start", &process::memory(node.pid()).to_string());
    let inserted_in = insert(&node, args.policies)?;
    row(&format!("{} policies inserted one by one", args.policies), &seconds(inserted_in));
    row("memory with these policies", &process::memory(node.pid()).to_string());
    let name = args.policies.saturating_sub(1);
    let lookup = format!("blockchain get operator where name = operator-{name}");
    for command in ["get status", &lookup] {
        for &connections in CONNECTIONS {
            let measured = measure(&node, command, connections, args.seconds)?;
            let s = if connections == 1 { "" } else { "s" };
            row(&format!("`{command}`, {connections} connection{s}"), &measured.to_string());
        }
    }
    row("memory after the run", &process::memory(node.pid()).to_string());
    Ok(())
}

fn insert(node: &Node, policies: usize) -> Result<Duration> {
    let client = Client::new();
    let url = node.url();
    let begin = Instant::now();
    for number in 0..policies {
        interrupt::check()?;
        insert_one(&client, &url, &policy(number))?;
    }
    Ok(begin.elapsed())
}

/// A cluster, and then its operators.
fn policy(number: usize) -> Value {
    let cluster = format!("cluster-{}", number / CLUSTER_POLICIES);
    if number.is_multiple_of(CLUSTER_POLICIES) {
        return json!({"cluster": {"name": cluster, "company": COMPANY, "id": cluster}});
    }
    json!({"operator": {
        "name": format!("operator-{number}"),
        "company": COMPANY,
        "ip": format!("10.0.{}.{}", number / 250, number % 250),
        "port": 32148,
        "rest_port": 32149,
        "cluster": cluster,
    }})
}

fn insert_one(client: &Client, url: &str, policy: &Value) -> Result<()> {
    let command = format!("blockchain insert where policy = {policy} and local = true");
    let answer = client.command("POST", url, &command)?;
    if !answer.status.is_success() {
        bail!("{policy} was not inserted: {}", answer.body.trim());
    }
    Ok(())
}

/// The answers to one command.
struct Measured {
    /// Sorted, over all connections.
    latencies: Vec<Duration>,
    elapsed: Duration,
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percentile = |hundredths: usize| {
            let place = self.latencies.len() * hundredths / 100;
            milliseconds(self.latencies.get(place).copied().unwrap_or_default())
        };
        let rate = self.latencies.len() as f64 / self.elapsed.as_secs_f64();
        write!(f, "p50 {}, p99 {}, {rate:.0} requests/s", percentile(50), percentile(99))
    }
}

fn measure(node: &Node, command: &str, connections: usize, seconds: u64) -> Result<Measured> {
    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds);
    let mut latencies = thread::scope(|scope| -> Result<Vec<Duration>> {
        let ask = || ask_until(node, command, end);
        let threads: Vec<_> = (0..connections).map(|_| scope.spawn(ask)).collect();
        let mut all = Vec::new();
        for thread in threads {
            all.extend(thread.join().ok().context("a connection's thread failed")??);
        }
        Ok(all)
    })?;
    latencies.sort();
    Ok(Measured { latencies, elapsed: begin.elapsed() })
}

/// One connection that asks again as soon as it has the answer.
fn ask_until(node: &Node, command: &str, end: Instant) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(node.bound.http)?;
    let request = connection.get(command);
    let mut latencies = Vec::new();
    while Instant::now() < end {
        interrupt::check()?;
        let begin = Instant::now();
        let body = connection.ask(&request)?;
        latencies.push(begin.elapsed());
        if body == "[]" {
            bail!("\"{command}\" found nothing");
        }
    }
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_and_rate_are_told() {
        let latencies = (1..=100).map(Duration::from_millis).collect();
        let measured = Measured { latencies, elapsed: Duration::from_secs(2) };
        let told = "p50 51.000 ms, p99 100.000 ms, 50 requests/s";
        assert_eq!(measured.to_string(), told);
    }
}
