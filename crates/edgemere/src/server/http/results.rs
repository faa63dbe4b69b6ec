//! `/api/v1/results/{id}`: the whole result of a query of which an agent got the first rows.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State as Shared};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::Response;
use edgemere_command::{Format, results};
use serde::Deserialize;

use super::jobs::or_failure;
use super::rest::principal;
use super::sql::format_of;
use super::whole;
use crate::server::execute::measured;
use crate::server::reply::{Failure, answer};
use crate::server::state::State;

/// The path of the results.
pub(in crate::server) const PATH: &str = "/api/v1/results";

/// How the rows are to look: without a format, as the caller accepts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Looks {
    format: Option<String>,
}

/// Asks the query again, for all of its rows.
pub(super) async fn rows(
    Shared(state): Shared<Arc<State>>,
    Path(id): Path<String>,
    looks: Result<Query<Looks>, QueryRejection>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let read = async {
        let Query(looks) =
            looks.map_err(|error| Failure::bad_request(error.body_text(), FORMATS_HINT))?;
        let format = match &looks.format {
            Some(name) => name.as_str(),
            None => format_of(&headers, None)?,
        };
        let format = known(format)?;
        let asker = principal(&state);
        let asked = format!("{}\nresult {id}\n{}", asker.name(), format.name());
        if let Some(part) = state.whole.again(&asked, &headers) {
            return Ok((part, format));
        }
        let rows = results::open(&state.node, &asker, &id, format);
        let (rendered, permit) = measured(&state, "result", rows).await?;
        // A reply that is streamed is under way until its end.
        let rendered = rendered.holding(permit);
        let reply = match whole::is_of_file(&method, &headers) {
            true => whole::reply(&state.whole, &asked, &headers, rendered).await?,
            false => answer(rendered),
        };
        Ok::<_, Failure>((reply, format))
    };
    let reply = read.await.map(|(mut reply, format)| {
        let name = format!("attachment; filename=\"rows.{}\"", format.name());
        if let Ok(name) = HeaderValue::from_str(&name) {
            reply.headers_mut().insert(header::CONTENT_DISPOSITION, name);
        }
        reply
    });
    or_failure(reply, &state, &Method::GET, &headers)
}

const FORMATS_HINT: &str = "give format=ndjson, csv, arrow or parquet";

/// The format of that name, when whole results have it.
fn known(name: &str) -> Result<Format, Failure> {
    let format = results::WHOLE_FORMATS.into_iter().find(|format| format.name() == name);
    format.ok_or_else(|| {
        Failure::bad_request(format!("a result cannot be given as \"{name}\""), FORMATS_HINT)
    })
}
