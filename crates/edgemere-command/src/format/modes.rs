//! The rows of a query for programs: collected in one object, and as events one after the other.

use std::fmt::Write;

use edgemere_query::sql::{Batch, Collected, Event, Events, Times, events};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use serde_json::json;

use super::rows::Rows;
use super::source::Source;
use super::{Content, Media, Rendered, Sources};
use crate::error::Error;
use edgemere_service::Kind;

/// How events are distinguished on their way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Each on a line of its own.
    Line,
    /// As server-sent events.
    ServerSent,
}

/// `{"rows":[…],"total_rows":n}`, with `"truncated":true` when there are more.
pub(super) fn batch(collected: &Collected, times: Times) -> Result<Rendered, Error> {
    let mut text = String::from("{\"rows\":[");
    for (index, batch) in collected.rows.iter().enumerate() {
        push_rows(&mut text, batch, times, index == 0)?;
    }
    // Writing to a text does not fail.
    let _ = write!(text, "],\"total_rows\":{}", collected.total_rows);
    if collected.truncated {
        text.push_str(",\"truncated\":true");
    }
    let sources = Sources::Operators {
        shares: collected.operators.clone(),
        missing_rows: collected.missing_rows.clone(),
    };
    let missing = sources.missing();
    if !missing.is_empty() {
        let _ = write!(text, ",\"missing\":{}", json!(missing));
    }
    text.push('}');
    Ok(Rendered { media: Media::Json, content: Content::Whole(text), sources })
}

/// Rows as events, the last of which says that it was all, or why it was not.
pub(super) fn events_of(rows: Rows, frame: Frame) -> Rendered {
    let Rows { query, times, rows_at_once, .. } = rows;
    let sources = Sources::of_rows(&query);
    let told = unfold(Some(events(query, rows_at_once)), move |events| async move {
        let mut events = events?;
        let (text, is_last) = match told(&mut events, times).await? {
            Ok(told) => told,
            Err(error) => (failure(&error), true),
        };
        let text = match frame {
            Frame::Line => format!("{text}\n"),
            Frame::ServerSent => format!("data: {text}\n\n"),
        };
        Some((Ok(text.into_bytes()), (!is_last).then_some(events)))
    });
    let media = match frame {
        Frame::Line => Media::Ndjson,
        Frame::ServerSent => Media::EventStream,
    };
    Rendered { media, content: Content::Stream(told.boxed()), sources }
}

/// The next event as JSON, and whether it is the last.
async fn told(events: &mut Events<Source>, times: Times) -> Option<Result<(String, bool), Error>> {
    Some(match events.next().await? {
        Ok(Event::Rows(batch)) => data(&batch, times).map(|text| (text, false)),
        Ok(Event::Complete { total_rows, missing }) => {
            let complete = match missing.is_empty() {
                true => json!({ "type": "complete", "total_rows": total_rows }),
                false => json!({
                    "type": "complete", "total_rows": total_rows, "missing": missing,
                }),
            };
            Ok((complete.to_string(), true))
        }
        Err(error) => Err(error),
    })
}

fn data(batch: &Batch, times: Times) -> Result<String, Error> {
    let mut text = String::from("{\"type\":\"data\",\"rows\":[");
    push_rows(&mut text, batch, times, true)?;
    let _ = write!(text, "],\"row_count\":{}}}", batch.rows());
    Ok(text)
}

/// The event that says why there are no more rows.
fn failure(error: &Error) -> String {
    let message = error.message();
    match error.kind() {
        Kind::Internal => tracing::error!(error = message, "a query failed in the middle"),
        _ => tracing::info!(error = message, "a query ended in the middle"),
    }
    json!({ "type": "error", "error": error.to_object() }).to_string()
}

/// Rows as the elements of a list of objects, a comma before each but the very first.
fn push_rows(text: &mut String, batch: &Batch, times: Times, is_first: bool) -> Result<(), Error> {
    text.push_str(&super::rows::joined(&batch.json_objects(times)?, is_first));
    Ok(())
}
