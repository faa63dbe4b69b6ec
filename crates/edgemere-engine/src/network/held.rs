//! What a query sees of this operator's rows is kept for as long as its calls go on, and not a moment
//! longer. The service keeps tasks that are over for a while; so they have no hold on it, but the
//! request of each call has. One call of every task lasts until the query ends.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::Request;
use tonic::codegen::{Body as HttpBody, Bytes, Service};
use tonic::server::NamedService;

use super::protocol;
use super::worker::Inner;
use crate::sql::Catalog;

/// A service whose calls keep what their query sees.
#[derive(Clone)]
pub(super) struct Held<S> {
    service: S,
    worker: Arc<Inner>,
}

impl<S> Held<S> {
    pub(super) fn new(service: S, worker: Arc<Inner>) -> Self {
        Self { service, worker }
    }
}

impl<S: NamedService> NamedService for Held<S> {
    const NAME: &'static str = S::NAME;
}

impl<S: Service<Request<Body>>> Service<Request<Body>> for Held<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> S::Future {
        let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
        let subset = header(protocol::SUBSET) == Some("true");
        let tables = header(protocol::QUERY).map(|query| self.worker.tables(query, subset));
        self.service.call(request.map(|body| Body::new(Holding { body, _tables: tables })))
    }
}

/// The body of a request.
struct Holding {
    body: Body,
    _tables: Option<Arc<Catalog>>,
}

impl HttpBody for Holding {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
