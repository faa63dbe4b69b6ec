//! The connection to an operator, on which only those answers are taken that the credentials trust:
//! what listens at an operator's address may be another process. What they tell of how far the operator's
//! storage is, is remembered. What they bring is read along, and ends where its lengths cannot be.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body::{Frame, SizeHint};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{Body as HttpBody, Bytes, Service};
use tonic::transport::{Channel, Error};

use super::flight_messages::Answers;
use super::positions_seen::Seen;
use super::protocol;
use super::remote_task::Credentials;
use super::shards::Operator;

/// A connection whose answers are checked.
#[derive(Clone, Debug)]
pub(super) struct VerifiedChannel {
    channel: Channel,
    credentials: Arc<dyn Credentials>,
    operator: Arc<Operator>,
    seen: Seen,
}

impl VerifiedChannel {
    pub(super) fn new(
        channel: Channel,
        credentials: Arc<dyn Credentials>,
        operator: &Operator,
        seen: &Seen,
    ) -> Self {
        let (operator, seen) = (Arc::new(operator.clone()), seen.clone());
        Self { channel, credentials, operator, seen }
    }
}

impl Service<Request<Body>> for VerifiedChannel {
    type Response = Response<Body>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response<Body>, Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.channel.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let call = request.headers().clone();
        let answers = Answers::of(request.uri().path());
        let credentials = Arc::clone(&self.credentials);
        let (operator, seen) = (Arc::clone(&self.operator), self.seen.clone());
        let answer = self.channel.call(request);
        async move {
            let answer = answer.await?;
            // What is a failure from its beginning brings no rows, and nobody is let in for it.
            let is_failure = answer.headers().contains_key(Status::GRPC_STATUS);
            let status = answer.status().as_u16();
            if is_failure {
                return Ok(answer.map(|body| Body::new(Read { body, answers })));
            }
            if credentials.trusts(&call, status, answer.headers()) {
                let reached = answer.headers().get(protocol::REACHED);
                if let Some(reached) = reached.and_then(|value| value.to_str().ok()?.parse().ok()) {
                    seen.learn(&operator, reached);
                }
                return Ok(answer.map(|body| Body::new(Read { body, answers })));
            }
            Ok(Status::unauthenticated("it does not prove to be of the network").into_http())
        }
        .boxed()
    }
}

/// The body of an answer.
struct Read {
    body: Body,
    answers: Answers,
}

impl HttpBody for Read {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(bytes) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref())
            && let Err(refused) = self.answers.read(bytes)
        {
            return Poll::Ready(Some(Err(refused)));
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
