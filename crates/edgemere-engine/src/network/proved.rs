//! The connection to an operator, on which only those answers are taken that the credentials trust:
//! what listens at an operator's address may be somebody else.

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

/// A connection whose answers are checked.
#[derive(Clone, Debug)]
pub(super) struct Proved {
    channel: Channel,
    credentials: Arc<dyn Credentials>,
}

impl Proved {
    pub(super) fn new(channel: Channel, credentials: Arc<dyn Credentials>) -> Self {
        Self { channel, credentials }
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
        let answer = self.channel.call(request);
        async move {
            let answer = answer.await?;
            // What is a failure from its beginning brings no rows, and nobody is let in for it.
            let is_failure = answer.headers().contains_key(Status::GRPC_STATUS);
            let status = answer.status().as_u16();
            if is_failure || credentials.trusts(&call, status, answer.headers()) {
                return Ok(answer);
            }
            Ok(Status::unauthenticated("it does not prove to be of the network").into_http())
        }
        .boxed()
    }
}
