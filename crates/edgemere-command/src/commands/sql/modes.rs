//! `limit = 100`, `batch_rows = 100`: how many rows are collected, and how many an event has.

use crate::dispatch::Context;
use crate::error::Error;
use crate::format::Format;
use crate::language::options::Options;

/// How many rows are collected when nobody says otherwise, and at most.
const LIMIT: usize = 10_000;
const LIMIT_MAX: usize = 1_000_000;

/// How many rows an event has when nobody says otherwise, and at most.
const BATCH_ROWS: usize = 100;
const BATCH_ROWS_MAX: usize = 100_000;

/// The most rows of `format = batch`; of every other format the statement's own LIMIT is right.
pub(super) fn limit(options: &Options, context: &Context<'_>) -> Result<Option<usize>, Error> {
    let limit = rows(options, context, "limit", LIMIT_MAX)?;
    match (options.output.format, limit) {
        (Some(Format::Batch), limit) => Ok(Some(limit.unwrap_or(LIMIT))),
        (_, None) => Ok(None),
        (_, Some(limit)) => Err(Error::BadValue {
            key: "limit".into(),
            value: limit.to_string(),
            expected: "\"format = batch\" beside it, or LIMIT in the SQL".into(),
            at: None,
        }),
    }
}

/// How many rows an event has.
pub(super) fn rows_at_once(options: &Options, context: &Context<'_>) -> Result<usize, Error> {
    Ok(rows(options, context, "batch_rows", BATCH_ROWS_MAX)?.unwrap_or(BATCH_ROWS))
}

fn rows(
    options: &Options,
    context: &Context<'_>,
    key: &str,
    max: usize,
) -> Result<Option<usize>, Error> {
    let Some(term) = options.get(key) else { return Ok(None) };
    let text = term.text(context.variables())?;
    let rows = text.parse().ok().filter(|rows| (1..=max).contains(rows));
    rows.map(Some).ok_or_else(|| Error::BadValue {
        key: key.into(),
        value: text,
        expected: format!("1 to {max} rows"),
        at: None,
    })
}
