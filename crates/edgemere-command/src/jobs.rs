//! Jobs: queries that run to their end with nobody reading. Who asks makes one, looks how far it is,
//! reads its rows as often as wanted, and has it cancelled or forgotten.
//!
//! The engine's `jobs` keeps the rows; here is who may ask, and what is reported of a job.

use std::sync::Arc;

use edgemere_query::sql::{Times, collect};
use edgemere_service::jobs::{Job, State, Status};
use serde_json::{Map, Value, json};

use crate::commands::sql::{Looks, ask};
use crate::commands::{milliseconds, operators_json};
use crate::destination::{Delivery, Destination};
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::rows::Rows;
use crate::format::source::Source;
use crate::format::{Rendered, render};
use crate::node::Node;
use crate::placement::is_elsewhere;
use crate::reply::Reply;
use edgemere_service::Principal;

/// A query that is to be a job.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The database.
    pub dbms: &'a str,
    /// Options of the `sql` command, as `max_time = 10`; may be empty.
    pub options: &'a str,
    /// The statement.
    pub sql: &'a str,
    /// Whose rows are asked: `network` or `local`. Without it this node's, or the network's when this node
    /// has nothing of the database.
    pub destination: Option<&'a str>,
    /// Whether the rows of some operators will do when others do not answer.
    pub subset: bool,
}

/// Begins a job, and tells what is known of it. What is wrong with the query is reported at once.
pub async fn start(
    node: &Arc<Node>,
    principal: &Principal,
    question: &Question<'_>,
) -> Result<Value, Error> {
    let jobs = node.jobs();
    jobs.admit()?;
    let Question { dbms, options, sql, destination, subset } = *question;
    let on_network = match destination {
        None => is_elsewhere(node, &dbms.to_lowercase()),
        Some(destination) => is_network(destination)?,
    };
    let delivery = Delivery { subset, timeout: None, edgelake: false };
    let context = Context { delivery, on_network, ..context(node, principal) };
    let query = ask(dbms, options, sql, &context).await?;
    let job = jobs.start(principal.name(), query).await?;
    Ok(told(&jobs.status(&job)))
}

/// All jobs of the principal, the oldest first.
#[must_use]
pub fn all(node: &Node, principal: &Principal) -> Value {
    let jobs = node.jobs();
    jobs.all(principal.name()).iter().map(|job| told(&jobs.status(job))).collect()
}

/// What is known of a job.
pub fn status(node: &Node, principal: &Principal, id: &str) -> Result<Value, Error> {
    let job = find(node, principal, id)?;
    Ok(told(&node.jobs().status(&job)))
}

/// The rows of a job: those that are there, and while it runs those that come. The options are those
/// of the `sql` command that say how rows look, as `format = batch and limit = 100`.
pub async fn rows(
    node: &Arc<Node>,
    principal: &Principal,
    id: &str,
    options: &str,
) -> Result<Rendered, Error> {
    let looks = Looks::parse(options, &context(node, principal))?;
    let mut source = Source::from(find(node, principal, id)?.read().await?);
    let reply = match looks.limit {
        Some(limit) => Reply::collected(collect(source, limit).await?, Times::Plain),
        None => {
            source.begin().await?;
            Reply::rows(Rows::new(source, looks.rows_at_once))
        }
    };
    render(reply, &looks.output)
}

/// Cancels a job that runs, and tells what is known of it; forgets one that has ended.
pub async fn remove(node: &Node, principal: &Principal, id: &str) -> Result<Option<Value>, Error> {
    let jobs = node.jobs();
    let job = find(node, principal, id)?;
    let was_running = jobs.remove(&job).await;
    Ok(was_running.then(|| told(&jobs.status(&job))))
}

/// Whether a job asks the network, and not this node.
fn is_network(destination: &str) -> Result<bool, Error> {
    let parsed = Destination::from_text(destination)?;
    match parsed.is_one_database() {
        true => Ok(!parsed.is_local()),
        false => Err(Error::NoDestination {
            destination: destination.to_owned(),
            hint:
                "a job asks all operators (\"network\") or this node (\"local\"): send a query for \
                   single nodes without a job"
                    .into(),
        }),
    }
}

fn find(node: &Node, principal: &Principal, id: &str) -> Result<Arc<Job>, Error> {
    Ok(node.jobs().get(principal.name(), id)?)
}

fn context<'a>(node: &'a Arc<Node>, principal: &'a Principal) -> Context<'a> {
    let delivery = Delivery { subset: false, timeout: None, edgelake: false };
    Context { node, principal, delivery, on_network: false, nodes: None, scripts: 0, own: None }
}

/// What is reported of a job.
fn told(status: &Status) -> Value {
    let (state, error) = match &status.state {
        State::Running => ("running", None),
        State::Completed => ("completed", None),
        State::Failed(error) => ("failed", Some(Error::from(error.clone()))),
        State::Cancelled => ("cancelled", None),
    };
    let query = &status.query;
    let mut job = Map::new();
    let mut add = |key: &str, value: Value| job.insert(key.into(), value);
    add("id", status.id.as_str().into());
    add("state", state.into());
    add("job", query.id.into());
    add("dbms", query.dbms.as_str().into());
    add("sql", query.sql.as_str().into());
    add("started", query.started.to_string().into());
    add("run_time_ms", milliseconds(status.elapsed).into());
    add("first_row_ms", json!(query.first_rows.map(milliseconds)));
    add("rows", status.rows.into());
    add("bytes", status.bytes.into());
    add("operators", operators_json(&query.operators));
    error.map(|error| add("error", Value::Object(error.to_object())));
    status.kept_until.map(|until| add("kept_until", until.to_string().into()));
    Value::Object(job)
}
