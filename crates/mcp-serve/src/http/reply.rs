//! HTTP responses that rmcp does not make: JSON messages, event streams, and errors as JSON-RPC errors.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use serde_json::{Value, json};

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const INTERNAL_ERROR: i32 = -32603;
/// The code that other servers send for an unknown session.
pub(super) const NO_SESSION: i32 = -32001;
pub(super) const REFUSED: i32 = crate::wire::REFUSED.0;

/// The maximum length of a plain-text error of rmcp.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// The message of every refusal while the server closes.
pub(super) const CLOSING: &str = "the server is shutting down";

/// A message as JSON.
pub(super) fn message(message: &impl serde::Serialize) -> axum::response::Response {
    match serde_json::to_vec(message) {
        Ok(body) => {
            let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            (json, body).into_response()
        }
        Err(_) => {
            let message = "the response cannot be serialized";
            error(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR, message, None)
        }
    }
}

/// Messages as an event stream with keep-alives. Not axum's `Sse`: it omits an empty `data` field, and
/// clients ignore events without one, among them the event that says how to resume.
pub(super) fn events(
    messages: BoxStream<'static, ServerSseMessage>,
    keep_alive: Duration,
) -> axum::response::Response {
    let events = stream::unfold(messages, move |mut messages| async move {
        let event = match tokio::time::timeout(keep_alive, messages.next()).await {
            Ok(message) => event(&message?),
            Err(_) => ":\n\n".to_owned(),
        };
        Some((Ok::<_, Infallible>(event), messages))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        // Proxies that collect a reply before they pass it on would pass on nothing.
        (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (headers, Body::from_stream(events)).into_response()
}

/// An event. A message as JSON has no line breaks.
fn event(message: &ServerSseMessage) -> String {
    let text = message.message.as_deref().and_then(|message| serde_json::to_string(message).ok());
    let id = message.event_id.as_ref().map(|id| format!("id: {id}\n")).unwrap_or_default();
    let retry = message.retry.map(|retry| format!("retry: {}\n", retry.as_millis()));
    format!("{id}{}data: {}\n\n", retry.unwrap_or_default(), text.unwrap_or_default())
}

/// A JSON-RPC error, with the id of the request if it is known.
pub(super) fn error(
    status: StatusCode,
    code: i32,
    message: &str,
    id: Option<Value>,
) -> axum::response::Response {
    let mut body = json!({ "jsonrpc": "2.0", "error": { "code": code, "message": message } });
    if let (Some(id), Some(body)) = (id.filter(is_id), body.as_object_mut()) {
        body.insert("id".to_owned(), id);
    }
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, json, body.to_string()).into_response()
}

/// The error for a session that does not exist, or belongs to another principal.
pub(super) fn no_session(id: Option<Value>) -> axum::response::Response {
    let message = "no such session: open a new one with initialize";
    error(StatusCode::NOT_FOUND, NO_SESSION, message, id)
}

/// A response of rmcp, with its plain-text errors converted to JSON-RPC errors.
pub(super) async fn as_json_rpc<B>(
    response: Response<B>,
    id: Option<Value>,
) -> axum::response::Response
where
    B: http_body::Body<Data = axum::body::Bytes, Error = std::convert::Infallible> + Send + 'static,
{
    let (mut parts, body) = response.into_parts();
    let is_json = parts
        .headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if is_json || parts.status.as_u16() < 400 {
        return Response::from_parts(parts, Body::new(body));
    }
    let text = axum::body::to_bytes(Body::new(body), TEXT_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let (status, code, message) = match parts.status {
        // The content type has been checked, so the body is JSON but not a message.
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            let message = "the body is not a JSON-RPC 2.0 message";
            (StatusCode::BAD_REQUEST, INVALID_REQUEST, message)
        }
        status if status.is_server_error() => {
            // The session ended at this moment. rmcp has logged the cause.
            (status, INTERNAL_ERROR, "the server failed: see its log")
        }
        StatusCode::NOT_FOUND => return no_session(id),
        status => (status, INVALID_REQUEST, &*text),
    };
    let mut reply = error(status, code, message, id);
    if let Some(allow) = parts.headers.remove(header::ALLOW) {
        reply.headers_mut().insert(header::ALLOW, allow);
    }
    reply
}

/// Whether a value is a valid request id.
fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}
