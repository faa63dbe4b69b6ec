//! Two builds of the product in one run: the same rows and the same queries, asked of both in turn.
//!
//! A machine changes its speed within minutes, so that two runs say little about two builds. Here
//! every query goes to the one and then to the other, again and again, and the medians are compared.

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

use super::{
    Args, SPEC,
    connection::Connection,
    median, milliseconds,
    network::Network,
    queries::QUERIES,
    row,
    rows::{self, TABLE},
};
use crate::{interrupt, node::Node};

/// How often each query is asked of each build.
const RUNS: usize = 41;
/// How many rows one request of the ingest comparison has.
const BATCH_ROWS: usize = 1_000;
/// How many such requests are sent to each build.
const BATCHES: usize = 300;

const NETWORK: &[(&str, &str)] = &[("destination", "network")];

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let baseline = args.baseline.as_deref().context("compare needs `--baseline FILE`")?;
    let nodes = [Node::start(baseline, SPEC)?, Node::start(binary, SPEC)?];
    let addresses = [nodes[0].bound.http, nodes[1].bound.http];
    let files = [
        rows::load_in_order(addresses[0], 0..args.rows)?,
        rows::load_in_order(addresses[1], 0..args.rows)?,
    ];
    check_files("one node", &files);
    compare("one node", addresses, &[])?;
    ingest(addresses)?;
    drop(nodes);

    let networks = [Network::start(baseline)?, Network::start(binary)?];
    let files = [networks[0].load(args.rows)?, networks[1].load(args.rows)?];
    check_files("network", &files);
    compare("network", [networks[0].address(), networks[1].address()], NETWORK)
}

/// Says so when the two builds have different files: their times are not comparable then.
fn check_files(place: &str, [before, after]: &[Vec<u64>; 2]) {
    if before != after {
        row(place, &format!("the files differ, rows of each: {before:?} and {after:?}"));
    }
}

/// Asks every query of both, in turn.
fn compare(place: &str, addresses: [SocketAddr; 2], headers: &[(&str, &str)]) -> Result<()> {
    let [mut before, mut after] =
        [Connection::open(addresses[0])?, Connection::open(addresses[1])?];
    for (name, sql) in QUERIES {
        let command = format!("sql {} format = mcp {}", rows::DBMS, sql.replace("{t}", TABLE));
        let mut headers = headers.to_vec();
        headers.push(("command", &command));
        let mut times = [Vec::new(), Vec::new()];
        let requests =
            [before.request("GET /", &headers, ""), after.request("GET /", &headers, "")];
        for _ in 0..RUNS {
            interrupt::check()?;
            times[0].push(timed(&mut before, &requests[0])?);
            times[1].push(timed(&mut after, &requests[1])?);
        }
        tell(&format!("{place}: {name}"), &mut times);
    }
    Ok(())
}

/// Sends batches of rows to both, in turn.
fn ingest(addresses: [SocketAddr; 2]) -> Result<()> {
    let [mut before, mut after] =
        [Connection::open(addresses[0])?, Connection::open(addresses[1])?];
    let mut times = [Vec::new(), Vec::new()];
    for batch in 0..BATCHES {
        interrupt::check()?;
        let range = batch * BATCH_ROWS..(batch + 1) * BATCH_ROWS;
        let requests = [rows::put(&before, range.clone()), rows::put(&after, range)];
        times[0].push(timed(&mut before, &requests[0])?);
        times[1].push(timed(&mut after, &requests[1])?);
    }
    tell("one node: a batch of 1,000 rows stored", &mut times);
    Ok(())
}

fn timed(connection: &mut Connection, request: &[u8]) -> Result<Duration> {
    let begin = Instant::now();
    connection.ask(request)?;
    Ok(begin.elapsed())
}

fn tell(name: &str, times: &mut [Vec<Duration>; 2]) {
    let [before, after] = times;
    let (before, after) = (median(before), median(after));
    let ratio = after.as_secs_f64() / before.as_secs_f64();
    row(name, &format!("{} → {}: {ratio:.3} ×", milliseconds(before), milliseconds(after)));
}
