//! Reads the bodies of requests for the handlers behind it: within the room for all bodies, and in
//! time. What a body holds is given back when its request has been answered.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{self, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::response::Response;
use futures_util::future::{BoxFuture, Either};
use futures_util::{FutureExt, StreamExt, stream};
use tower::{Layer, Service};

use super::rest::request_id;
use crate::server::bodies::{Arrived, Unread};
use crate::server::state::State;

/// Bodies are read before what it is laid around is asked.
#[derive(Clone, Debug)]
pub(in crate::server) struct BoundedBodies {
    state: Arc<State>,
    /// The longest body of a service that has a limit of its own, and refuses a longer one in its own
    /// words.
    bytes_max: Option<usize>,
}

impl BoundedBodies {
    pub(in crate::server) fn new(state: &Arc<State>) -> Self {
        Self { state: Arc::clone(state), bytes_max: None }
    }

    pub(in crate::server) fn up_to(state: &Arc<State>, bytes_max: usize) -> Self {
        Self { bytes_max: Some(bytes_max), ..Self::new(state) }
    }
}

impl<S> Layer<S> for BoundedBodies {
    type Service = Bounded<S>;

    fn layer(&self, inner: S) -> Bounded<S> {
        Bounded { inner, bodies: self.clone() }
    }
}

/// A service whose requests have bodies that are there.
#[derive(Clone, Debug)]
pub(in crate::server) struct Bounded<S> {
    inner: S,
    bodies: BoundedBodies,
}

impl<S> Service<Request> for Bounded<S>
where
    S: Service<Request, Response = Response> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Send,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.body().is_end_stream() {
            return Either::Left(self.inner.call(request));
        }
        // The clone has not been asked whether it is ready: this one has.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let bodies = self.bodies.clone();
        let answered = async move {
            let (parts, body) = request.into_parts();
            let (method, id) = (parts.method.clone(), request_id(&parts.headers).map(String::from));
            let refused = |unread: Unread| {
                let node = bodies.state.node.settings().http.ip().to_string();
                let failure = unread.failure(bodies.state.bodies.bytes_max());
                Ok(failure.into_reply(method.as_str(), &node, id.as_deref()))
            };
            let arrived = match bodies.read(body).await {
                Ok(arrived) => arrived,
                Err(Unread::TooLong) if bodies.bytes_max.is_some() => {
                    let long = blank(bodies.bytes_max.unwrap_or_default());
                    return inner.call(Request::from_parts(parts, long)).await;
                }
                Err(unread) => return refused(unread),
            };
            let _work = match bodies.state.bodies.work_on(&arrived).await {
                Ok(work) => work,
                Err(unread) => return refused(unread),
            };
            let request = Request::from_parts(parts, Body::from(arrived.bytes.clone()));
            inner.call(request).await
        };
        Either::Right(answered.boxed())
    }
}

impl BoundedBodies {
    async fn read(&self, body: Body) -> Result<Arrived, Unread> {
        let bodies = &self.state.bodies;
        let own = self.bytes_max.unwrap_or(usize::MAX);
        bodies.read(body, own.min(bodies.bytes_max())).await
    }
}

/// A body of more than so many bytes, none of which anybody has sent.
fn blank(bytes: usize) -> Body {
    const PIECE: Bytes = Bytes::from_static(&[b' '; 16 << 10]);
    let pieces = stream::iter(0..=bytes / PIECE.len()).map(|_| Ok::<_, Infallible>(PIECE));
    Body::from_stream(pieces)
}
