//! Keeps other people's web pages out of the HTTP port: [`mcp_serve::AllowedOrigins`] says which hosts and
//! origins are this node's own, for every route and method. The pages of listed origins may read what
//! they are answered.

use std::sync::Arc;
use std::task::{self, Poll};

use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use axum::response::Response;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, ready};
use mcp_serve::OriginError;
use tower::Service;

use super::rest::request_id;
use crate::server::reply::Failure;
use crate::server::state::State;

/// What the page of a listed origin may send, as its browser asks before it sends it.
const PAGE_HEADERS: &str = "accept, authorization, command, content-encoding, content-type, dbms, \
                            destination, idempotency-key, into, mode, subset, table, timeout, type, \
                            x-request-id";
const PAGE_METHODS: &str = "GET, POST, PUT, DELETE";

const ALLOW_HINT: &str =
    "start the node with --allow-origin or --allow-host to let a page or a name in";

/// Passes on what is not from another's page. A service and not a function of axum's, which would cost
/// every request three boxes.
#[derive(Clone)]
pub(super) struct OwnPages<S> {
    pub(super) inner: S,
    pub(super) state: Arc<State>,
}

impl<S, B> Service<Request<B>> for OwnPages<S>
where
    S: Service<Request<B>, Response = Response>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        if let Err(foreign) = self.state.pages.check(&request) {
            let node = self.state.node.settings().http.ip().to_string();
            let id = request_id(request.headers());
            let reply = failure(foreign).into_reply(request.method().as_str(), &node, id);
            return Either::Right(ready(Ok(reply)).boxed());
        }
        let listed = request.headers().get(header::ORIGIN).cloned();
        let listed =
            listed.filter(|page| page.to_str().is_ok_and(|p| self.state.pages.is_listed(p)));
        let Some(page) = listed else { return Either::Left(self.inner.call(request)) };
        let is_preflight = request.method() == Method::OPTIONS;
        let answered = self.inner.call(request);
        let allowed = async move {
            let mut reply = answered.await?;
            // MCP's routes say themselves what pages may send them.
            if !reply.headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN) {
                if is_preflight {
                    *reply.status_mut() = StatusCode::NO_CONTENT;
                }
                allow_page(reply.headers_mut(), page);
            }
            Ok(reply)
        };
        Either::Right(allowed.boxed())
    }
}

fn failure(OriginError { status, message }: OriginError) -> Failure {
    match status {
        StatusCode::BAD_REQUEST => Failure::bad_request(message, "send one Host: ADDRESS:PORT"),
        _ => Failure::foreign(message, ALLOW_HINT),
    }
}

/// Lets a page read a reply.
fn allow_page(headers: &mut HeaderMap, page: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
    let fixed: [(HeaderName, &'static str); 4] = [
        (header::VARY, "origin"),
        (header::ACCESS_CONTROL_ALLOW_METHODS, PAGE_METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, PAGE_HEADERS),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "x-request-id, edgemere-asked, edgemere-missing"),
    ];
    headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
}

/// What every reply says to browsers: it is of the type that it says, and it is not kept.
pub(in crate::server) fn unkept<B>(mut reply: axum::http::Response<B>) -> axum::http::Response<B> {
    let headers = reply.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    reply
}
