//! The transport of a session for rmcp: messages in, messages out.

use std::{borrow::Cow, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::mpsc;

use super::Session;
use crate::metrics::Counters;

/// The transport of a session for rmcp.
pub(crate) struct Channel {
    session: Arc<Session>,
    inbox: mpsc::Receiver<ClientJsonRpcMessage>,
    outbox: Outbox,
    is_initializing: bool,
}

/// The destination of outgoing messages.
#[derive(Clone)]
pub(crate) enum Outbox {
    /// One reader for all messages: stdio and HTTP+SSE.
    Shared {
        queue: mpsc::Sender<ServerJsonRpcMessage>,
        unread_time_max: Duration,
        counters: Arc<Counters>,
    },
    /// A stream per request: Streamable HTTP.
    PerRequest,
}

/// The client does not read this session's messages any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the client does not read the session's messages")]
pub(crate) struct ReceiverGone;

impl Channel {
    /// Whether a message precedes the first request. rmcp ends a session whose first message is no request;
    /// such a message has no meaning, so it is ignored.
    fn is_premature(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let JsonRpcMessage::Request(request) = message {
            let is_first = matches!(request.request, ClientRequest::InitializeRequest(_))
                || request.request.get_meta().protocol_version().is_some();
            self.is_initializing |= is_first;
            return false;
        }
        !self.is_initializing
    }

    pub(crate) fn new(
        session: Arc<Session>,
        inbox: mpsc::Receiver<ClientJsonRpcMessage>,
        outbox: Outbox,
    ) -> Self {
        Self { session, inbox, outbox, is_initializing: false }
    }
}

impl Transport<RoleServer> for Channel {
    type Error = ReceiverGone;

    fn name() -> Cow<'static, str> {
        "session".into()
    }

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), ReceiverGone>> + Send + 'static {
        let (session, outbox) = (self.session.clone(), self.outbox.clone());
        async move {
            match outbox {
                Outbox::PerRequest => session.streams.send(item).await,
                Outbox::Shared { queue, unread_time_max, counters } => {
                    use mpsc::error::SendTimeoutError::{Closed, Timeout};
                    match queue.send_timeout(item, unread_time_max).await {
                        Ok(()) => Ok(()),
                        Err(Timeout(_)) => {
                            // A client that is this slow has gone: the session ends.
                            if !session.ended.is_cancelled() {
                                counters.streams_cut.add(1);
                            }
                            session.end();
                            Err(ReceiverGone)
                        }
                        Err(Closed(_)) => Err(ReceiverGone),
                    }
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let (ended, input_closed) = (self.session.ended.clone(), self.session.input_closed.clone());
        loop {
            let received = async {
                tokio::select! {
                    biased;
                    message = self.inbox.recv() => message,
                    () = input_closed.cancelled() => self.inbox.try_recv().ok(),
                }
            };
            let mut message = ended.run_until_cancelled(received).await??;
            self.session.touch();
            if self.is_premature(&message) {
                continue;
            }
            message.insert_extension(self.session.clone());
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), ReceiverGone> {
        self.session.end();
        Ok(())
    }
}
