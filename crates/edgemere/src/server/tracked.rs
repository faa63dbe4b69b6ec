//! Bodies that say how far they are to the visitor whose request they belong to.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::HttpBody;
use hyper::body::{Frame, SizeHint};

use super::visitor::Under;

/// A body of a request that comes, or of a reply that goes.
#[derive(Debug)]
pub(super) struct Tracked<B> {
    body: B,
    under: Under,
    is_request: bool,
}

impl<B: HttpBody> Tracked<B> {
    /// The body of a request: it has come when its end has, or when nobody reads on.
    pub(super) fn request(body: B, under: Under) -> Self {
        Self { body, under, is_request: true }
    }

    /// The body of a reply: while it is sent, its request is in flight.
    pub(super) fn reply(body: B, under: Under) -> Self {
        Self { body, under, is_request: false }
    }
}

impl<B: HttpBody + Unpin> HttpBody for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        if !self.is_request {
            self.under.is_taken();
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(_))) if !self.is_request && !self.body.is_end_stream() => {
                self.under.gives();
            }
            Poll::Ready(Some(Ok(_))) if self.is_request && !self.body.is_end_stream() => {
                self.under.goes_on();
            }
            Poll::Ready(_) if self.is_request => self.under.has_come(),
            _ => {}
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

impl<B> Drop for Tracked<B> {
    fn drop(&mut self) {
        if self.is_request {
            self.under.has_come();
        }
    }
}
