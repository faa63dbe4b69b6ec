//! HTTP+SSE, the transport of 2024-11-05: one event stream for all messages of a session, and a route for
//! the client's messages. rmcp has removed it; some clients still fall back to it.

use std::{convert::Infallible, sync::Arc};

use axum::{
    extract::{Path, Query, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{Stream, StreamExt, stream};
use rmcp::{
    ServiceExt,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
};
use serde::Deserialize;
use tokio::sync::mpsc;

use super::{Http, endpoint, reply};
use crate::{
    Transport,
    handler::Handler,
    session::{Channel, Outbox, Session},
    state::ServerState,
};

#[derive(Deserialize)]
struct Id {
    session_id: String,
}

/// `GET /sse`: the client posts to `/messages/?session_id=…`.
pub(super) async fn open(State(http): State<Arc<Http>>, request: Request) -> Response {
    http.open_sse(&request, |id| format!("/messages/?session_id={id}"))
}

/// `GET /mcp/sse`, EdgeLake's path: the client posts to `/mcp/messages/…`.
pub(super) async fn open_below_mcp(State(http): State<Arc<Http>>, request: Request) -> Response {
    http.open_sse(&request, |id| format!("/mcp/messages/{id}"))
}

pub(super) async fn message_by_query(State(http): State<Arc<Http>>, request: Request) -> Response {
    match Query::<Id>::try_from_uri(request.uri()) {
        Ok(Query(id)) => http.receive(&id.session_id, request).await,
        Err(_) => {
            let message = "session_id is missing";
            reply::error(StatusCode::BAD_REQUEST, reply::INVALID_REQUEST, message, None)
        }
    }
}

pub(super) async fn message_by_path(
    State(http): State<Arc<Http>>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    http.receive(&id, request).await
}

impl Http {
    fn open_sse(&self, request: &Request, address: impl FnOnce(&str) -> String) -> Response {
        let principal = endpoint::principal(request.extensions());
        let (session, inbox) = match self.state.sessions.open(&principal, Transport::Sse) {
            Ok(opened) => opened,
            Err(reason) => return endpoint::session_refused(reason, None),
        };
        let (queue, messages) = mpsc::channel(self.state.limits.unread_messages_max.max(1));
        let outbox = Outbox::Shared {
            queue,
            unread_time_max: self.state.limits.unread_time_max,
            counters: self.state.counters.clone(),
        };
        let first = Event::default().event("endpoint").data(address(&session.id));
        let channel = Channel::new(session.clone(), inbox, outbox);
        let handler = Handler { principal, ..self.handler.clone() };
        tokio::spawn(serve(handler, channel, session.clone(), self.state.clone()));
        let events = stream::iter([Ok::<_, Infallible>(first)]).chain(events(session, messages));
        let keep_alive = KeepAlive::new().interval(self.state.limits.keep_alive);
        let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
        // A proxy that buffers whole responses would pass on nothing.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    /// Receives a message of the client. The response goes to the session's stream.
    async fn receive(&self, id: &str, request: Request) -> Response {
        let principal = endpoint::principal(request.extensions());
        let session = self.state.sessions.find(id, &principal);
        let Some(session) = session.filter(|session| session.transport == Transport::Sse) else {
            return reply::no_session(None);
        };
        let (parts, body) = request.into_parts();
        let body = match self.body(body).await {
            Ok(body) => body,
            Err(refused) => return *refused,
        };
        let mut message: ClientJsonRpcMessage = match serde_json::from_slice(&body) {
            Ok(message) => message,
            Err(error) => {
                let (code, message) = match error.is_data() {
                    true => (reply::INVALID_REQUEST, "the body is not a JSON-RPC 2.0 message"),
                    false => (reply::PARSE_ERROR, "the body is not JSON"),
                };
                return reply::error(StatusCode::BAD_REQUEST, code, message, None);
            }
        };
        message.insert_extension(parts);
        match session.inbox.send(message).await {
            Ok(()) => {
                let text = [(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"))];
                (StatusCode::ACCEPTED, text, "Accepted").into_response()
            }
            Err(_) => reply::no_session(None),
        }
    }
}

/// Serves a session until its client disconnects.
async fn serve(handler: Handler, channel: Channel, session: Arc<Session>, state: Arc<ServerState>) {
    match handler.serve(channel).await {
        Ok(running) => _ = running.waiting().await,
        Err(error) => tracing::debug!(%error, "a session was not initialized"),
    }
    state.sessions.close(&session.id);
}

/// The messages of a session, until it ends. The session ends when the stream is dropped.
fn events(
    session: Arc<Session>,
    messages: mpsc::Receiver<ServerJsonRpcMessage>,
) -> impl Stream<Item = Result<Event, Infallible>> + Send + 'static {
    struct Reader {
        session: Arc<Session>,
        messages: mpsc::Receiver<ServerJsonRpcMessage>,
    }
    impl Drop for Reader {
        fn drop(&mut self) {
            self.session.end();
        }
    }
    stream::unfold(Reader { session, messages }, |mut reader| async move {
        let ended = reader.session.ended.clone();
        let message = ended.run_until_cancelled(reader.messages.recv()).await??;
        let text = serde_json::to_string(&message).ok()?;
        Some((Ok(Event::default().event("message").data(text)), reader))
    })
}
