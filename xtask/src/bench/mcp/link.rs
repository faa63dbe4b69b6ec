//! A result of many rows as an agent gets it: the first rows in the answer, and all through its link.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::client::Client;
use crate::{
    bench::{Args, SPEC, connection::Connection, process, row, rows, seconds, thousands},
    interrupt,
    node::{Joining, Node},
};

/// How often it is looked at the memory on the way.
const LOOKS: usize = 5;

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let wanted = args.rows * 2;
    let node = Node::join(binary, SPEC, Joining::First)?;
    rows::load(node.bound.http, 0..wanted)?;
    // What coming in took is not what going out takes.
    let node = node.restart(binary)?;
    let idle = process::memory(node.pid());
    process::forget_peak(node.pid())?;
    let begin = Instant::now();
    let path = link(&node)?;
    let answered = begin.elapsed();
    let connection = Connection::open(node.bound.http)?;
    let request = connection.request(&format!("GET {path}"), &[], "");
    let (mut lines, mut first, mut own) = (0, None, Vec::new());
    connection.pieces(&request, |piece| {
        first.get_or_insert_with(|| begin.elapsed());
        lines += piece.iter().filter(|byte| **byte == b'\n').count();
        if lines * LOOKS > wanted * own.len() {
            own.push(process::own_memory(node.pid()).to_string());
        }
        interrupt::check()
    })?;
    let elapsed = begin.elapsed();
    if lines != wanted {
        bail!("{lines} rows came of {wanted}");
    }
    let rate = thousands(lines as f64 / elapsed.as_secs_f64());
    let first = seconds(first.unwrap_or_default());
    let answered = seconds(answered);
    let value = format!(
        "{}: {rate} rows/s; the answer after {answered}, the link's first rows after {first}",
        seconds(elapsed)
    );
    row(&format!("{} rows through the link", thousands(wanted as f64)), &value);
    row("its own memory, meanwhile", &own.join(", "));
    let peak = process::peak(node.pid());
    row("peak memory of the node for it", &format!("{peak}, {} above idle", peak.above(idle)));
    Ok(())
}

/// Asks for all rows, and gives the path that the answer's link has on the node.
fn link(node: &Node) -> Result<String> {
    let mut client = Client::open(node.bound.http)?;
    let sql = format!("select * from {}", rows::TABLE);
    let message = client.call("sql", &json!({ "database": rows::DBMS, "sql": sql }));
    let result = client.result(&message)?;
    let blocks = result.get("content").and_then(Value::as_array).into_iter().flatten();
    let mut links = blocks.filter_map(|block| block.get("uri")?.as_str());
    let link = links.next().context("the answer has no link")?;
    let path = link.strip_prefix(&node.url()).with_context(|| format!("{link} is elsewhere"))?;
    Ok(path.to_owned())
}
