//! `query status`: how far queries are, and how they ended.

use std::fmt;
use std::time::Duration;

use edgemere_engine::sql::{State, Status as Query};
use serde_json::{Value, json};

use super::Which;
use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Status {
    which: Which,
    options: Options,
}

impl Declared for Status {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "query status",
        usage: "query status [NUMBER|all] [where format = FORMAT]",
        about: "How far the last query is, or one, or all that run and the last hundred that ran.",
        details: "Who asked, when, after what time the first rows came, and how many rows and blocks \
                  of them were given so far. \"query cancel NUMBER\" ends one.",
        examples: &["query status", "query status all where format = json", "query status 8"],
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let which = Which::parse(cursor)?;
        Ok(Self { which, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.which, self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let queries = self.which.find(context.node.engine().sql().queries())?;
        let columns = [
            "Job",
            "Started",
            "By",
            "DBMS",
            "Run Time",
            "First Row",
            "Status",
            "Blocks",
            "Rows",
            "Command",
        ];
        let mut table = Table::new(columns);
        for query in &queries {
            table.push(row(query));
        }
        Ok(Reply::table(table).with_json(queries.iter().map(object).collect()))
    }
}

fn row(query: &Query) -> [Value; 10] {
    let status = match &query.state {
        State::Failed(reason) => format!("Failed: {reason}"),
        state => name(state).to_owned(),
    };
    [
        json!(query.id),
        json!(query.started.strftime("%Y-%m-%d %H:%M:%S").to_string()),
        json!(query.caller),
        json!(query.dbms),
        json!(clock(query.elapsed)),
        json!(query.first_rows.map(clock)),
        json!(status),
        json!(query.batches),
        json!(query.rows),
        json!(query.sql),
    ]
}

fn object(query: &Query) -> Value {
    let error = match &query.state {
        State::Failed(reason) => Some(reason),
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
    })
}

fn name(state: &State) -> &'static str {
    match state {
        State::Running => "Running",
        State::Completed => "Completed",
        State::Failed(_) => "Failed",
        State::Cancelled => "Cancelled",
    }
}

/// `00:01:02.003`.
fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{:03}", seconds % 60, time.subsec_millis())
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
