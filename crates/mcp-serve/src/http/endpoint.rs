//! Streamable HTTP: `/mcp` and `/mcp/<toolset>`. Checks what rmcp does not: the owner of a session, the
//! number of sessions, and that every error is a JSON-RPC error.

use std::{borrow::Cow, cell::Cell, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::Value;

use super::{Http, Toolset, fast_path, reply};
use crate::{
    Principal, Transport,
    session::{PENDING_SESSION, PendingSession, Session, SessionRefused},
};

pub(super) const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: &str = "mcp-protocol-version";

/// The notification that ends the initialization of a session.
const INITIALIZED: &str = "notifications/initialized";

/// The first protocol revision without sessions.
const STATELESS: &str = "2026-07-28";

/// The `Retry-After` of a refused session.
const FULL_RETRY_SECONDS: &str = "30";

/// The parts of a message that are needed before rmcp parses it.
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
    if !http.state.catalog().has_toolset(&name) {
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
        let pending = match self.target(&parts, method.as_deref()) {
            Ok(Target::Session(session)) => {
                match fast_path::request(&session, &parts.headers, method.as_deref(), &body) {
                    Some(request) => return self.run_fast(session, request, parts).await,
                    None => None,
                }
            }
            Ok(Target::NewSession(pending)) => Some(pending),
            Ok(Target::NoSession) => None,
            Err(refusal) => return refused(refusal, id),
        };
        let request = Request::from_parts(parts, Body::from(body));
        PENDING_SESSION.scope(pending.into(), self.pass_on(request, id)).await
    }

    /// Passes a request to rmcp. Closes the pending session if rmcp has not taken it.
    async fn pass_on(&self, request: Request, id: Option<Value>) -> Response {
        let response = self.service.handle(request).await;
        if let Some((session, _)) = PENDING_SESSION.with(Cell::take) {
            self.state.sessions.close(&session.id);
        }
        reply::as_json_rpc(response, id).await
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
        reply::as_json_rpc(self.service.handle(request).await, None).await
    }

    fn delete(&self, request: Request) -> Response {
        if is_stateless(request.headers()) {
            return not_allowed("POST");
        }
        match self.own_session(&request) {
            Some(session) => {
                self.state.sessions.close(&session.id);
                StatusCode::NO_CONTENT.into_response()
            }
            None if request.headers().contains_key(SESSION_ID) => reply::no_session(None),
            None => {
                let message = "the header Mcp-Session-Id is missing";
                reply::error(StatusCode::BAD_REQUEST, reply::INVALID_REQUEST, message, None)
            }
        }
    }

    /// Finds the session of a message, or opens one for `initialize`.
    fn target(&self, parts: &Parts, method: Option<&str>) -> Result<Target, Refused> {
        if is_stateless(&parts.headers) {
            return Ok(Target::NoSession);
        }
        let principal = principal(&parts.extensions);
        match parts.headers.get(SESSION_ID) {
            Some(id) => {
                let session = self.find(id, &principal).ok_or(Refused::NoSession)?;
                // This notification is part of the initialization.
                if method != Some(INITIALIZED) {
                    session.count_request();
                }
                Ok(Target::Session(session))
            }
            None if method == Some("initialize") => {
                let opened = self.state.sessions.open(&principal, Transport::Http);
                opened.map(Target::NewSession).map_err(Refused::Session)
            }
            None => Ok(Target::NoSession),
        }
    }

    fn own_session(&self, request: &Request) -> Option<Arc<Session>> {
        let id = request.headers().get(SESSION_ID)?;
        self.find(id, &principal(request.extensions()))
    }

    fn find(&self, id: &HeaderValue, principal: &Principal) -> Option<Arc<Session>> {
        let session = self.state.sessions.find(id.to_str().ok()?, principal)?;
        Some(session).filter(|session| session.transport == Transport::Http)
    }

    /// The whole body, within the limit.
    pub(super) async fn body(&self, body: Body) -> Result<Bytes, Box<Response>> {
        let max = self.state.limits.body_bytes_max;
        axum::body::to_bytes(body, max).await.map_err(|error| {
            let is_too_long = error.into_inner().is::<http_body_util::LengthLimitError>();
            Box::new(match is_too_long {
                true => {
                    self.state.counters.refused_by_limit.add(1);
                    let message = format!("a message has at most {max} bytes");
                    let status = StatusCode::PAYLOAD_TOO_LARGE;
                    reply::error(status, reply::REFUSED, &message, None)
                }
                false => {
                    let message = "the body is incomplete";
                    reply::error(StatusCode::BAD_REQUEST, reply::INVALID_REQUEST, message, None)
                }
            })
        })
    }
}

/// The target of a message.
enum Target {
    Session(Arc<Session>),
    NewSession(PendingSession),
    NoSession,
}

/// Why a message was refused.
enum Refused {
    NoSession,
    Session(SessionRefused),
}

fn refused(refused: Refused, id: Option<Value>) -> Response {
    match refused {
        Refused::NoSession => reply::no_session(id),
        Refused::Session(reason) => session_refused(reason, id),
    }
}

/// The reply to a request for a session that was refused.
pub(super) fn session_refused(reason: SessionRefused, id: Option<Value>) -> Response {
    let message = match reason {
        SessionRefused::Full => "there are too many sessions",
        SessionRefused::Closing => reply::CLOSING,
        SessionRefused::NoId => "the server has no random numbers",
    };
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let mut response = reply::error(status, reply::REFUSED, message, id);
    let wait = HeaderValue::from_static(FULL_RETRY_SECONDS);
    response.headers_mut().insert(header::RETRY_AFTER, wait);
    response
}

/// Parses the parts of a message that are needed here, which also checks that it is JSON.
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

/// The protocol revision in the headers of a request.
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

/// Spells out `*/*` or a missing header: rmcp wants both media types by name.
fn accept_both(headers: &mut HeaderMap) {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    if accepts.is_none_or(|accepts| accepts.contains("*/*")) {
        let both = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(header::ACCEPT, both);
    }
}

fn not_allowed(methods: &'static str) -> Response {
    let message = "this path does not support the method";
    let status = StatusCode::METHOD_NOT_ALLOWED;
    let mut response = reply::error(status, reply::INVALID_REQUEST, message, None);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}
