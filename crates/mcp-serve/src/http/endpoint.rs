//! Streamable HTTP: `/mcp` and `/mcp/<toolset>`. What rmcp does not look after is checked here: whose
//! session it is, how many there are, and that every error is one of JSON-RPC.

use std::{borrow::Cow, cell::Cell, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::Value;

use super::{Http, Toolset, answer, reply};
use crate::{
    Principal, Transport,
    session::{OPENED, Opened, Refusal, Session},
};

const SESSION_ID: &str = "mcp-session-id";
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// What a client says when it has begun.
const INITIALIZED: &str = "notifications/initialized";

/// The first revision without sessions.
const STATELESS: &str = "2026-07-28";

/// What a client that begins a session should wait when there are too many.
const FULL_RETRY_SECONDS: &str = "30";

/// As much of a message as is needed before rmcp reads it.
#[derive(Default, Deserialize)]
struct Peek<'a> {
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(default)]
    id: Option<Value>,
}

pub(super) async fn all_tools(State(http): State<Arc<Http>>, request: Request) -> Response {
    http.serve(request).await
}

pub(super) async fn toolset(
    State(http): State<Arc<Http>>,
    Path(name): Path<String>,
    mut request: Request,
) -> Response {
    if !http.core.offer().has_toolset(&name) {
        let message = format!("no toolset \"{name}\"");
        return reply::error(StatusCode::NOT_FOUND, reply::INVALID_REQUEST, &message, None);
    }
    request.extensions_mut().insert(Toolset(name));
    http.serve(request).await
}

impl Http {
    async fn serve(&self, request: Request) -> Response {
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => self.get(request).await,
            Method::DELETE => self.delete(request),
            _ => not_allowed("GET, POST, DELETE"),
        }
    }

    async fn post(&self, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        if !is_json(&parts.headers) {
            let message = "the content type must be application/json";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return reply::error(status, reply::INVALID_REQUEST, message, None);
        }
        let body = match self.body(body).await {
            Ok(body) => body,
            Err(refused) => return *refused,
        };
        let Peek { method, id } = match peek(&body) {
            Ok(peek) => peek,
            Err(refused) => return *refused,
        };
        accept_both(&mut parts.headers);
        let opened = match self.place(&parts, method.as_deref()) {
            Ok(Place::In(session)) => {
                match answer::plain(&session, &parts.headers, method.as_deref(), &body) {
                    Some(plain) => return self.answer(session, plain, parts).await,
                    None => None,
                }
            }
            Ok(Place::Begins(opened)) => Some(opened),
            Ok(Place::Alone) => None,
            Err(refusal) => return refused(refusal, id),
        };
        let request = Request::from_parts(parts, Body::from(body));
        OPENED.scope(opened.into(), self.ask(request, id)).await
    }

    /// Lets rmcp answer. A session that it did not want is closed again.
    async fn ask(&self, request: Request, id: Option<Value>) -> Response {
        let response = self.service.handle(request).await;
        if let Some((session, _)) = OPENED.with(Cell::take) {
            self.core.sessions.close(&session.id);
        }
        reply::spelled(response, id).await
    }

    async fn get(&self, mut request: Request) -> Response {
        if is_stateless(request.headers()) {
            return not_allowed("POST");
        }
        match self.own_session(&request) {
            Some(session) if !session.streams.may_listen() => {
                let message = "too many streams listen to this session: close one of them";
                return reply::error(StatusCode::CONFLICT, reply::REFUSED, message, None);
            }
            None if request.headers().contains_key(SESSION_ID) => return reply::no_session(None),
            _ => {}
        }
        accept_both(request.headers_mut());
        self.ask_plainly(request).await
    }

    async fn ask_plainly(&self, request: Request) -> Response {
        reply::spelled(self.service.handle(request).await, None).await
    }

    fn delete(&self, request: Request) -> Response {
        if is_stateless(request.headers()) {
            return not_allowed("POST");
        }
        match self.own_session(&request) {
            Some(session) => {
                self.core.sessions.close(&session.id);
                StatusCode::NO_CONTENT.into_response()
            }
            None if request.headers().contains_key(SESSION_ID) => reply::no_session(None),
            None => {
                let message = "the header Mcp-Session-Id is missing";
                reply::error(StatusCode::BAD_REQUEST, reply::INVALID_REQUEST, message, None)
            }
        }
    }

    /// Finds the session of a message, or opens one for a client that begins.
    fn place(&self, parts: &Parts, method: Option<&str>) -> Result<Place, Refused> {
        if is_stateless(&parts.headers) {
            return Ok(Place::Alone);
        }
        let principal = principal(&parts.extensions);
        match parts.headers.get(SESSION_ID) {
            Some(id) => {
                let session = self.find(id, &principal).ok_or(Refused::NoSession)?;
                // That it has begun is the end of beginning, and no use yet.
                if method != Some(INITIALIZED) {
                    session.count_request();
                }
                Ok(Place::In(session))
            }
            None if method == Some("initialize") => {
                let opened = self.core.sessions.open(&principal, Transport::Http);
                opened.map(Place::Begins).map_err(Refused::Session)
            }
            None => Ok(Place::Alone),
        }
    }

    fn own_session(&self, request: &Request) -> Option<Arc<Session>> {
        let id = request.headers().get(SESSION_ID)?;
        self.find(id, &principal(request.extensions()))
    }

    fn find(&self, id: &HeaderValue, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.core.sessions.find(id.to_str().ok()?, principal)?;
        Some(session).filter(|session| session.transport == Transport::Http)
    }

    /// The whole body, when it is not too long.
    pub(super) async fn body(&self, body: Body) -> Result<Bytes, Box<Response>> {
        let max = self.core.limits.body_bytes_max;
        axum::body::to_bytes(body, max).await.map_err(|error| {
            let is_too_long = error.into_inner().is::<http_body_util::LengthLimitError>();
            Box::new(match is_too_long {
                true => {
                    self.core.counters.refused_by_limit.add(1);
                    let message = format!("a message has at most {max} bytes");
                    let status = StatusCode::PAYLOAD_TOO_LARGE;
                    reply::error(status, reply::REFUSED, &message, None)
                }
                false => {
                    let message = "the body did not come whole";
                    reply::error(StatusCode::BAD_REQUEST, reply::INVALID_REQUEST, message, None)
                }
            })
        })
    }
}

