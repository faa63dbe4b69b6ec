//! `get rest calls`: how many REST calls came from whom, and how many failed.

use std::sync::PoisonError;

use jiff::tz::TimeZone;
use serde_json::json;

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct RestCalls;

impl Report for RestCalls {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get rest calls",
        usage: "get rest calls [where format = FORMAT]",
        about: "Counts the REST calls of each caller by method, and how many failed.",
        details: "\
It counts the commands at \"/\" and rows sent with PUT since the node started. Times are in UTC. \
EdgeLake's column with the address of the last caller is left out.",
        examples: &["get rest calls", "get rest calls where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let mut table = Table::new([
            "Caller",
            "Call",
            "Processed",
            "Errors",
            "Last Error",
            "First Call",
            "Last Call",
        ])
        .titled("Statistics")
        .grouped_by(1);
        let calls = &context.node.activity.rest_calls;
        for ((caller, method), calls) in calls.lock().unwrap_or_else(PoisonError::into_inner).iter()
        {
            table.push([
                json!(caller),
                json!(method),
                json!(calls.processed),
                json!(calls.errors),
                json!(calls.last_error),
                json!(shown(calls.first)),
                json!(shown(calls.last)),
            ]);
        }
        Ok(Reply::table(table))
    }
}

/// A time to the second.
fn shown(time: jiff::Timestamp) -> String {
    time.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
