//! Answers for programs that take rows as they can: a page at a time, the next one later, or all of them
//! as a stream.
//!
//! 1. [`answer`] carries out a request like [`crate::execute`], and leaves the rows of a query as rows.
//! 2. [`ResultRows::page`] takes as many as fit a budget. What is left can be kept under a cursor
//!    ([`keep_rest`]) that `query fetch` goes on from.
//! 3. [`keep_question`] keeps what was asked, so that [`open`] gives the whole result to somebody who
//!    only has its id.

mod kept;

use std::sync::Arc;
use std::time::Duration;

use edgemere_query::distributed::OperatorProgress;
use edgemere_query::sql::{Error as SqlError, ResultColumn, Rows as _, Times, Watched};
use edgemere_service::Error as ServiceError;
use serde_json::value::RawValue;

pub use self::kept::CursorFigures;
pub(crate) use self::kept::Kept;
use crate::destination::{Delivery, Destination};
use crate::dispatch::{Context, Outcome, Request, is_for_network, reply_to};
use crate::error::Error;
use crate::format::rows::{self, Rows};
use crate::format::{Format, Rendered, render};
use crate::node::Node;
use crate::reply::Body;
use edgemere_service::Principal;

/// The formats of a whole result.
pub const WHOLE_FORMATS: [Format; 4] =
    [Format::Ndjson, Format::Csv, Format::Arrow, Format::Parquet];

/// What a command answers.
#[derive(Debug)]
pub enum Answer {
    /// A reply with its looks.
    Reply(Rendered),
    /// The rows of a query.
    Rows(Box<ResultRows>),
}

/// Carries out a request, and leaves the rows of a query to whoever takes them.
pub async fn answer(node: &Arc<Node>, request: &Request) -> Outcome<Answer> {
    let (command, result) = reply_to(node, request).await;
    let result = result.and_then(|(reply, output)| match reply.body {
        Body::Rows(rows) => Ok(Answer::Rows(Box::new(ResultRows(rows)))),
        _ => render(reply, &output).map(Answer::Reply),
    });
    Outcome { command, result }
}

/// The rows of a query. Dropping them stops it.
#[derive(Debug)]
pub struct ResultRows(Rows);

/// How much a page may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many rows.
    pub rows: usize,
    /// How many bytes, as JSON.
    pub bytes: usize,
}

/// Some rows.
#[derive(Debug)]
pub struct Page {
    /// A list of values each, as JSON.
    pub rows: Vec<Box<RawValue>>,
    /// Whether there are more: one of them was seen.
    pub has_more: bool,
}

impl ResultRows {
    /// The columns with their types.
    pub fn columns(&self) -> Vec<ResultColumn> {
        self.0.query.no_rows().typed_columns()
    }

    /// What each operator does; nothing when the query is run here.
    pub fn operators(&self) -> Vec<OperatorProgress> {
        self.0.query.operators()
    }

    /// How many rows were read of the tables so far.
    pub fn rows_read(&self) -> u64 {
        self.0.query.rows_read()
    }

    /// How long ago it was asked.
    pub fn elapsed(&self) -> Duration {
        self.0.started.elapsed()
    }

    /// Whether the first rows were taken by somebody already.
    pub fn is_rest(&self) -> bool {
        self.0.is_rest
    }

    /// The query as others see it while its rows are taken.
    pub fn watched(&self) -> Option<Watched> {
        self.0.query.watched()
    }

    /// Takes the next rows, as many as fit. A row that alone is larger than the budget comes alone.
    pub async fn page(&mut self, budget: Budget) -> Result<Page, Error> {
        let times = match self.0.times {
            Times::Plain => Times::Brief,
            said => said,
        };
        let mut page = Page { rows: Vec::new(), has_more: false };
        let mut bytes = 0;
        while let Some(mut batch) = self.0.query.next().await.transpose()? {
            let room = budget.rows.max(1) - page.rows.len();
            let front = batch.clone().take_front(room);
            let before = page.rows.len();
            for line in front.json_lists(times)?.lines() {
                bytes += line.len() + 1;
                if bytes > budget.bytes && !page.rows.is_empty() {
                    break;
                }
                page.rows.push(row(line)?);
            }
            batch.take_front(page.rows.len() - before);
            if batch.rows() > 0 {
                self.0.query.put_back(batch);
                page.has_more = true;
                break;
            }
        }
        Ok(page)
    }

    /// All rows that are left, in a format.
    pub fn render(self, format: Format) -> Rendered {
        rows::render(self.0, format)
    }
}

fn row(line: &str) -> Result<Box<RawValue>, Error> {
    let failed = |error| Error::Internal { what: "a row is no JSON", source: Box::new(error) };
    RawValue::from_string(line.to_owned()).map_err(failed)
}

/// The columns of a query's rows, without running it; none when it is no query, or when its tables are
/// not there.
pub async fn columns(
    node: &Arc<Node>,
    request: &Request,
) -> Result<Option<Vec<ResultColumn>>, Error> {
    let command = request.command.parsed()?;
    let destination = request.destination.as_deref().map(Destination::from_text).transpose()?;
    let on_network = match destination {
        Some(destination) => !destination.is_local(),
        None => is_for_network(node, command),
    };
    let Request { subset, timeout, edgelake, .. } = *request;
    let delivery = Delivery { subset, timeout, edgelake };
    let principal = &request.principal;
    let nodes = None;
    let context = Context { node, principal, delivery, on_network, nodes, scripts: 0, own: None };
    match command.columns(&context).await {
        Err(Error::Service(ServiceError::Query(
            SqlError::UnknownDatabase { .. }
            | SqlError::UnknownTable { .. }
            | SqlError::Disconnected { .. },
        ))) => Ok(None),
        columns => columns,
    }
}

/// Keeps the rows that are left for a few minutes, and gives the cursor that `query fetch` takes.
pub fn keep_rest(node: &Node, principal: &Principal, rest: ResultRows) -> String {
    let rest = Rows { is_rest: true, ..rest.0 };
    node.kept.keep_rest(principal.name(), rest, node.jobs())
}

/// How many rests of results the node keeps, and what became of those that nobody wanted soon.
pub fn cursors(node: &Node) -> CursorFigures {
    node.kept.cursors()
}

/// Keeps a question for an hour, and gives the id that [`open`] takes.
pub fn keep_question(node: &Node, request: &Request) -> String {
    node.kept.keep_question(request)
}

/// Asks a question again that was kept for the principal, for all of its rows.
pub async fn open(
    node: &Arc<Node>,
    principal: &Principal,
    id: &str,
    format: Format,
) -> Result<Rendered, Error> {
    let request = node.kept.question(principal.name(), id)?;
    // Whoever asked may do less by now than when the question was kept.
    let request = Request { principal: principal.clone(), ..request };
    match answer(node, &request).await.result? {
        Answer::Rows(mut rows) => {
            rows.0.query.begin().await?;
            Ok(rows.render(format))
        }
        Answer::Reply(reply) => Ok(reply),
    }
}
