//! What a query sees of this operator's rows is kept for as long as its calls go on, and not a moment
//! longer. The service keeps tasks that are over for a while; so they have no hold on it, but the
//! request of each call has. One call of every task lasts until the query ends.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response};
use tonic::codegen::{Body as HttpBody, Bytes, Service};
use tonic::server::NamedService;

use super::protocol;
use super::requests::Requests;
use super::worker::{Inner, PLAN_BYTES_MAX};
use crate::sql::Catalog;

/// A service whose calls keep what their query sees.
#[derive(Clone)]
pub(super) struct PinnedSnapshots<S> {
    service: S,
    worker: Arc<Inner>,
}

impl<S> PinnedSnapshots<S> {
    pub(super) fn new(service: S, worker: Arc<Inner>) -> Self {
        Self { service, worker }
    }
}

impl<S: NamedService> NamedService for PinnedSnapshots<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<Request<Body>> for PinnedSnapshots<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let subset = header(protocol::SUBSET) == Some("true");
        let tables = header(protocol::QUERY).map(|query| self.worker.tables(query, subset));
        let requests = Requests::of(request.uri().path(), PLAN_BYTES_MAX);
        let answer = self
            .service
            .call(request.map(|body| Body::new(PinSnapshot { body, requests, _tables: tables })));
        // A panic in the service is the failure of one call, and not of the connection.
        let answer = AssertUnwindSafe(answer).catch_unwind();
        let worker = Arc::clone(&self.worker);
        answer
            .map(move |answer| {
                let mut answer = answer.unwrap_or_else(|_| {
                    Ok(Status::internal("the operator failed at this call").into_http())
                });
                // Told after the task has its rows: it is as far as they are, or further.
                let reached = worker.reached().map(|reached| reached.to_string());
                let reached = reached.and_then(|text| HeaderValue::try_from(text).ok());
                if let (Ok(answer), Some(reached)) = (&mut answer, reached) {
                    answer.headers_mut().insert(protocol::REACHED, reached);
                }
                answer
            })
            .boxed()
    }
}

/// The body of a request.
struct PinSnapshot {
    body: Body,
    requests: Requests,
    _tables: Option<Arc<Catalog>>,
}

impl HttpBody for PinSnapshot {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(bytes) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
            let read = self.requests.read(bytes);
            if let Err(refused) = read {
                return Poll::Ready(Some(Err(refused)));
            }
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
