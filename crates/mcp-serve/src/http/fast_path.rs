//! The fast path around rmcp's service, for ordinary requests in a session: the request is parsed once,
//! runs in the task of its connection, and a fast response is sent as plain JSON. All other requests go
//! through rmcp, which handles every case.

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
use crate::session::{self, DuplicateRequestId, Reply, Session};

/// A request on the fast path.
pub(super) struct FastRequest {
    id: RequestId,
    request: ClientRequest,
    meta: RequestMetaObject,
    peer: Peer<RoleServer>,
}

/// A tool call. The most frequent request gets its own type: rmcp's tries all others first.
#[derive(Deserialize)]
struct ToolCall {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    params: CallToolRequestParams,
}

/// The request in a message, if it qualifies for the fast path.
pub(super) fn request(
    session: &Session,
    headers: &HeaderMap,
    method: Option<&str>,
    body: &[u8],
) -> Option<FastRequest> {
    let peer = session.peer()?.clone();
    let is_ordinary = accepts_both(headers) && endpoint::version(headers).is_none_or(is_known);
    if !is_ordinary {
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
            let JsonRpcMessage::Request(mut message) = message else { return None };
            let meta = std::mem::take(message.request.get_meta_mut());
            (message.id, message.request, meta)
        }
    };
    // A request with its own protocol revision does not use that of the session.
    meta.protocol_version().is_none().then_some(FastRequest { id, request, meta, peer })
}

impl Http {
    pub(super) async fn run_fast(
        &self,
        session: Arc<Session>,
        request: FastRequest,
        parts: Parts,
    ) -> Response {
        let FastRequest { id, request, meta, peer } = request;
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
        match session::reply(session, id.clone(), work).await {
            Ok(Reply::Message(message)) => reply::message(&message),
            Ok(Reply::Events(messages)) => reply::events(messages, self.state.limits.keep_alive),
            Err(DuplicateRequestId) => {
                let (message, id) =
                    ("the session has an active request with this id", id.into_json_value());
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
