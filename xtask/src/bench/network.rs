//! Two operators and a query node, as processes, beside one node that has all of the rows: what the
//! network costs, and how fast rows go through it.

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use serde_json::json;

use super::{
    Args, SPEC, connection::Connection, median, milliseconds, process, row, rows, rows::TABLE,
    seconds, thousands,
};
use crate::{
    interrupt,
    node::{Joining, Node, Spec},
};

/// How often each query is asked; the median is reported.
const RUNS: usize = 15;
/// How many rows the table of small queries has.
const SMALL: usize = 100_000;
/// How long all nodes have until they know the table.
const KNOWN_MAX: Duration = Duration::from_secs(10);

const QUERIES: &[(&str, &str)] = &[
    ("count, avg, min, max", "select count(*), avg(value), min(value), max(value) from {t}"),
    (
        "GROUP BY 1,000 devices",
        "select device_name, count(*), avg(value) from {t} group by device_name",
    ),
    (
        "hourly averages",
        "select date_trunc('hour', timestamp) as h, avg(value) from {t} group by 1 order by 1",
    ),
    ("top 10", "select timestamp, value from {t} order by value desc, timestamp limit 10"),
];

/// What EdgeLake's own network took for 200,000 rows on the same kind of machine.
const EDGELAKE: &str = "EdgeLake 7,900 rows/s";

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let network = Network::start(binary)?;
    let (first, second) = (0..args.rows, args.rows..args.rows * 2);
    for (operator, rows) in network.operators.iter().zip([first, second]) {
        rows::load(operator.bound.http, rows)?;
    }
    row("rows, half of them on each of two operators", &thousands(args.rows as f64 * 2.0));
    network.wait_for(args.rows * 2)?;
    let there = network.times(args.rows * 2)?;
    network.passed_through(args.rows * 2)?;
    drop(network);

    let alone = Node::start(binary, SPEC)?;
    rows::load(alone.bound.http, 0..args.rows * 2)?;
    let here = times(alone.bound.http, &[])?;
    for (((name, _), there), here) in QUERIES.iter().zip(there).zip(here) {
        let ratio = there.as_secs_f64() / here.as_secs_f64();
        let value = format!(
            "{}, one node with all rows {}: {ratio:.2} ×",
            milliseconds(there),
            milliseconds(here)
        );
        row(name, &value);
    }
    drop(alone);
    small(binary)
}

/// A small query, where the way is most of the time.
fn small(binary: &Path) -> Result<()> {
    let network = Network::start(binary)?;
    let halves = [0..SMALL / 2, SMALL / 2..SMALL];
    for (operator, rows) in network.operators.iter().zip(halves) {
        rows::load(operator.bound.http, rows)?;
    }
    network.wait_for(SMALL)?;
    let sql = QUERIES.first().map_or("", |(_, sql)| sql);
    let mut connection = Connection::open(network.query.bound.http)?;
    let time = ask(&mut connection, sql, &[("destination", "network")], RUNS * 20)?;
    row(&format!("count, avg, min, max of {} rows", thousands(SMALL as f64)), &milliseconds(time));
    Ok(())
}

/// A master, two operators and a query node.
pub(super) struct Network {
    query: Node,
    operators: [Node; 2],
    _master: Node,
}

impl Network {
    pub(super) fn start(binary: &Path) -> Result<Self> {
        let master = Node::join(binary, Spec { name: "master", role: "master" }, Joining::First)?;
        let of = Joining::Master(master.bound.network);
        let operator = |name| Node::join(binary, Spec { name, role: "operator" }, of);
        let operators = [operator("operator1")?, operator("operator2")?];
        let query = Node::join(binary, Spec { name: "query", role: "query" }, of)?;
        Ok(Self { query, operators, _master: master })
    }

    /// Where the query node is asked.
    pub(super) fn address(&self) -> SocketAddr {
        self.query.bound.http
    }

