//! A request in a session, answered without rmcp's service between: it is read once, run by the task
//! that has its connection, and sent as JSON when the answer comes at once. What is not plain is left
//! to rmcp, which knows every case.

use std::sync::Arc;

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};
use rmcp::{
    RoleServer,
    model::{
        CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, GetMeta,
        JsonRpcMessage, JsonRpcVersion2_0, ProtocolVersion, RequestId, RequestMetaObject,
        ServerJsonRpcMessage,
    },
    service::{Peer, RequestContext, Service},
};
use serde::Deserialize;

use super::{Http, endpoint, reply};
use crate::session::{self, Reply, Session, Twice};

/// A request that is answered here.
pub(super) struct Plain {
    id: RequestId,
    request: ClientRequest,
    meta: RequestMetaObject,
    peer: Peer<RoleServer>,
}

/// A call of a tool: what comes most often is not tried as every other request first.
#[derive(Deserialize)]
struct ToolCall {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    params: CallToolRequestParams,
}

/// The request in a message, when nothing about it is unusual.
pub(super) fn plain(
    session: &Session,
    headers: &HeaderMap,
    method: Option<&str>,
    body: &[u8],
) -> Option<Plain> {
    let peer = session.peer()?.clone();
    let has_usual_headers =
        accepts_both(headers) && endpoint::version(headers).is_none_or(is_known);
    if !has_usual_headers {
        return None;
    }
    let (id, request, meta) = match method? {
        "tools/call" => {
            let ToolCall { id, mut params, .. } = serde_json::from_slice(body).ok()?;
            let meta = params.meta.take().unwrap_or_default();
            (id, ClientRequest::CallToolRequest(CallToolRequest::new(params)), meta)
        }
        "initialize" => return None,
        _ => {
            let message: ClientJsonRpcMessage = serde_json::from_slice(body).ok()?;
            let JsonRpcMessage::Request(mut asked) = message else { return None };
            let meta = std::mem::take(asked.request.get_meta_mut());
            (asked.id, asked.request, meta)
        }
    };
    // What says its own revision does not go by that of the session.
    meta.protocol_version().is_none().then_some(Plain { id, request, meta, peer })
}

impl Http {
    pub(super) async fn answer(
        &self,
        session: Arc<Session>,
        plain: Plain,
        parts: Parts,
    ) -> Response {
        let Plain { id, request, meta, peer } = plain;
        let mut cx = RequestContext::new(id.clone(), peer);
        cx.meta = meta;
        cx.extensions.insert(session.clone());
        cx.extensions.insert(Arc::new(parts.extensions));
        let handler = self.handler.clone();
        let work = |cancelled| async move {
            cx.ct = cancelled;
            let id = cx.id.clone();
            match handler.handle_request(request, cx).await {
                Ok(result) => ServerJsonRpcMessage::response(result, id),
                Err(error) => ServerJsonRpcMessage::error(error, Some(id)),
            }
        };
        match session::answer(session, id.clone(), work).await {
            Ok(Reply::Message(message)) => reply::message(&message),
            Ok(Reply::Events(messages)) => reply::events(messages, self.core.limits.keep_alive),
            Err(Twice) => {
                let (message, id) = ("a request of this id is under way", id.into_json_value());
                let status = StatusCode::BAD_REQUEST;
                reply::error(status, reply::INVALID_REQUEST, message, Some(id))
            }
        }
    }
}

fn accepts_both(headers: &HeaderMap) -> bool {
    let accepts = headers.get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    let kinds = ["application/json", "text/event-stream"];
    accepts.is_some_and(|accepts| kinds.iter().all(|kind| accepts.contains(kind)))
}

fn is_known(version: &HeaderValue) -> bool {
    ProtocolVersion::KNOWN_VERSIONS.iter().any(|known| known.as_str() == version)
}
