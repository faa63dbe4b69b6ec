//! How questions reach clients: at once over the connection of an older client, as the result of the
//! call for one of 2026-07-28, which calls again with the answers.

use std::collections::BTreeMap;

use rmcp::{
    RoleServer,
    model::{
        ClientCapabilities, CustomRequest, GetExtensions, InputRequest, InputRequests,
        InputRequiredResult, InputResponses, RequestId, RequestStateCodec, SealOptions,
        ServerRequest,
    },
    service::{Peer, PeerRequestOptions, ServiceError},
};
use serde_json::{Map, Value, json};

use crate::{Answer, Fault, Limits, Question, ask::Questions, fault::FaultKind, session};

/// How long a client may take to come back with answers.
const STATE_TTL: std::time::Duration = std::time::Duration::from_secs(3600);

/// Refuses to ask what the client has not said that it can answer.
pub(crate) fn check_capability(question: &Question, can: &ClientCapabilities) -> Result<(), Fault> {
    let can = serde_json::to_value(can).unwrap_or_default();
    let (path, words) = match question {
        // A client that says nothing of forms and pages knows forms.
        Question::Form { .. } => ("/elicitation", "ask a person to fill in a form"),
        Question::Page { .. } => ("/elicitation/url", "ask a person to open a page"),
        Question::Model(_) => ("/sampling", "ask its model"),
        Question::Folders => ("/roots", "tell its folders"),
    };
    if can.pointer(path).is_some() {
        return Ok(());
    }
    let nested = |inner, name: &str| json!({ name: inner });
    let required = path.split('/').skip(1).fold(None, |_, name| Some(name));
    let required = match (question, required) {
        (Question::Page { .. }, _) => nested(json!({ "url": {} }), "elicitation"),
        (_, Some(name)) => nested(json!({}), name),
        (_, None) => json!({}),
    };
    Err(Fault::incapable(format!("this tool needs a client that can {words}"), required))
}

/// The answers that came with the request; a fault that asks the client when one is missing.
pub(crate) fn answered(
    questions: Vec<(String, Question)>,
    answers: &BTreeMap<String, Value>,
) -> Result<Vec<Answer>, Fault> {
    let mut found = Vec::new();
    let mut open = Questions::new();
    for (name, question) in questions {
        match answers.get(&name).filter(|answer| fits(&question, answer)) {
            Some(answer) => found.push(Answer(answer.clone())),
            None => _ = open.insert(name, question),
        }
    }
    match open.is_empty() {
        true => Ok(found),
        false => Err(Fault::questions(open)),
    }
}

/// Asks over the connection, and waits.
pub(crate) async fn ask_now(
    peer: &Peer<RoleServer>,
    asked_for: &RequestId,
    question: Question,
    limits: &Limits,
) -> Result<Answer, Fault> {
    let (method, params) = spelled(&question);
    let mut request = ServerRequest::CustomRequest(CustomRequest::new(method, params));
    session::mark(request.extensions_mut(), asked_for);
    let options = PeerRequestOptions::with_timeout(limits.call_time_max);
    let asked = peer.send_request_with_option(request, options).await;
    let answer = match asked {
        Ok(asked) => asked.await_response().await,
        Err(error) => Err(error),
    };
    let answer = answer.map_err(unanswered)?;
    let answer = serde_json::to_value(answer).unwrap_or_default();
    match fits(&question, &answer) {
        true => Ok(Answer(answer)),
        false => Err(Fault::internal(format!("the client's answer to {method} does not fit"))),
    }
}

fn unanswered(error: ServiceError) -> Fault {
    match error {
        ServiceError::McpError(error) => {
            Fault::internal(format!("the client did not answer: {}", error.message))
        }
        _ => Fault::internal("the client did not answer"),
    }
}

/// The questions as a result, with the answers so far for the client to keep.
pub(crate) fn input_required(
    fault: &Fault,
    answers: &BTreeMap<String, Value>,
    seal: &RequestStateCodec,
    belongs_to: &[u8],
) -> Option<InputRequiredResult> {
    let FaultKind::Questions(questions) = &fault.kind else { return None };
    let requests = questions
        .iter()
        .map(|(name, question)| input_request(question).map(|request| (name.clone(), request)));
    let requests = requests.collect::<Option<InputRequests>>()?;
    let options = SealOptions::new().associated_data(belongs_to).ttl(STATE_TTL);
    let state = seal.seal_json_with(answers, &options).ok()?;
    Some(InputRequiredResult::new(Some(requests), Some(state)))
}

/// A question as it is sent in a result.
pub(crate) fn input_request(question: &Question) -> Option<InputRequest> {
    let (method, params) = spelled(question);
    let params = params.unwrap_or_else(|| json!({}));
    serde_json::from_value(json!({ "method": method, "params": params })).ok()
}

/// All answers that a request brings: those of before from the state, which must be ours, and its
/// own.
pub(crate) fn brought(
    state: Option<&str>,
    responses: Option<InputResponses>,
    seal: &RequestStateCodec,
    belongs_to: &[u8],
) -> Result<BTreeMap<String, Value>, Fault> {
    let before = match state {
        Some(state) => seal.open_json_with(state, belongs_to).map_err(|_| {
            Fault::invalid_params("requestState is not of this request: begin again without it")
        })?,
        None => BTreeMap::new(),
    };
    let mut all: BTreeMap<String, Value> = before;
    all.extend(responses.unwrap_or_default());
    Ok(all)
}

/// The method that asks, and its parameters.
fn spelled(question: &Question) -> (&'static str, Option<Value>) {
    match question {
        Question::Form { message, schema } => {
            ("elicitation/create", Some(json!({ "message": message, "requestedSchema": schema })))
        }
        Question::Page { message, url, id } => {
            let params =
                json!({ "mode": "url", "message": message, "url": url, "elicitationId": id });
            ("elicitation/create", Some(params))
        }
        Question::Model(params) => ("sampling/createMessage", Some(params.clone().into())),
        Question::Folders => ("roots/list", None),
    }
}

/// Whether an answer has the shape of its question.
pub(crate) fn fits(question: &Question, answer: &Value) -> bool {
    let has = |key: &str, is: fn(&Value) -> bool| answer.get(key).is_some_and(is);
    match question {
        Question::Form { schema, .. } => match answer.get("action").and_then(Value::as_str) {
            Some("accept") => answer
                .get("content")
                .and_then(Value::as_object)
                .is_some_and(|content| required(schema).all(|name| content.contains_key(name))),
            Some("decline" | "cancel") => true,
            _ => false,
        },
        Question::Page { .. } => {
            matches!(
                answer.get("action").and_then(Value::as_str),
                Some("accept" | "decline" | "cancel")
            )
        }
        Question::Model(_) => has("content", |content| content.is_object() || content.is_array()),
        Question::Folders => has("roots", Value::is_array),
    }
}

/// The properties that a form must have.
fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array).map(Vec::as_slice);
    names.unwrap_or_default().iter().filter_map(Value::as_str)
}
