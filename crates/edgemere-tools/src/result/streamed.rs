//! Rows that are sent while they come: a hundred at a time as progress, in the messages of `format =
//! events`, and an answer at the end that says how many there were.

use std::time::Duration;

use edgemere_command::Content;
use edgemere_command::results::ResultRows;
use futures_util::StreamExt;
use mcp_serve::{Call, Outcome};
use serde_json::{Value, json};

use super::Provenance;
use crate::commands::Failure;

/// Sends all rows as they come, and gives the answer that says that it was all.
pub(crate) async fn outcome(
    rows: ResultRows,
    call: &Call,
    node: String,
) -> Result<Outcome, Failure> {
    let columns: Vec<_> = rows.columns().into_iter().map(|column| column.name).collect();
    let watched = rows.watched();
    let rendered = rows.render(edgemere_command::Format::Events);
    let Content::Stream(mut events) = rendered.content else {
        return Ok(Outcome::structured(json!({ "columns": columns, "rows": [] })));
    };
    let mut sent = 0_u64;
    let mut last = Value::Null;
    while let Some(event) = events.next().await {
        let event = String::from_utf8(event?).unwrap_or_default();
        last = serde_json::from_str(&event).unwrap_or_default();
        sent += last.get("row_count").and_then(Value::as_u64).unwrap_or(0);
        // What is told must grow, and the last event has no rows.
        let done = if is_data(&last) { sent as f64 } else { sent as f64 + 0.5 };
        call.progress(done, None, Some(event.trim_end().to_owned())).await;
    }
    if let Some(message) = last.pointer("/error/local_msg").or(last.pointer("/error/err_text")) {
        let message = message.as_str().unwrap_or_default();
        return Ok(Outcome::error(format!("after {sent} rows: {message}")));
    }
    let status = watched.map(|watched| watched.status());
    let time = status.as_ref().map_or(Duration::ZERO, |status| status.elapsed);
    let shares = status.map(|status| status.operators).unwrap_or_default();
    let provenance = Provenance::of_operators(&shares, node, time);
    Ok(Outcome::structured(json!({
        "columns": columns,
        "rows": [],
        "row_count": sent,
        "truncated": false,
        "streamed": true,
        "provenance": provenance.to_value(),
    })))
}

fn is_data(event: &Value) -> bool {
    event.get("type").and_then(Value::as_str) == Some("data")
}
