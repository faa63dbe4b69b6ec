//! A request of a session, answered by the task that took it: no other one is woken for an answer that
//! is there at once. What takes longer, has something to say before its answer, or lost its connection
//! goes on in a task of its own, and is read from its stream.

use std::{future::ready, sync::Arc};

use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream::BoxStream};
use rmcp::{
    model::{RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::session::ServerSseMessage,
};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{Session, stream::Stream};

/// What a request is answered with.
pub(crate) enum Reply {
    /// The answer, alone.
    Message(Box<ServerJsonRpcMessage>),
    /// Messages that end with the answer.
    Events(BoxStream<'static, ServerSseMessage>),
}

/// A request of this id is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Twice;

/// Answers a request. The work is given what tells it that nobody wants the answer any more.
pub(crate) async fn answer<W>(
    session: Arc<Session>,
    id: RequestId,
    work: impl FnOnce(CancellationToken) -> W,
) -> Result<Reply, Twice>
where
    W: Future<Output = ServerJsonRpcMessage> + Send + 'static,
{
    let stream = session.streams.request(&id).ok_or(Twice)?;
    let work = Some(work(stream.cancelled().clone()).boxed());
    let mut under_way = UnderWay { session, id, stream, work };
    Ok(match under_way.wait().await {
        Some(answer) => Reply::Message(answer.into()),
        None => Reply::Events(under_way.read()),
    })
}

/// A request that is under way. When it is dropped it goes on in a task of its own.
struct UnderWay {
    session: Arc<Session>,
    id: RequestId,
    stream: Arc<Stream>,
    work: Option<BoxFuture<'static, ServerJsonRpcMessage>>,
}

impl UnderWay {
    /// Waits a little for the answer. There is none when it must be read from the stream: because of
    /// what stands there already, or because it takes its time.
    async fn wait(&mut self) -> Option<ServerJsonRpcMessage> {
        let patience = self.session.streams.begin_after();
        // Without any patience not even an answer that is there already comes alone.
        let work = self.work.as_mut().filter(|_| !patience.is_zero())?;
        let answer = tokio::select! {
            biased;
            answer = work => answer,
            () = self.stream.speaks() => return None,
            () = tokio::time::sleep(patience) => return None,
        };
        let is_wanted =
            !self.stream.cancelled().is_cancelled() && !self.session.ended.is_cancelled();
        if is_wanted && self.stream.is_silent() {
            self.work = None;
            self.session.streams.forget(&self.id);
            return Some(answer);
        }
        self.work = Some(ready(answer).boxed());
        None
    }

    /// Reads what comes of it, until its session ends.
    fn read(self) -> BoxStream<'static, ServerSseMessage> {
        let messages = self.session.streams.read(self.id.clone(), self.stream.clone());
        messages.take_until(self.session.ended.clone().cancelled_owned()).boxed()
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // There is nothing to go on with.
            return self.session.streams.cancel(&self.id);
        }
        let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) else { return };
        let (session, stream) = (self.session.clone(), self.stream.clone());
        stream.leave();
        runtime.spawn(async move {
            let answer = work.await;
            // Who has cancelled a request is not answered.
            if !stream.cancelled().is_cancelled() {
                let _ = session.streams.send(answer).await;
            }
        });
    }
}
