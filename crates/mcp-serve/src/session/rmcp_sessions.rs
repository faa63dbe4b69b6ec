//! Our sessions behind rmcp's trait. They replace rmcp's own, which are unlimited, have no owner, and let
//! one unread stream block all others.

use std::{cell::Cell, sync::Arc};

use futures_util::{Stream, StreamExt, stream};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager},
};
use tokio::sync::mpsc;

use super::{Channel, DuplicateRequestId, Outbox, Session, Sessions};
use crate::Client;

/// A session that was opened for a request, before rmcp handles the request.
pub(crate) type PendingSession = (Arc<Session>, mpsc::Receiver<ClientJsonRpcMessage>);

tokio::task_local! {
    /// The session for the request of this task. rmcp does not pass the request to
    /// [`SessionManager::create_session`], so the principal of the session would be unknown there.
    pub(crate) static PENDING_SESSION: Cell<Option<PendingSession>>;
}

/// Our sessions behind rmcp's trait.
#[derive(Clone, Debug)]
pub(crate) struct RmcpSessions(pub(crate) Arc<Sessions>);

/// Why a request found no session. The HTTP layer has checked all of this before; these errors are for a
/// session that ends at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("the session has ended")]
    Ended,
    #[error("the session has an active request with this id")]
    DuplicateRequestId,
    #[error("too many streams listen to this session")]
    TooManyListeners,
}

impl RmcpSessions {
    fn get(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        self.0.get(id).ok_or(Error::Ended)
    }
}

impl SessionManager for RmcpSessions {
    type Error = Error;
    type Transport = Channel;

    async fn create_session(&self) -> Result<(SessionId, Channel), Error> {
        let opened = PENDING_SESSION.try_with(Cell::take).ok().flatten();
        let (session, inbox) = opened.ok_or(Error::Ended)?;
        Ok((session.id.clone(), Channel::new(session, inbox, Outbox::PerRequest)))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        let session = self.get(id)?;
        let mut events = std::pin::pin!(open(&session, message).await?);
        while let Some(event) = events.next().await {
            if let Some(message) = event.message {
                // Read to the end, so that the stream is removed.
                let _ = events.next().await;
                return Ok(Arc::unwrap_or_clone(message));
            }
        }
        Err(Error::Ended)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        Ok(self.0.get(id).is_some())
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        self.0.close(id);
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        open(&self.get(id)?, message).await
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        self.get(id)?.inbox.send(message).await.map_err(|_| Error::Ended)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let session = self.get(id)?;
        let stream = session.streams.listener().ok_or(Error::TooManyListeners)?;
        Ok(until_ended(session, stream))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let session = self.get(id)?;
        let of_request = session.streams.resume(&last_event_id);
        // A listener starts over: it cannot have missed anything.
        let listener = match of_request {
            Some(_) => None,
            None => Some(session.streams.listener().ok_or(Error::TooManyListeners)?),
        };
        let both = optional(of_request).chain(optional(listener));
        Ok(until_ended(session, both))
    }
}

/// Passes a request to its session.
async fn open(
    session: &Arc<Session>,
    message: ClientJsonRpcMessage,
) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + use<>, Error> {
    let JsonRpcMessage::Request(request) = &message else { return Err(Error::Ended) };
    if let ClientRequest::InitializeRequest(initialize) = &request.request {
        let client = &initialize.params.client_info;
        let client = Client { name: client.name.clone(), version: client.version.clone() };
        session.set_client(client, initialize.params.protocol_version.to_string());
    }
    let id = request.id.clone();
    let stream =
        session.streams.add(&id).map_err(|DuplicateRequestId| Error::DuplicateRequestId)?;
    let stream = session.streams.read(id, stream);
    session.inbox.send(message).await.map_err(|_| Error::Ended)?;
    Ok(until_ended(session.clone(), stream))
}

/// A stream that ends with its session.
fn until_ended(
    session: Arc<Session>,
    messages: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    let ended = session.ended.clone();
    messages.take_until(ended.cancelled_owned())
}

fn optional<S: Stream>(messages: Option<S>) -> impl Stream<Item = S::Item> {
    stream::iter(messages).flatten()
}
