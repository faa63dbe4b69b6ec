//! The table that all servers have: a row a second, of fifty devices.

use std::{fmt::Write, fs, net::SocketAddr, path::Path};

use anyhow::{Context, Result};

use crate::{bench::connection::Connection, interrupt};

pub(super) const DATABASE: &str = "bench";
pub(super) const TABLE: &str = "sensors";
const ROWS: usize = 100_000;
/// How many rows are sent at once.
const BATCH: usize = 10_000;

/// The rows as CSV with a header: those that the peers have, or as many of the same kind.
pub(super) fn csv(peers: Option<&Path>) -> Result<String> {
    match peers {
        Some(folder) => {
            let file = folder.join("sensors.csv");
            fs::read_to_string(&file).with_context(|| {
                let file = file.display();
                format!("cannot read {file}: set the peers up with xtask/bench/peers/peers.sh")
            })
        }
        None => Ok(generated()),
    }
}

fn generated() -> String {
    let mut text = String::from("ts,device,value\n");
    for row in 0..ROWS {
        let (day, second) = (row / 86_400 + 1, row % 86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let value = (row * 7919 % 30_000) as f64 / 1000.0 + 5.0;
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "2026-01-{day:02} {hour:02}:{minute:02}:{second:02},dev{:02},{value:.3}",
            row % 50
        );
    }
    text
}

/// Stores the rows on a node, and has them settle into Parquet files.
pub(super) fn load(address: SocketAddr, csv: &str) -> Result<()> {
    let rows: Vec<&str> = csv.lines().skip(1).collect();
    let mut connection = Connection::open(address)?;
    for batch in rows.chunks(BATCH) {
        interrupt::check()?;
        let headers = [("type", "json"), ("dbms", DATABASE), ("table", TABLE)];
        let request = connection.request("PUT /", &headers, &json(batch)?);
        connection.ask(&request)?;
    }
    let flush = connection.request("POST /", &[("command", "flush buffers")], "");
    connection.ask(&flush).map(drop)
}

/// Lines of CSV as a JSON list.
fn json(lines: &[&str]) -> Result<String> {
    let mut text = String::from("[");
    for (index, line) in lines.iter().enumerate() {
        let mut cells = line.split(',');
        let mut next = || cells.next().with_context(|| format!("a cell is missing in {line}"));
        let (ts, device, value) = (next()?, next()?, next()?.trim());
        let comma = if index == 0 { "" } else { "," };
        // Writing to a text does not fail.
        let _ =
            write!(text, "{comma}{{\"ts\":\"{ts}\",\"device\":\"{device}\",\"value\":{value}}}");
    }
    text.push(']');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn rows_of_csv_become_json() {
        let csv = generated();
        let lines: Vec<&str> = csv.lines().skip(1).collect();
        assert_eq!(lines.len(), ROWS);
        let rows: Value = serde_json::from_str(&super::json(&lines).unwrap()).unwrap();
        let first = json!({ "ts": "2026-01-01 00:00:00", "device": "dev00", "value": 5.0 });
        assert_eq!(rows[0], first);
        assert_eq!(rows[99_999]["ts"], "2026-01-02 03:46:39");
        assert!(super::json(&["a,b"]).is_err());
    }
}
