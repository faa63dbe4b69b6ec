//! The layers around all routes: the check of `Host` and `Origin`, CORS headers, and the count of bytes
//! sent.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderName, Method, StatusCode, header},
    response::Response,
};
use futures_util::future::{Either, Ready, ready};
use http_body::{Frame, SizeHint};
use tower::Service;
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::{endpoint::SESSION_ID, reply};
use crate::{AllowedOrigins, metrics::Counters, state::ServerState};

/// The headers that a page may send.
const PAGE_HEADERS: [HeaderName; 8] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
    HeaderName::from_static("mcp-protocol-version"),
    SESSION_ID,
];

/// CORS for every page that the origin check has let through.
pub(super) fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(AllowOrigin::mirror_request())
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(PAGE_HEADERS)
        .expose_headers([SESSION_ID])
}

/// Sets the status of a CORS preflight to 204: it has no content.
pub(super) fn preflight_status(mut response: Response) -> Response {
    if response.headers().contains_key(header::ACCESS_CONTROL_ALLOW_METHODS) {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

/// Refuses requests of foreign pages and for foreign hosts, and all requests once the server is closing.
/// A service, not an axum middleware: it allocates nothing per request.
#[derive(Clone)]
pub(super) struct Guard<S> {
    pub(super) inner: S,
    pub(super) state: Arc<ServerState>,
    /// None if the host has checked `Host` and `Origin` before.
    pub(super) origins: Option<Arc<AllowedOrigins>>,
}

impl<S> Guard<S> {
    /// The refusal of a request, if it is refused.
    fn refusal(&self, request: &Request) -> Option<Response> {
        let checked = self.origins.as_ref().map_or(Ok(()), |origins| origins.check(request));
        if let Err(error) = checked {
            self.state.counters.refused_by_origin.add(1);
            return Some(reply::error(error.status, reply::INVALID_REQUEST, &error.message, None));
        }
        if self.state.closing.is_cancelled() {
            let (status, message) = (StatusCode::SERVICE_UNAVAILABLE, reply::CLOSING);
            return Some(reply::error(status, reply::REFUSED, message, None));
        }
        None
    }
}

impl<S> Service<Request> for Guard<S>
where
    S: Service<Request, Response = Response>,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.refusal(&request) {
            None => Either::Left(self.inner.call(request)),
            Some(refused) => Either::Right(ready(Ok(refused))),
        }
    }
}

/// Counts the bytes of a response: at once if its length is known, else while it is sent.
pub(super) fn metered(response: Response, counters: &Arc<Counters>) -> Response {
    match response.body().size_hint().exact() {
        Some(bytes) => {
            counters.bytes_out.add(bytes);
            response
        }
        None => response.map(|body| Body::new(Metered { body, counters: counters.clone() })),
    }
}

/// A body whose bytes are counted while it is sent.
struct Metered {
    body: Body,
    counters: Arc<Counters>,
}

impl HttpBody for Metered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
            self.counters.bytes_out.add(bytes);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
