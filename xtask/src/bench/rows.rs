//! The rows that are sent, queried and streamed: those of EdgeLake's captures, with more devices.

use std::{
    fmt::Write,
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::connection::Connection;
use crate::interrupt;

pub(super) const DBMS: &str = "bench";
pub(super) const TABLE: &str = "readings";
/// How many devices there are.
const DEVICES: usize = 1_000;
/// How many rows a request has when rows are only there to be queried.
const LOAD_BATCH: usize = 10_000;
const LOADERS: usize = 2;
/// How long no file may change for a node to be quiet, and how long that is waited for.
const QUIET: Duration = Duration::from_secs(5);
const QUIET_WAIT_MAX: Duration = Duration::from_secs(120);

/// A JSON list of rows.
pub(super) fn json(rows: std::ops::Range<usize>) -> String {
    let mut text = String::from("[");
    for row in rows.clone() {
        if row > rows.start {
            text.push(',');
        }
        let (day, second) = (row / 86_400, row % 86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        // Writing to a text does not fail.
        let _ = write!(
            text,
            "{{\"timestamp\": \"2026-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z\", \
             \"value\": {:.3}, \"device_name\": \"sensor-{}\"}}",
            day / 28 % 12 + 1,
            day % 28 + 1,
            (row * 7919 % 100_000) as f64 / 1000.0 + 0.001,
            row % DEVICES,
        );
    }
    text.push(']');
    text
}

/// A request that stores rows as EdgeLake's users do.
pub(super) fn put(connection: &Connection, rows: std::ops::Range<usize>) -> Vec<u8> {
    let headers = [("type", "json"), ("dbms", DBMS), ("table", TABLE), ("mode", "streaming")];
    connection.request("PUT /", &headers, &json(rows))
}

/// Stores so many rows, and flushes them to Parquet files.
pub(super) fn load(address: SocketAddr, rows: std::ops::Range<usize>) -> Result<()> {
    load_with(address, rows, LOADERS)
}

/// The same in the order of the rows, and then waits until no file changes any more: two nodes that were
/// loaded so have the same files, and the same query reads as much on both. Returns the files' rows.
pub(super) fn load_in_order(address: SocketAddr, rows: std::ops::Range<usize>) -> Result<Vec<u64>> {
    load_with(address, rows, 1)?;
    let mut connection = Connection::open(address)?;
    let (begin, mut files, mut since) = (Instant::now(), Vec::new(), Instant::now());
    while since.elapsed() < QUIET && begin.elapsed() < QUIET_WAIT_MAX {
        interrupt::check()?;
        let now = partitions(&mut connection)?;
        if now != files {
            (files, since) = (now, Instant::now());
        }
        thread::sleep(QUIET / 10);
    }
    Ok(files)
}

/// How many rows each file of the table has.
fn partitions(connection: &mut Connection) -> Result<Vec<u64>> {
    let command =
        format!("get partitions where dbms = {DBMS} and table = {TABLE} and format = json");
    let request = connection.request("GET /", &[("command", &command)], "");
    let answer: Value = serde_json::from_str(&connection.ask(&request)?)?;
    let partitions = answer.as_array().into_iter().flatten();
    let mut rows: Vec<u64> = partitions.filter_map(|one| one.get("rows")?.as_u64()).collect();
    rows.sort_unstable();
    Ok(rows)
}

fn load_with(address: SocketAddr, rows: std::ops::Range<usize>, loaders: usize) -> Result<()> {
    let starts: Vec<usize> = rows.clone().step_by(LOAD_BATCH).collect();
    thread::scope(|scope| -> Result<()> {
        let one = |first: usize| {
            let mut connection = Connection::open(address)?;
            for &start in starts.iter().skip(first).step_by(loaders) {
                interrupt::check()?;
                let request = put(&connection, start..(start + LOAD_BATCH).min(rows.end));
                connection.ask(&request)?;
            }
            Ok::<_, anyhow::Error>(())
        };
        let loaders: Vec<_> = (0..loaders).map(|first| scope.spawn(move || one(first))).collect();
        for loader in loaders {
            loader.join().ok().context("a thread that stores rows failed")??;
        }
        Ok(())
    })?;
    let mut connection = Connection::open(address)?;
    let flush = connection.request("POST /", &[("command", "flush buffers")], "");
    connection.ask(&flush).map(drop)
}

/// How many rows a query sees.
pub(super) fn count(connection: &mut Connection) -> Result<usize> {
    count_with(connection, &[])
}

/// How many rows a query sees that is asked with these headers.
pub(super) fn count_with(connection: &mut Connection, headers: &[(&str, &str)]) -> Result<usize> {
    let command = format!("sql {DBMS} format = mcp select count(*) as n from {TABLE}");
    let mut headers = headers.to_vec();
    headers.push(("command", &command));
    let request = connection.request("GET /", &headers, "");
    let answer = connection.ask(&request)?;
    let rows: Value = serde_json::from_str(&answer)?;
    match rows.pointer("/0/n").and_then(Value::as_u64) {
        Some(count) => Ok(usize::try_from(count)?),
        None => bail!("no count in {answer}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_json() {
        let rows: Vec<Value> = serde_json::from_str(&json(86_399..86_401)).unwrap();
        assert_eq!(rows[0]["timestamp"], "2026-01-01T23:59:59Z");
        assert_eq!(rows[1]["timestamp"], "2026-01-02T00:00:00Z");
        assert_eq!(rows[1]["device_name"], "sensor-400");
    }
}
