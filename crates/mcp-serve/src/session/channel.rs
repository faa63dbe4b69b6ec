//! A session as rmcp sees it: messages in, messages out.

use std::{borrow::Cow, sync::Arc, time::Duration};

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::sync::mpsc;

use super::Session;
use crate::figures::Counters;

/// A session as rmcp sees it.
pub(crate) struct Channel {
    session: Arc<Session>,
    inbox: mpsc::Receiver<ClientJsonRpcMessage>,
    out: Out,
    has_begun: bool,
}

/// Where messages go out.
#[derive(Clone)]
pub(crate) enum Out {
    /// One reader reads all.
    One {
        queue: mpsc::Sender<ServerJsonRpcMessage>,
        unread_time_max: Duration,
        counters: Arc<Counters>,
    },
    /// Each request has its own reader: the session's streams.
    Each,
}

/// Nobody reads any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nobody reads this session's messages")]
pub(crate) struct Unread;

impl Channel {
    /// Whether a message comes before the client has begun. rmcp ends a session that begins with
    /// anything but a request; such a message means nothing, and is left out.
    fn is_early(&mut self, message: &ClientJsonRpcMessage) -> bool {
        if let JsonRpcMessage::Request(request) = message {
            let is_first = matches!(request.request, ClientRequest::InitializeRequest(_))
                || request.request.get_meta().protocol_version().is_some();
            self.has_begun |= is_first;
            return false;
        }
        !self.has_begun
    }

    pub(crate) fn new(
        session: Arc<Session>,
        inbox: mpsc::Receiver<ClientJsonRpcMessage>,
        out: Out,
    ) -> Self {
        Self { session, inbox, out, has_begun: false }
    }
}

impl Transport<RoleServer> for Channel {
    type Error = Unread;

    fn name() -> Cow<'static, str> {
        "session".into()
    }

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Unread>> + Send + 'static {
        let (session, out) = (self.session.clone(), self.out.clone());
        async move {
            match out {
                Out::Each => session.streams.send(item).await,
                Out::One { queue, unread_time_max, counters } => {
                    use mpsc::error::SendTimeoutError::{Closed, Timeout};
                    match queue.send_timeout(item, unread_time_max).await {
                        Ok(()) => Ok(()),
                        Err(Timeout(_)) => {
                            // A reader that is this slow is not there: the session ends with it.
                            if !session.ended.is_cancelled() {
                                counters.streams_cut.add(1);
                            }
                            session.end();
                            Err(Unread)
                        }
                        Err(Closed(_)) => Err(Unread),
                    }
                }
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let (ended, hung_up) = (self.session.ended.clone(), self.session.hung_up.clone());
        loop {
            let received = async {
                tokio::select! {
                    biased;
                    message = self.inbox.recv() => message,
                    () = hung_up.cancelled() => self.inbox.try_recv().ok(),
                }
            };
            let mut message = ended.run_until_cancelled(received).await??;
            self.session.touch();
            if self.is_early(&message) {
                continue;
            }
            message.insert_extension(self.session.clone());
            return Some(message);
        }
    }

    async fn close(&mut self) -> Result<(), Unread> {
        self.session.end();
        Ok(())
    }
}
