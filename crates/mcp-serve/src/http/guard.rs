//! Before every route: whose pages may ask, and under which names. After it: how much was sent.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body::{Frame, SizeHint};

use super::reply;
use crate::{Access, core::Core, figures::Counters};

/// What a page may send, and what it may read of a reply.
const PAGE_HEADERS: &str = "accept, authorization, content-type, last-event-id, \
     mcp-method, mcp-name, mcp-protocol-version, mcp-session-id";

pub(super) async fn guard(
    State(shared): State<Arc<(Access, Arc<Core>)>>,
    request: Request,
    next: Next,
) -> Response {
    let (access, core) = &*shared;
    if let Err(what) = access.check(request.headers()) {
        core.counters.refused_foreign.add(1);
        return reply::error(StatusCode::FORBIDDEN, reply::INVALID_REQUEST, &what, None);
    }
    if core.closing.is_cancelled() {
        let message = "the server is ending";
        return reply::error(StatusCode::SERVICE_UNAVAILABLE, reply::REFUSED, message, None);
    }
    let page = request.headers().get(header::ORIGIN).cloned();
    let mut response = match (request.method() == Method::OPTIONS, &page) {
        (true, Some(_)) => StatusCode::NO_CONTENT.into_response(),
        _ => next.run(request).await,
    };
    if let Some(page) = page {
        allow_page(response.headers_mut(), page);
    }
    response.map(|body| Body::new(Metered { body, counters: core.counters.clone() }))
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
