//! Delivery of requests to clients: over the connection of a client of an older revision; as the result
//! of the call to a client of 2026-07-28, which repeats the call with the responses.

use std::{collections::BTreeMap, time::Duration};

use rmcp::{
    RoleServer,
    model::{
        ClientCapabilities, CustomRequest, GetExtensions, InputRequest as WireRequest,
        InputRequests as WireRequests, InputRequiredResult, InputResponses, RequestId,
        RequestStateCodec, SealOptions, ServerRequest,
    },
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::{Map, Value, json};

use super::{InputRequest, InputRequests, InputResponse};
use crate::{Fault, Limits, fault::FaultKind, session};

/// How long a client may take to repeat a call with responses.
const STATE_TTL: Duration = Duration::from_secs(3600);

/// Refuses a request that the client has not declared the capability for.
pub(crate) fn check_capability(
    request: &InputRequest,
    capabilities: &ClientCapabilities,
) -> Result<(), Fault> {
    let declared = serde_json::to_value(capabilities).unwrap_or_default();
    let (path, required, does) = match request {
        // A client that declares elicitation without details supports forms.
        InputRequest::Form { .. } => {
            ("/elicitation", json!({ "elicitation": {} }), "ask a person to fill in a form")
        }
        InputRequest::Url { .. } => (
            "/elicitation/url",
            json!({ "elicitation": { "url": {} } }),
            "ask a person to open a page",
        ),
        InputRequest::Sampling(_) => ("/sampling", json!({ "sampling": {} }), "ask its model"),
        InputRequest::Roots => ("/roots", json!({ "roots": {} }), "list its folders"),
    };
    match declared.pointer(path) {
        Some(_) => Ok(()),
        None => {
            Err(Fault::incapable(format!("this tool needs a client that can {does}"), required))
        }
    }
}

/// The responses that came with the call; a fault that asks the client for the missing ones.
pub(crate) fn find_responses(
    requests: Vec<(String, InputRequest)>,
    responses: &BTreeMap<String, Value>,
) -> Result<Vec<InputResponse>, Fault> {
    let mut found = Vec::new();
    let mut missing = InputRequests::new();
    for (name, request) in requests {
        match responses.get(&name).filter(|response| is_valid_response(&request, response)) {
            Some(response) => found.push(InputResponse(response.clone())),
            None => _ = missing.insert(name, request),
        }
    }
    match missing.is_empty() {
        true => Ok(found),
        false => Err(Fault::input_required(missing)),
    }
}

/// Sends a request over the connection and waits for the response.
pub(crate) async fn send_request(
    peer: &Peer<RoleServer>,
    call: &RequestId,
    request: InputRequest,
    limits: &Limits,
) -> Result<InputResponse, Fault> {
    let (method, params) = method_and_params(&request);
    let mut message = ServerRequest::CustomRequest(CustomRequest::new(method, params));
    session::mark(message.extensions_mut(), call);
    let options = PeerRequestOptions::with_timeout(limits.call_time_max);
    let response = match peer.send_request_with_option(message, options).await {
        Ok(sent) => sent.await_response().await,
        Err(error) => Err(error),
    };
    let response = response.map_err(no_response)?;
    let response = serde_json::to_value(response).unwrap_or_default();
    match is_valid_response(&request, &response) {
        true => Ok(InputResponse(response)),
        false => Err(Fault::internal(format!("the client's response to {method} is invalid"))),
    }
}

fn no_response(error: ServiceError) -> Fault {
    match error {
        ServiceError::McpError(error) => {
            Fault::internal(format!("the client did not answer: {}", error.message))
        }
        _ => Fault::internal("the client did not answer"),
    }
}

/// The requests as the result of a call, with the responses so far sealed for the client to hold.
pub(crate) fn input_required(
    fault: &Fault,
    responses: &BTreeMap<String, Value>,
    seal: &RequestStateCodec,
    associated_data: &[u8],
) -> Option<InputRequiredResult> {
    let FaultKind::InputRequired(requests) = &fault.kind else { return None };
    let requests = requests
        .iter()
        .map(|(name, request)| wire_request(request).map(|request| (name.clone(), request)));
    let requests = requests.collect::<Option<WireRequests>>()?;
    let options = SealOptions::new().associated_data(associated_data).ttl(STATE_TTL);
    let state = seal.seal_json_with(responses, &options).ok()?;
    Some(InputRequiredResult::new(Some(requests), Some(state)))
}

/// A request in rmcp's type.
pub(crate) fn wire_request(request: &InputRequest) -> Option<WireRequest> {
    let (method, params) = method_and_params(request);
    let params = params.unwrap_or_else(|| json!({}));
    serde_json::from_value(json!({ "method": method, "params": params })).ok()
}

/// All responses of a repeated call: the earlier ones from its sealed state, and its new ones.
pub(crate) fn merge_responses(
    state: Option<&str>,
    new: Option<InputResponses>,
    seal: &RequestStateCodec,
    associated_data: &[u8],
) -> Result<BTreeMap<String, Value>, Fault> {
    let mut all: BTreeMap<String, Value> = match state {
        Some(state) => seal.open_json_with(state, associated_data).map_err(|_| {
            Fault::invalid_params(
                "requestState does not belong to this request: repeat it without requestState",
            )
        })?,
        None => BTreeMap::new(),
    };
    all.extend(new.unwrap_or_default());
    Ok(all)
}

fn method_and_params(request: &InputRequest) -> (&'static str, Option<Value>) {
    match request {
        InputRequest::Form { message, schema } => {
            ("elicitation/create", Some(json!({ "message": message, "requestedSchema": schema })))
        }
        InputRequest::Url { message, url, id } => {
            let params =
                json!({ "mode": "url", "message": message, "url": url, "elicitationId": id });
            ("elicitation/create", Some(params))
        }
        InputRequest::Sampling(params) => ("sampling/createMessage", Some(params.clone().into())),
        InputRequest::Roots => ("roots/list", None),
    }
}

/// Whether a response has the structure that its request calls for.
pub(crate) fn is_valid_response(request: &InputRequest, response: &Value) -> bool {
    let has = |key: &str, is: fn(&Value) -> bool| response.get(key).is_some_and(is);
    match request {
        InputRequest::Form { schema, .. } => match response.get("action").and_then(Value::as_str) {
            Some("accept") => response
                .get("content")
                .and_then(Value::as_object)
                .is_some_and(|content| required(schema).all(|name| content.contains_key(name))),
            Some("decline" | "cancel") => true,
            _ => false,
        },
        InputRequest::Url { .. } => {
            matches!(
                response.get("action").and_then(Value::as_str),
                Some("accept" | "decline" | "cancel")
            )
        }
        InputRequest::Sampling(_) => {
            has("content", |content| content.is_object() || content.is_array())
        }
        InputRequest::Roots => has("roots", Value::is_array),
    }
}

/// The required properties of a form.
fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array).map(Vec::as_slice);
    names.unwrap_or_default().iter().filter_map(Value::as_str)
}
