//! EdgeLake's REST: a command in a header, the URL or a JSON body, at `/`.

use std::any::Any;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use edgemere_command::{Method as CommandMethod, Principal, Request, Role};
use serde_json::Value;

use super::form::Form;
use super::limit::limited;
use super::{html, page};
use crate::server::execute::execute;
use crate::server::reply::{Failure, answer};
use crate::server::state::State;

/// The methods that `/` knows.
const METHODS: &str = "GET, HEAD, POST, PUT, OPTIONS";

/// What a command is in the REST service.
const COMMAND_HINT: &str = "send a command, as in: curl -H 'command: get status' ADDRESS";

/// Answers at `/`.
pub(super) async fn handle(
    Shared(state): Shared<Arc<State>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let result = match method.as_str() {
        "GET" | "HEAD" => get(&state, &uri, &headers).await,
        "POST" => post(&state, &uri, &headers, body).await,
        "OPTIONS" => Ok((StatusCode::NO_CONTENT, allow()).into_response()),
        _ => Ok((StatusCode::METHOD_NOT_ALLOWED, allow()).into_response()),
    };
    result.unwrap_or_else(|failure| {
        let node = state.node.settings().http.ip().to_string();
        failure.into_reply(method.as_str(), &node, request_id(&headers))
    })
}

fn allow() -> [(header::HeaderName, HeaderValue); 1] {
    [(header::ALLOW, HeaderValue::from_static(METHODS))]
}

async fn get(state: &Arc<State>, uri: &Uri, headers: &HeaderMap) -> Result<Response, Failure> {
    let form = Form::read(headers, uri)?;
    if form.command.is_none() && page::is_wanted(headers) {
        return Ok(page::page(&state.node));
    }
    run(state, form, CommandMethod::Get).await
}

async fn post(
    state: &Arc<State>,
    uri: &Uri,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    let body = body.map_err(|error| {
        Failure::bad_request(format!("the body cannot be read: {error}"), "send a smaller one")
    })?;
    let body = std::str::from_utf8(&body)
        .map_err(|error| Failure::bad_json(format!("the body is not UTF-8: {error}")))?
        .trim();
    let mut form = Form::read(headers, uri)?;
    match form.command.is_some() {
        // With the command in a header, the body holds the variables that the command uses.
        true => form.assignments = Some(body.to_owned()).filter(|body| !body.is_empty()),
        false => form.read_json(&parse_json(body)?)?,
    }
    run(state, form, CommandMethod::Post).await
}

fn parse_json(body: &str) -> Result<Value, Failure> {
    if body.is_empty() {
        return Err(Failure::bad_request("there is no command", COMMAND_HINT));
    }
    serde_json::from_str(body)
        .map_err(|error| Failure::bad_json(format!("the body is not JSON: {error}")))
}

async fn run(state: &Arc<State>, form: Form, method: CommandMethod) -> Result<Response, Failure> {
    let Some(command) = form.command.filter(|command| !command.is_empty()) else {
        return Err(Failure::bad_request("there is no command", COMMAND_HINT));
    };
    // A node without rows asks those that have them, as EdgeLake does.
    let is_for_others = form.is_query && !state.node.has_role(Role::Operator);
    let request = Request {
        method: Some(method),
        destination: form.destination.or_else(|| is_for_others.then(|| "network".to_owned())),
        subset: form.subset,
        timeout: form.timeout,
        assignments: form.assignments,
        for_people: form.for_people || form.html,
        edgelake: form.edgelake,
        ..Request::new(command, principal(state))
    };
    let rendered = execute(state, &request).await?;
    match form.html {
        false => Ok(answer(rendered)),
        true => {
            let text = rendered.into_text().await?;
            Ok(axum::response::Html(html::document(&text)).into_response())
        }
    }
}

/// The caller of a REST request: the local user, since the port listens on loopback only, limited to
/// the access that the request itself asks for.
pub(in crate::server) fn principal(state: &State) -> Principal {
    limited(Principal::new("the local user", state.access))
}

/// The id of a request, under which the log has it.
pub(super) fn request_id(headers: &HeaderMap) -> Option<&str> {
    headers.get("x-request-id").and_then(|id| id.to_str().ok())
}

/// The reply when something of ours panicked. The log has it all; the caller learns no more than
/// that it was not the request's fault.
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let message = panic.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
    tracing::error!(message, "a request panicked");
    Failure::fault().into_reply("", "", None)
}
