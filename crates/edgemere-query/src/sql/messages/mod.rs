//! What the library that plans and runs queries says, in our own words: what is wrong, and what to do
//! about it. Nothing else of what it says reaches a caller, and no name of a part of it.
//!
//! 1. `kinds` knows errors by their kind, and `phrases` the rest by how it is phrased.
//! 2. What neither knows is passed on when it is plain words ([`is_plain`]), without what stands in front.
//! 3. Everything else is reported as an id, under which [`log`] has the whole of it.

mod kinds;
mod phrases;
mod types;

use datafusion::common::Location;
use datafusion::error::DataFusionError;
use twox_hash::XxHash3_64;

/// The message of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// What is wrong.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) hint: Option<String>,
}

impl Told {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// The message of an error.
pub(crate) fn told(error: &DataFusionError) -> Told {
    let told = explained(error).unwrap_or_else(|| unexplained(error));
    let place = position(error);
    let place = place.map(|(line, column)| format!(" at line {line}, column {column} of the SQL"));
    Told { message: told.message + &place.unwrap_or_default(), ..told }
}

/// Writes an error to the log that is reported as an id.
pub(crate) fn log(error: &DataFusionError) {
    if explained(error).is_none() {
        let (id, reason) = (id(error), format!("{error:?}"));
        tracing::warn!(id, reason, "a query failed for a reason that its caller is told as an id");
    }
}

/// The message and the hint of an error that can be told.
fn explained(error: &DataFusionError) -> Option<Told> {
    let root = error.find_root();
    if let Some(told) = kinds::told(root) {
        return Some(told);
    }
    let text = said(root);
    phrases::told(&text).or_else(|| passed_on(root, &text))
}

/// What an error says itself, without what it is called and where in the library it arose.
fn said(root: &DataFusionError) -> String {
    let text = match root {
        DataFusionError::ArrowError(arrow, _) => arrow.to_string(),
        DataFusionError::Internal(text) => text.clone(),
        other => other.message().into_owned(),
    };
    let text = text.split(DataFusionError::BACK_TRACE_SEP).next().unwrap_or_default();
    without_prefixes(text).trim().to_owned()
}

/// What stands in front of a message and says only which part of the library it is of.
const PREFIXES: [&str; 18] = [
    "Error during planning: ",
    "Execution error: ",
    "External error: ",
    "Internal error: ",
    "Arrow error: ",
    "Parser error: ",
    "Cast error: ",
    "Compute error: ",
    "Json error: ",
    "Invalid argument error: ",
    "Schema error: ",
    "Divide by zero error: ",
    "Arithmetic overflow: ",
    "This feature is not implemented: ",
    "Not yet implemented: ",
    "Resources exhausted: ",
    "SQL error: ",
    "Parquet error: ",
];

fn without_prefixes(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(after) = PREFIXES.iter().find_map(|prefix| rest.strip_prefix(prefix)) {
        rest = after.trim_start();
    }
    rest
}

/// A message of plain words as it is.
fn passed_on(root: &DataFusionError, text: &str) -> Option<Told> {
    if matches!(root, DataFusionError::Internal(_)) || !is_plain(text) {
        return None;
    }
    let text = text.trim_end_matches(['.', '!', ' ']);
    let mut letters = text.chars();
    let (first, second) = (letters.next()?, letters.clone().next());
    // "NTILE requires …" stays as it is.
    let is_word = second.is_some_and(|second| second.is_lowercase());
    let first = if is_word { first.to_lowercase().to_string() } else { first.to_string() };
    let text = format!("{first}{}", letters.as_str());
    Some(match root {
        DataFusionError::NotImplemented(_) => Told::new(format!("not supported: {text}")),
        _ => Told::new(text),
    })
}

/// How long a message may be that is passed on, in bytes.
const PLAIN_BYTES_MAX: usize = 240;

/// What no message has that is for people: names of the library, of its types and of its parts.
const STRANGE: [&str; 45] = [
    "datafusion",
    "arrow",
    "parquet",
    "optimizer",
    "sqlparser",
    "plan",
    "udf",
    "coerc",
    "physical",
    "logical",
    "bug",
    "internal",
    "backtrace",
    "caused by",
    "schema",
    "signature",
    "datatype",
    "recordbatch",
    "scalarvalue",
    "columnar",
    "utf8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    "decimal128",
    "decimal256",
    "date32",
    "date64",
    "time32",
    "time64",
    "timestamp(",
    "interval(",
    "duration(",
    "list(",
    "struct(",
    "dictionary(",
    "exec",
    "ast node",
    "unwrap",
    "panic",
    "some(",
];

/// Whether a message is plain words, which tell of nothing but the query.
fn is_plain(text: &str) -> bool {
    let lower = text.to_lowercase();
    !text.is_empty()
        && text.len() <= PLAIN_BYTES_MAX
        && !text.contains(['\n', '{', '}', '/', '\\', '\u{1}'])
        && !has_path(text)
        && !STRANGE.iter().any(|strange| lower.contains(strange))
}

/// Whether a name has another's in front of it, as in code: `a::b`. A cast may stand in a message.
fn has_path(text: &str) -> bool {
    text.match_indices("::").any(|(place, _)| {
        text.get(..place).is_some_and(|before| before.ends_with(char::is_alphanumeric))
    })
}

fn unexplained(error: &DataFusionError) -> Told {
    let what = match error.find_root() {
        DataFusionError::NotImplemented(_) => "the query has something that is not supported",
        _ => "the query cannot be run as it is written",
    };
    let id = id(error);
    Told::new(format!("{what} ({id})"))
        .hint(format!("write it in another way; the node's log has the reason under {id}"))
}

/// An id of an error: the same for the same.
fn id(error: &DataFusionError) -> String {
    format!("q-{:08x}", XxHash3_64::oneshot(said(error.find_root()).as_bytes()) & 0xffff_ffff)
}

/// Where in the SQL it is wrong, from 1, where that is known.
fn position(error: &DataFusionError) -> Option<(u64, u64)> {
    let Location { line, column } = error.diagnostic()?.span?.start;
    (line > 0 && column > 0).then_some((line, column))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_plain_is_told_as_an_id() {
        let errors = [
            DataFusionError::Internal("a thing went wrong".into()),
            DataFusionError::Plan("LogicalPlan::Filter has no child".into()),
            DataFusionError::Execution("cannot open /home/x/rows/1.parquet".into()),
            DataFusionError::NotImplemented("Unsupported SubqueryExec { a: 1 }".into()),
            DataFusionError::Plan("x".repeat(PLAIN_BYTES_MAX + 1)),
        ];
        for error in errors {
            let Told { message, hint } = told(&error.context("Optimizer rule 'x' failed"));
            assert!(message.starts_with("the query ") && message.ends_with(')'), "{message}");
            assert!(hint.unwrap().contains("the node's log has the reason under q-"));
        }
    }

    #[test]
    fn what_is_plain_is_told_without_what_stands_in_front() {
        let error = DataFusionError::Execution("Month value '13' is out of range.".into());
        assert_eq!(told(&error), Told::new("month value '13' is out of range"));
        let error = DataFusionError::Plan("::timediff needs a time".into());
        assert_eq!(told(&error), Told::new("::timediff needs a time"));
        let error = DataFusionError::Plan("Execution error: NTILE requires a number".into());
        assert_eq!(told(&error), Told::new("NTILE requires a number"));
    }
}