    /// Stores so many rows, half of them on each operator, and waits until all of them are seen.
    pub(super) fn load(&self, rows: usize) -> Result<Vec<u64>> {
        let mut files = Vec::new();
        for (operator, rows) in self.operators.iter().zip([0..rows / 2, rows / 2..rows]) {
            files.extend(rows::load_in_order(operator.bound.http, rows)?);
        }
        self.wait_for(rows)?;
        Ok(files)
    }

    /// Waits until the query node sees all of the rows.
    fn wait_for(&self, wanted: usize) -> Result<()> {
        let begin = Instant::now();
        while begin.elapsed() < KNOWN_MAX {
            interrupt::check()?;
            let mut connection = Connection::open(self.query.bound.http)?;
            if rows::count_with(&mut connection, &[("destination", "network")]).ok() == Some(wanted)
            {
                return Ok(());
            }
        }
        bail!("the query node does not see {wanted} rows after {} s", KNOWN_MAX.as_secs())
    }

    fn times(&self, rows: usize) -> Result<Vec<Duration>> {
        let mut connection = Connection::open(self.query.bound.http)?;
        let seen = rows::count_with(&mut connection, &[("destination", "network")])?;
        if seen != rows {
            bail!("the query node sees {seen} rows of {rows}");
        }
        times(self.query.bound.http, &[("destination", "network")])
    }

    /// All rows through the query node: as Arrow, and as JSON.
    fn passed_through(&self, wanted: usize) -> Result<()> {
        let idle = process::memory(self.query.pid());
        row("memory of the query node", &idle.to_string());
        process::forget_peak(self.query.pid())?;
        for (name, accept) in
            [("Arrow", "application/vnd.apache.arrow.stream"), ("NDJSON", "application/x-ndjson")]
        {
            let (elapsed, first) = self.pass(accept, wanted)?;
            let rate = wanted as f64 / elapsed.as_secs_f64();
            let value = format!(
                "{}: {} rows/s, the first after {} ({EDGELAKE})",
                seconds(elapsed),
                thousands(rate),
                milliseconds(first)
            );
            row(&format!("all rows passed through as {name}"), &value);
        }
        let peak = process::peak(self.query.pid()).above(idle);
        row("peak memory of the query node above that before", &peak.to_string());
        Ok(())
    }

    fn pass(&self, accept: &str, wanted: usize) -> Result<(Duration, Duration)> {
        let connection = Connection::open(self.query.bound.http)?;
        let sql = format!("select timestamp, value, device_name from {TABLE}");
        let body = json!({ "dbms": rows::DBMS, "sql": sql, "destination": "network" }).to_string();
        let headers = [("Accept", accept), ("Content-Type", "application/json")];
        let request = connection.request("POST /api/v1/sql", &headers, &body);
        let begin = Instant::now();
        let (mut lines, mut first) = (0, None);
        connection.pieces(&request, |piece| {
            first.get_or_insert_with(|| begin.elapsed());
            if accept.ends_with("json") {
                lines += piece.iter().filter(|byte| **byte == b'\n').count();
            }
            interrupt::check()
        })?;
        if accept.ends_with("json") && lines != wanted {
            bail!("{lines} rows came of {wanted}");
        }
        Ok((begin.elapsed(), first.unwrap_or_default()))
    }
}

fn times(address: SocketAddr, headers: &[(&str, &str)]) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(address)?;
    QUERIES.iter().map(|(_, sql)| ask(&mut connection, sql, headers, RUNS)).collect()
}

fn ask(
    connection: &mut Connection,
    sql: &str,
    headers: &[(&str, &str)],
    runs: usize,
) -> Result<Duration> {
    let command = format!("sql {} format = mcp {}", rows::DBMS, sql.replace("{t}", TABLE));
    let mut headers = headers.to_vec();
    headers.push(("command", &command));
    let request = connection.request("GET /", &headers, "");
    let mut times = Vec::new();
    for _ in 0..runs {
        interrupt::check()?;
        let begin = Instant::now();
        connection.ask(&request)?;
        times.push(begin.elapsed());
    }
    Ok(median(&mut times))
}
