//! A table of many rows, all of it as NDJSON: how soon it begins, how fast it goes, and what memory
//! it takes.

use std::{path::Path, time::Instant};

use anyhow::{Result, bail};
use serde_json::json;

use super::{
    Args, SPEC, connection::Connection, milliseconds, process, row, rows, seconds, thousands,
};
use crate::{interrupt, node::Node};

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let node = Node::start(binary, SPEC)?;
    let wanted = args.rows * 2;
    rows::load(node.bound.http, 0..wanted)?;
    row("rows", &thousands(wanted as f64));
    row("memory after they came in", &process::memory(node.pid()).to_string());
    // What coming in took is not what going out takes.
    let node = node.restart(binary)?;
    let idle = process::memory(node.pid());
    row("idle memory of the node, started again with these rows", &idle.to_string());
    process::forget_peak(node.pid())?;
    let connection = Connection::open(node.bound.http)?;
    let sql = format!("select * from {}", rows::TABLE);
    let body = json!({"dbms": rows::DBMS, "sql": sql}).to_string();
    let headers = [("Accept", "application/x-ndjson"), ("Content-Type", "application/json")];
    let request = connection.request("POST /api/v1/sql", &headers, &body);
    let begin = Instant::now();
    let (mut lines, mut bytes, mut first) = (0, 0, None);
    connection.pieces(&request, |piece| {
        first.get_or_insert_with(|| begin.elapsed());
        bytes += piece.len();
        lines += piece.iter().filter(|byte| **byte == b'\n').count();
        interrupt::check()
    })?;
    let elapsed = begin.elapsed();
    if lines != wanted {
        bail!("{lines} rows came of {wanted}");
    }
    row("first rows after", &milliseconds(first.unwrap_or_default()));
    let rate = lines as f64 / elapsed.as_secs_f64();
    let megabytes = bytes as f64 / 1e6 / elapsed.as_secs_f64();
    let value = format!("{}: {} rows/s, {megabytes:.0} MB/s", seconds(elapsed), thousands(rate));
    row("all rows as NDJSON after", &value);
    let peak = process::peak(node.pid());
    row("peak memory above idle", &peak.above(idle).to_string());
    Ok(())
}
