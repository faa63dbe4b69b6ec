//! What is reported of a query and of what each operator does for it, in every command that tells it.

use std::time::Duration;

use edgemere_query::distributed::{OperatorProgress, State};
use edgemere_query::sql::{State as Ended, Status};
use serde_json::{Value, json};

/// What is shown of a query that was not sent to operators.
pub(crate) const LOCAL: &str = "local";

/// What is shown of all operators together, as EdgeLake shows it.
pub(crate) const ALL: &str = "All";

/// The operators of a query, an object each.
pub(crate) fn operators_json(shares: &[OperatorProgress]) -> Value {
    shares.iter().map(object).collect()
}

fn object(share: &OperatorProgress) -> Value {
    json!({
        "address": share.operator.address,
        "name": share.operator.name,
        "state": match share.state {
            State::Waiting => "waiting",
            State::Running => "running",
            State::Done => "done",
            State::Failed => "failed",
            State::Missing => "missing",
        },
        "rows": share.rows,
        "bytes": share.bytes,
        "rows_read": share.rows_read,
        "time_ms": milliseconds(share.time),
        "error": share.error.as_ref().map(ToString::to_string),
    })
}

/// What an operator does, in EdgeLake's words, with the reason when it does not do it.
pub(crate) fn share_status(share: &OperatorProgress) -> String {
    let state = match share.state {
        State::Waiting => "Waiting",
        State::Running => "Running",
        State::Done => "Completed",
        State::Failed => "Failed",
        State::Missing => "Missing",
    };
    match &share.error {
        Some(error) => format!("{state}: {error}"),
        None => state.to_owned(),
    }
}

/// How a query is doing, in EdgeLake's words, with the reason when it failed.
pub(crate) fn status(query: &Status) -> String {
    match &query.state {
        Ended::Failed(reason) => format!("Failed: {reason}"),
        state => name(state).to_owned(),
    }
}

/// How a query is doing, in one of EdgeLake's words.
pub(crate) fn name(state: &Ended) -> &'static str {
    match state {
        Ended::Running => "Running",
        Ended::Completed => "Completed",
        Ended::Failed(_) => "Failed",
        Ended::Cancelled => "Cancelled",
    }
}

/// What is known of a query, for programs.
pub(crate) fn query_json(query: &Status) -> Value {
    let error = match &query.state {
        Ended::Failed(reason) => Some(reason),
        _ => None,
    };
    json!({
        "job": query.id,
        "started": query.started.to_string(),
        "by": query.caller,
        "dbms": query.dbms,
        "sql": query.sql,
        "status": name(&query.state),
        "error": error,
        "blocks": query.batches,
        "rows": query.rows,
        "run_time_ms": milliseconds(query.elapsed),
        "first_row_ms": query.first_rows.map(milliseconds),
        "operators": operators_json(&query.operators),
    })
}

/// `00:01:02.003`.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{:03}", seconds % 60, time.subsec_millis())
}

/// A time in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(crate) mod tests {
    use edgemere_query::distributed::{Error, Operator};

    /// Why the second operator's rows are missing.
    pub(crate) const AWAY: &str = "operator b (127.0.0.1:32158) cannot be reached: refused";

    use super::*;

    fn share(name: &str, port: u16) -> OperatorProgress {
        let address = format!("127.0.0.1:{port}");
        OperatorProgress {
            operator: Operator {
                id: name.into(),
                name: name.into(),
                address,
                ..Operator::default()
            },
            state: State::Done,
            rows: 20,
            bytes: 640,
            rows_read: 20,
            has_told_read: true,
            time: Duration::from_millis(250),
            error: None,
        }
    }

    /// A query that waits for the second of its operators.
    pub(crate) fn on_two_operators() -> Status {
        let missing = OperatorProgress {
            state: State::Missing,
            rows: 0,
            bytes: 0,
            rows_read: 0,
            has_told_read: false,
            time: Duration::from_secs(60),
            error: Some(Error::Unreachable {
                operator: share("b", 32158).operator,
                reason: "refused".into(),
            }),
            ..share("b", 32158)
        };
        Status {
            id: 8,
            caller: "ann".into(),
            dbms: "d".into(),
            sql: "select v from t".into(),
            started: "2026-01-02T03:04:05Z".parse().unwrap(),
            state: Ended::Running,
            elapsed: Duration::from_millis(1500),
            first_rows: Some(Duration::from_millis(20)),
            batches: 2,
            rows: 20,
            plan: None,
            operators: vec![share("a", 32148), missing],
        }
    }

    #[test]
    fn a_failure_has_its_reason() {
        let failed = Status { state: Ended::Failed("no".into()), ..on_two_operators() };
        assert_eq!(status(&failed), "Failed: no");
        assert_eq!(query_json(&failed)["error"], "no");
        let missing = on_two_operators().operators.pop().unwrap();
        assert_eq!(share_status(&missing), format!("Missing: {AWAY}"));
    }
}
