//! Inline replies: a request of a session runs in the task of its HTTP connection, so that a fast reply
//! wakes no other task. A request that takes longer, sends a message before its response or loses its
//! connection goes on in a task of its own, and the client reads its event stream.

use std::{future::ready, sync::Arc};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use rmcp::{
    model::{RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::session::ServerSseMessage,
};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{Session, stream::Stream};

/// The reply to a request.
pub(crate) enum Reply {
    /// The response alone.
    Message(Box<ServerJsonRpcMessage>),
    /// Messages that end with the response.
    Events(BoxStream<'static, ServerSseMessage>),
}

/// The session has an active request with this id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DuplicateRequestId;

/// Runs a request. The work gets a token that is cancelled when the client no longer wants the response.
pub(crate) async fn reply<W>(
    session: Arc<Session>,
    id: RequestId,
    work: impl FnOnce(CancellationToken) -> W,
) -> Result<Reply, DuplicateRequestId>
where
    W: Future<Output = ServerJsonRpcMessage> + Send + 'static,
{
    let stream = session.streams.add(&id)?;
    let work = Some(work(stream.cancelled().clone()).boxed());
    let mut request = ActiveRequest { session, id, stream, work };
    Ok(match request.wait().await {
        Some(response) => Reply::Message(response.into()),
        None => Reply::Events(request.read()),
    })
}

/// An active request. Dropped before its end, it goes on in a task of its own.
struct ActiveRequest {
    session: Arc<Session>,
    id: RequestId,
    stream: Arc<Stream>,
    work: Option<BoxFuture<'static, ServerJsonRpcMessage>>,
}

impl ActiveRequest {
    /// Waits for the response for a short time. Returns none if the client must read the stream, because it
    /// has messages already or the response takes longer.
    async fn wait(&mut self) -> Option<ServerJsonRpcMessage> {
        let inline_time = self.session.streams.stream_after();
        // Zero makes every reply a stream.
        let work = self.work.as_mut().filter(|_| !inline_time.is_zero())?;
        let response = tokio::select! {
            biased;
            response = work => response,
            () = self.stream.has_message() => return None,
            () = tokio::time::sleep(inline_time) => return None,
        };
        let is_wanted =
            !self.stream.cancelled().is_cancelled() && !self.session.ended.is_cancelled();
        if is_wanted && self.stream.is_empty() {
            self.work = None;
            self.session.streams.remove(&self.id);
            return Some(response);
        }
        self.work = Some(ready(response).boxed());
        None
    }

    /// The messages of its stream, until the session ends.
    fn read(self) -> BoxStream<'static, ServerSseMessage> {
        let messages = self.session.streams.read(self.id.clone(), self.stream.clone());
        messages.take_until(self.session.ended.clone().cancelled_owned()).boxed()
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The work has panicked: there is nothing to go on with.
            return self.session.streams.cancel(&self.id);
        }
        let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) else { return };
        let (session, stream) = (self.session.clone(), self.stream.clone());
        stream.abandon();
        runtime.spawn(async move {
            let response = work.await;
            // A cancelled request has no response.
            if !stream.cancelled().is_cancelled() {
                let _ = session.streams.send(response).await;
            }
        });
    }
}
