//! The start of a node that has many tables.

use std::path::Path;

use anyhow::Result;

use super::{Args, SPEC, connection::Connection, milliseconds, process, row};
use crate::{interrupt, node::Node};

pub(super) fn run(binary: &Path, args: &Args) -> Result<()> {
    let node = Node::start(binary, SPEC)?;
    let mut connection = Connection::open(node.bound.http)?;
    for number in 0..args.tables {
        interrupt::check()?;
        let table = format!("table_{number}");
        let headers = [("type", "json"), ("dbms", "bench"), ("table", table.as_str())];
        let rows = r#"[{"timestamp": "2026-01-01T00:00:00Z", "value": 1.5}]"#;
        let request = connection.request("PUT /", &headers, rows);
        connection.ask(&request)?;
    }
    drop(connection);
    let node = node.restart(binary)?;
    row(&format!("start with {} tables", args.tables), &milliseconds(node.started_in));
    row("memory with these tables", &process::memory(node.pid()).to_string());
    Ok(())
}
