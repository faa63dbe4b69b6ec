//! The rows that clients ask for: numbered, of ten devices.

use std::ops::Range;

use anyhow::{Result, bail};
use serde_json::{Value, json};

use crate::http::Client;

pub(super) const DATABASE: &str = "plant";
pub(super) const TABLE: &str = "readings";
/// More than fit into several answers, and of every device the same number.
pub(super) const ROWS: usize = 2_500;

/// Stores the rows with these numbers on a node.
pub(super) fn store(url: &str, numbers: Range<usize>) -> Result<()> {
    let rows: Vec<Value> = numbers.map(row).collect();
    let headers = [("type", "json"), ("dbms", DATABASE), ("table", TABLE)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let answer = Client::new().send("PUT", url, &headers, &Value::Array(rows).to_string())?;
    if !answer.status.is_success() {
        bail!("rows were not stored: {}: {}", answer.status, answer.body.trim());
    }
    Ok(())
}

fn row(number: usize) -> Value {
    let (minute, second) = (number / 60 % 60, number % 60);
    json!({
        "timestamp": format!("2026-01-01T{:02}:{minute:02}:{second:02}Z", number / 3600),
        "value": (number * 7919 % 1000) as f64 / 10.0 + 0.05,
        "device_name": format!("sensor-{}", number % 10),
        "n": number,
    })
}
