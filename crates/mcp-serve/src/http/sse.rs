//! HTTP+SSE, the transport of 2024-11-05: one stream for all messages of a session, and a route that
//! takes the client's. rmcp no longer has it; some clients still fall back to it.

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
    core::Core,
    handler::Handler,
    session::{Channel, Out, Session},
};

#[derive(Deserialize)]
struct Id {
    session_id: String,
}

/// `GET /sse`: messages go to `/messages/?session_id=…`.
pub(super) async fn open(State(http): State<Arc<Http>>, request: Request) -> Response {
    http.open_sse(&request, |id| format!("/messages/?session_id={id}"))
}

/// `GET /mcp/sse`, EdgeLake's: messages go to `/mcp/messages/…`.
pub(super) async fn open_below_mcp(State(http): State<Arc<Http>>, request: Request) -> Response {
    http.open_sse(&request, |id| format!("/mcp/messages/{id}"))
}

pub(super) async fn message_by_query(State(http): State<Arc<Http>>, request: Request) -> Response {
    match Query::<Id>::try_from_uri(request.uri()) {
        Ok(Query(id)) => http.take_message(&id.session_id, request).await,
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
    http.take_message(&id, request).await
}

impl Http {
    fn open_sse(&self, request: &Request, address: impl FnOnce(&str) -> String) -> Response {
        let principal = endpoint::principal(request.extensions());
        let (session, inbox) = match self.core.sessions.open(&principal, Transport::Sse) {
            Ok(opened) => opened,
            Err(refusal) => return endpoint::no_room(refusal, None),
        };
        let (queue, messages) = mpsc::channel(self.core.limits.unread_messages_max.max(1));
        let out = Out::One {
            queue,
            unread_time_max: self.core.limits.unread_time_max,
            counters: self.core.counters.clone(),
        };
        let first = Event::default().event("endpoint").data(address(&session.id));
        let channel = Channel::new(session.clone(), inbox, out);
        let handler = Handler { principal, ..self.handler.clone() };
        tokio::spawn(serve(handler, channel, session.clone(), self.core.clone()));
        let events = stream::iter([Ok::<_, Infallible>(first)]).chain(events(session, messages));
        let keep_alive = KeepAlive::new().interval(self.core.limits.keep_alive);
        let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
        // Proxies that collect a reply before they pass it on would pass on nothing.
        response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    /// Takes a message of a client. The answer comes on the session's stream.
    async fn take_message(&self, id: &str, request: Request) -> Response {
        let principal = endpoint::principal(request.extensions());
        let session = self.core.sessions.find(id, &principal);
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
                    true => (reply::INVALID_REQUEST, "the body is not one message of JSON-RPC 2.0"),
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

/// Serves a session until its client has gone.
async fn serve(handler: Handler, channel: Channel, session: Arc<Session>, core: Arc<Core>) {
    match handler.serve(channel).await {
        Ok(running) => _ = running.waiting().await,
        Err(error) => tracing::debug!(%error, "a session did not begin"),
    }
    core.sessions.close(&session.id);
}

/// The messages of a session, until it ends. When nobody reads them any more, it ends.
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