/// Where a message belongs.
enum Place {
    In(Arc<Session>),
    /// It begins a session.
    Begins(Opened),
    /// Nowhere: it stands for itself.
    Alone,
}

/// Why a message was not passed on.
enum Refused {
    NoSession,
    Session(Refusal),
}

fn refused(refused: Refused, id: Option<Value>) -> Response {
    match refused {
        Refused::NoSession => reply::no_session(id),
        Refused::Session(refusal) => no_room(refusal, id),
    }
}

/// Why a session was not opened.
pub(super) fn no_room(refusal: Refusal, id: Option<Value>) -> Response {
    let (status, message) = match refusal {
        Refusal::Full => (StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions"),
        Refusal::Closing => (StatusCode::SERVICE_UNAVAILABLE, "the server is ending"),
        Refusal::NoId => (StatusCode::SERVICE_UNAVAILABLE, "the server has no random numbers"),
    };
    let mut response = reply::error(status, reply::REFUSED, message, id);
    let wait = HeaderValue::from_static(FULL_RETRY_SECONDS);
    response.headers_mut().insert(header::RETRY_AFTER, wait);
    response
}

/// Reads as much of a message as is needed here, which also shows whether it is JSON.
fn peek(body: &[u8]) -> Result<Peek<'_>, Box<Response>> {
    let bad =
        |code, message: &str| Box::new(reply::error(StatusCode::BAD_REQUEST, code, message, None));
    match body.trim_ascii_start().first() {
        Some(b'{') => {}
        Some(b'[') if serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() => {
            return Err(bad(reply::INVALID_REQUEST, "send one message at a time, not a batch"));
        }
        _ => {
            return Err(bad(reply::PARSE_ERROR, "the body is not a JSON object"));
        }
    }
    serde_json::from_slice(body).or_else(|error| match error.classify() {
        serde_json::error::Category::Data => Ok(Peek::default()),
        _ => Err(bad(reply::PARSE_ERROR, &format!("the body is not JSON: {error}"))),
    })
}

pub(super) fn principal(extensions: &axum::http::Extensions) -> Principal {
    extensions.get::<Principal>().cloned().unwrap_or_default()
}

/// The revision of the protocol that a request names.
pub(super) fn version(headers: &HeaderMap) -> Option<&HeaderValue> {
    headers.get(PROTOCOL_VERSION)
}

fn is_stateless(headers: &HeaderMap) -> bool {
    let version = version(headers).and_then(|version| version.to_str().ok());
    version.is_some_and(|version| version >= STATELESS)
}

pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json")
    })
}

/// Who accepts everything accepts both kinds of reply that there are.
fn accept_both(headers: &mut HeaderMap) {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    if accepts.is_none_or(|accepts| accepts.contains("*/*")) {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
    }
}

fn not_allowed(methods: &'static str) -> Response {
    let message = "this method is not served here";
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let mut response = reply::error(status, reply::INVALID_REQUEST, message, None);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}
