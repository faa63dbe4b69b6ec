//! Rows that are sent while they come: a hundred at a time as progress, in the messages of `format =
//! events`, and an answer at the end that says how many there were.

use std::time::Instant;

use edgemere_command::results::ResultRows;
use edgemere_command::sync::LedgerAge;
use edgemere_command::{Content, Kind};
use futures_util::StreamExt;
use mcp_serve::{Call, Outcome};
use serde_json::{Value, json};

use super::Provenance;
use crate::commands::{Events, Failure};

/// Sends all rows of a query that runs here as they come, and gives the answer that says that it was all.
pub(crate) async fn outcome(
    rows: ResultRows,
    call: &Call,
    node: String,
    ledger: Option<LedgerAge>,
) -> Result<Outcome, Failure> {
    let columns: Vec<_> = rows.columns().into_iter().map(|column| column.name).collect();
    let (watched, started) = (rows.watched(), Instant::now());
    let rendered = rows.render(edgemere_command::Format::Events);
    let Content::Stream(messages) = rendered.content else {
        return Ok(Outcome::structured(json!({ "columns": columns, "rows": [] })));
    };
    let messages = messages.map(|message| Ok(String::from_utf8(message?).unwrap_or_default()));
    let mut events = Events { columns, messages: messages.boxed() };
    let told = tell(&mut events, call).await?;
    let status = watched.map(|watched| watched.status());
    let time = status.as_ref().map_or(started.elapsed(), |status| status.elapsed);
    let shares = status.map(|status| status.operators).unwrap_or_default();
    let provenance = Provenance::of_operators(&shares, node, time).with_ledger(ledger);
    Ok(told.outcome(events.columns, &provenance))
}

/// The same with what another node sends.
pub(crate) async fn from_afar(
    mut events: Events,
    call: &Call,
    node: String,
) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let told = tell(&mut events, call).await?;
    let missing = told.last.get("missing").and_then(Value::as_array).into_iter().flatten();
    let missing = missing.filter_map(|name| name.as_str().map(ToOwned::to_owned)).collect();
    let provenance = Provenance { missing, ..Provenance::of_node(node, started.elapsed()) };
    Ok(told.outcome(events.columns, &provenance))
}

/// What was told.
struct Told {
    rows: u64,
    last: Value,
}

/// Tells every message as progress.
async fn tell(events: &mut Events, call: &Call) -> Result<Told, Failure> {
    let mut told = Told { rows: 0, last: Value::Null };
    while let Some(message) = events.messages.next().await {
        let message = message?;
        told.last = serde_json::from_str(&message).unwrap_or_default();
        told.rows += told.last.get("row_count").and_then(Value::as_u64).unwrap_or(0);
        // What is reported must grow, and the last message has no rows.
        let rows = told.rows as f64;
        let done = if is_data(&told.last) { rows } else { rows + 0.5 };
        call.progress(done, None, Some(message.trim_end().to_owned())).await;
    }
    match is_data(&told.last) || told.last.is_null() {
        // Without a last message nobody knows whether it was all.
        true => Err(Failure::new(
            Kind::Unavailable,
            format!("the rows were cut off after {}", told.rows),
            Some("ask again; what came is not the whole result".into()),
        )),
        false => Ok(told),
    }
}

impl Told {
    fn outcome(self, columns: Vec<String>, provenance: &Provenance) -> Outcome {
        let sent = self.rows;
        let error = self.last.pointer("/error/local_msg").or(self.last.pointer("/error/err_text"));
        if let Some(message) = error {
            let message = message.as_str().unwrap_or_default();
            return Outcome::error(format!("after {sent} rows: {message}"));
        }
        Outcome::structured(json!({
            "columns": columns,
            "rows": [],
            "row_count": sent,
            "truncated": false,
            "streamed": true,
            "provenance": provenance.to_value(),
        }))
    }
}

fn is_data(event: &Value) -> bool {
    event.get("type").and_then(Value::as_str) == Some("data")
}
