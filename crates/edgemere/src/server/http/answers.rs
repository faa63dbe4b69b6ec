//! `POST /api/v1/answers`: what a command answers, as tools take it: the rows of a query as a page, with
//! the way to the rest of them and with who answered; all else as over REST. It is what `edgemere mcp
//! --node` and `edgemere tools` ask.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State as Shared;
use axum::http::{HeaderMap, Method, header};
use axum::response::{IntoResponse, Response};
use edgemere_command::results::{self, Answer, Budget};
use edgemere_command::sql::ResultColumn;
use edgemere_command::{Content, Format, Rendered, Request};
use edgemere_tools::Given;
use futures_util::StreamExt;
use futures_util::stream::once;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asked::{self, Body};
use super::jobs::or_failure;
use super::rest::principal;
use crate::remote::Names;
use crate::server::execute::{self, measured};
use crate::server::mcp::NodeCommands;
use crate::server::reply::{Failure, answer};
use crate::server::state::State;

/// The path.
pub(crate) const PATH: &str = "/api/v1/answers";

/// The type of a page of rows; other answers have the types that they have over REST.
pub(crate) const PAGE: &str = "application/vnd.edgemere.page+json";

/// The type of rows that are sent while they come: messages, one a line.
pub(crate) const EVENTS: &str = "application/x-ndjson";

/// A command, and how many rows may come at once.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    pub(crate) command: String,
    pub(crate) destination: Option<String>,
    #[serde(default, deserialize_with = "asked::flag")]
    pub(crate) subset: bool,
    pub(crate) timeout_s: Option<f64>,
    /// How many rows; none asks only for the columns, which are null when the tables are not there, and
    /// the query is not run.
    pub(crate) rows: Option<usize>,
    /// How many bytes the rows may take.
    pub(crate) bytes: Option<usize>,
    /// Whether all rows are to be sent while they come.
    #[serde(default)]
    pub(crate) stream: bool,
}

/// A column, when only these were asked for.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
}

/// How many bytes of rows are given when nobody says otherwise, and at most.
const BYTES: usize = 40_000;
const BYTES_MAX: usize = 64 << 20;

/// Answers.
pub(super) async fn answers(
    Shared(state): Shared<Arc<State>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let reply = async {
        // What the body says counts more than a header.
        let mut said = asked::in_headers(&headers, &["destination", "subset"])?;
        let Json(body) = body.map_err(|error| Failure::bad_request(error.body_text(), HINT))?;
        said.extend(body);
        let question: Question = serde_json::from_value(Value::Object(said))
            .map_err(|error| Failure::bad_request(error.to_string(), HINT))?;
        let request = request(&state, &question)?;
        match question.rows {
            None => columns(&state, &request).await,
            Some(_) if question.stream => events(&state, &request).await,
            Some(rows) => {
                let bytes = question.bytes.unwrap_or(BYTES).min(BYTES_MAX);
                page(&state, &request, Budget { rows, bytes }).await
            }
        }
    };
    or_failure(reply.await, &state, &Method::POST, &headers)
}

const HINT: &str =
    "send {\"command\": \"sql DBMS SELECT …\", \"destination\": \"network\", \"rows\": 100}";

/// The longest time that is waited for an answer, whatever was asked for.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);

fn request(state: &State, question: &Question) -> Result<Request, Failure> {
    let timeout = question.timeout_s.map(Duration::try_from_secs_f64).transpose();
    let timeout = timeout
        .map_err(|error| Failure::bad_request(format!("timeout_s: {error}"), "give seconds"))?;
    Ok(Request {
        destination: question.destination.clone().filter(|destination| !destination.is_empty()),
        subset: question.subset,
        timeout: timeout.map(|time| time.min(TIMEOUT_MAX)),
        ..Request::new(question.command.clone(), principal(state))
    })
}

async fn columns(state: &Arc<State>, request: &Request) -> Result<Response, Failure> {
    let (columns, _permit) =
        measured(state, "columns", results::columns(&state.node, request)).await?;
    let column = |column: ResultColumn| Column { name: column.name, type_name: column.type_name };
    let columns = columns.map(|columns| columns.into_iter().map(column).collect::<Vec<_>>());
    Ok(Json(columns).into_response())
}

async fn page(state: &Arc<State>, request: &Request, budget: Budget) -> Result<Response, Failure> {
    let (answered, _permit) = execute::answer(state, request).await?;
    let mut rows = match answered {
        Answer::Reply(reply) => return Ok(answer(reply)),
        Answer::Rows(rows) => *rows,
    };
    let page = rows.page(budget).await?;
    let given = Given::of(rows, page, request, &NodeCommands(Arc::clone(state)));
    let given = serde_json::to_string(&given).map_err(|_| Failure::fault())?;
    Ok(([(header::CONTENT_TYPE, PAGE)], given).into_response())
}

/// All rows while they come, after a message with the names of the columns.
async fn events(state: &Arc<State>, request: &Request) -> Result<Response, Failure> {
    let (answered, permit) = execute::answer(state, request).await?;
    let rows = match answered {
        Answer::Reply(reply) => return Ok(answer(reply)),
        Answer::Rows(rows) => *rows,
    };
    let columns = rows.columns().into_iter().map(|column| column.name).collect();
    let names = serde_json::to_string(&Names { columns }).map_err(|_| Failure::fault())?;
    let rendered = rows.render(Format::Events);
    let content = match rendered.content {
        Content::Stream(messages) => {
            let first = std::future::ready(Ok(format!("{names}\n").into_bytes()));
            Content::Stream(once(first).chain(messages).boxed())
        }
        Content::Whole(messages) => Content::Whole(format!("{names}\n{messages}")),
        Content::Value(message) => Content::Whole(format!("{names}\n{message}")),
    };
    Ok(answer(Rendered { content, ..rendered }.holding(permit)))
}
