//! Queries over settled rows, asked of a node over REST and of DuckDB on the same Parquet files.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use anyhow::Result;

use super::{
    Args, SPEC, connection::Connection, duckdb, median, milliseconds, process, row, rows,
    rows::TABLE, thousands,
};
use crate::{interrupt, node::Node};

/// How often each query is asked; the median is reported.
pub(super) const RUNS: usize = 15;

/// What is asked. `{t}` is the table.
pub(super) const QUERIES: &[(&str, &str)] = &[
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
    (
        "one device, one day",
        "select count(*), avg(value) from {t} where device_name = 'sensor-7' and \
         timestamp >= '2026-01-20 00:00:00' and timestamp < '2026-01-21 00:00:00'",
    ),
    ("count", "select count(*) from {t}"),
    ("count distinct", "select count(distinct device_name) from {t}"),
];

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let node = Node::start(binary, SPEC)?;
    rows::load(node.bound.http, 0..args.rows)?;
    let mut connection = Connection::open(node.bound.http)?;
    let count = rows::count(&mut connection)?;
    row("rows", &thousands(count as f64));
    let ours = QUERIES
        .iter()
        .map(|(_, sql)| ask(&mut connection, &sql.replace("{t}", TABLE)))
        .collect::<Result<Vec<_>>>()?;
    let texts: Vec<_> = QUERIES.iter().map(|(_, sql)| sql.replace("{t}", TABLE)).collect();
    let files = node.data().join("rows/data").join(rows::DBMS).join(TABLE);
    let theirs = duckdb::ask(&files, TABLE, &texts, RUNS)?;
    for (((name, _), ours), theirs) in QUERIES.iter().zip(ours).zip(theirs) {
        let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
        let value =
            format!("{}, DuckDB {}: {ratio:.2} ×", milliseconds(ours), milliseconds(theirs));
        row(name, &value);
    }
    row("memory after it", &process::memory(node.pid()).to_string());
    Ok(())
}

fn ask(connection: &mut Connection, sql: &str) -> Result<Duration> {
    let command = format!("sql {} format = mcp {sql}", rows::DBMS);
    let request = connection.get(&command);
    let mut times = Vec::new();
    for _ in 0..RUNS {
        interrupt::check()?;
        let begin = Instant::now();
        connection.ask(&request)?;
        times.push(begin.elapsed());
    }
    Ok(median(&mut times))
}
