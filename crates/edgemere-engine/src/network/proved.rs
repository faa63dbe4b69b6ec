//! The connection to an operator, on which only those answers are taken that the credentials trust:
//! what listens at an operator's address may be somebody else. What they tell of how far the operator's
//! storage is, is remembered.

use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};
use tonic::transport::{Channel, Error};

use super::link::Credentials;
use super::operators::Operator;
use super::protocol;
use super::seen::Seen;

/// A connection whose answers are checked.
#[derive(Clone, Debug)]
pub(super) struct Proved {
    channel: Channel,
    credentials: Arc<dyn Credentials>,
    operator: Arc<Operator>,
    seen: Seen,
}

impl Proved {
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

impl Service<Request<Body>> for Proved {
    type Response = Response<Body>;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response<Body>, Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.channel.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let call = request.headers().clone();
        let credentials = Arc::clone(&self.credentials);
        let (operator, seen) = (Arc::clone(&self.operator), self.seen.clone());
        let answer = self.channel.call(request);
        async move {
            let answer = answer.await?;
            // What is a failure from its beginning brings no rows, and nobody is let in for it.
            let is_failure = answer.headers().contains_key(Status::GRPC_STATUS);
            let status = answer.status().as_u16();
            if is_failure {
                return Ok(answer);
            }
            if credentials.trusts(&call, status, answer.headers()) {
                let reached = answer.headers().get(protocol::REACHED);
                if let Some(reached) = reached.and_then(|value| value.to_str().ok()?.parse().ok()) {
                    seen.learn(&operator, reached);
                }
                return Ok(answer);
            }
            Ok(Status::unauthenticated("it does not prove to be of the network").into_http())
        }
        .boxed()
    }
}
