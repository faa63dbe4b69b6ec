//! Before every route: whose pages may ask, and under which names. After it: how much was sent.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, ready},
};
use http_body::{Frame, SizeHint};
use tower::Service;

use super::reply;
use crate::{Access, core::Core, figures::Counters};

/// What a page may send, and what it may read of a reply.
const PAGE_HEADERS: &str = "accept, authorization, content-type, last-event-id, \
     mcp-method, mcp-name, mcp-protocol-version, mcp-session-id";

/// Passes on what may ask. A service and not a function of axum's: what comes from no page, which is
/// nearly everything, costs no box.
#[derive(Clone)]
pub(super) struct Guard<S> {
    pub(super) inner: S,
    pub(super) shared: Arc<(Access, Arc<Core>)>,
}

impl<S> Service<Request> for Guard<S>
where
    S: Service<Request, Response = Response>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let (access, core) = &*self.shared;
        if let Err(foreign) = access.check(&request) {
            core.counters.refused_foreign.add(1);
            let (status, message) = (foreign.status, &foreign.message);
            let refused = reply::error(status, reply::INVALID_REQUEST, message, None);
            return Either::Right(ready(Ok(refused)).boxed());
        }
        if core.closing.is_cancelled() {
            let (status, message) = (StatusCode::SERVICE_UNAVAILABLE, "the server is ending");
            let refused = reply::error(status, reply::REFUSED, message, None);
            return Either::Right(ready(Ok(refused)).boxed());
        }
        let Some(page) = request.headers().get(header::ORIGIN).cloned() else {
            return Either::Left(self.inner.call(request));
        };
        let answered = match request.method() == Method::OPTIONS {
            true => Either::Left(ready(Ok(StatusCode::NO_CONTENT.into_response()))),
            false => Either::Right(self.inner.call(request)),
        };
        let allowed = async move {
            let mut response = answered.await?;
            allow_page(response.headers_mut(), page);
            Ok(response)
        };
        Either::Right(allowed.boxed())
    }
}

/// Counts the bytes of a response: at once where it is known how many they are.
pub(super) fn metered(response: Response, counters: &Arc<Counters>) -> Response {
    match response.body().size_hint().exact() {
        Some(bytes) => {
            counters.bytes_out.add(bytes);
            response
        }
        None => response.map(|body| Body::new(Metered { body, counters: counters.clone() })),
    }
}

/// Lets a page that may ask read the reply.
fn allow_page(headers: &mut HeaderMap, page: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, page);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    let fixed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, PAGE_HEADERS),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "mcp-session-id"),
    ];
    let fixed: [(HeaderName, &'static str); 3] = fixed;
    headers.extend(fixed.map(|(name, value)| (name, HeaderValue::from_static(value))));
}

/// A body whose bytes are counted.
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
