//! What other nodes answer: the body within its limit, or the error that it tells.

use std::time::Duration;

use edgemere_command::{Code, Content, Error, Kind, Media, Rendered};
use edgemere_ledger::Policy;
use futures_util::StreamExt;
use reqwest::Response;
use reqwest::header::{self, HeaderMap};
use serde_json::Value;

/// The body of an answer.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) text: String,
    is_json: bool,
}

/// Whether a body is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|t| t.as_bytes().starts_with(b"application/json"))
}

/// Reads a body of at most so many bytes.
pub(super) async fn read(
    response: Response,
    address: &str,
    timeout: Duration,
    bytes_max: usize,
) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(|error| failed(&error, address, timeout))?);
        if body.len() > bytes_max {
            return Err(wrong(address, &format!("it answered more than {bytes_max} bytes")));
        }
    }
    Ok(body)
}

impl Body {
    /// A body, which is text.
    pub(super) fn new(body: Vec<u8>, is_json: bool, address: &str) -> Result<Self, Error> {
        match String::from_utf8(body) {
            Ok(text) => Ok(Self { text, is_json }),
            Err(_) => Err(wrong(address, "it answered what is no text")),
        }
    }

    pub(super) fn rendered(self) -> Rendered {
        let media = if self.is_json { Media::Json } else { Media::Text };
        Rendered::new(media, Content::Whole(self.text))
    }
}

/// That a request failed on its way.
pub(super) fn failed(error: &reqwest::Error, address: &str, timeout: Duration) -> Error {
    match error.is_timeout() && !error.is_connect() {
        true => Error::PeerTimeout { address: address.to_owned(), timeout },
        false => wrong(address, &root_cause(error)),
    }
}

/// The error that a node told.
pub(super) fn told(address: &str, status: u16, body: &str) -> Error {
    failure(address, status, &serde_json::from_str(body).unwrap_or_default())
}

/// Why a master refused a policy.
pub(super) fn refused(address: &str, error: &Value) -> Error {
    let status = error.get("status").and_then(Value::as_u64);
    failure(address, status.and_then(|status| status.try_into().ok()).unwrap_or(400), error)
}

/// A policy as a master has it.
pub(super) fn policy_of(address: &str, answer: &Value) -> Result<Policy, Error> {
    let policy = answer.get("policy").cloned().unwrap_or_default();
    Policy::from_value(policy).map_err(|error| wrong(address, &error.to_string()))
}

/// That a node cannot be made sense of.
pub(super) fn wrong(address: &str, reason: &str) -> Error {
    Error::PeerUnreachable { address: address.to_owned(), reason: reason.to_owned() }
}

fn failure(address: &str, status: u16, object: &Value) -> Error {
    let text = |key| object.get(key).and_then(Value::as_str).map(String::from);
    let number = object.get("err_code").and_then(Value::as_u64);
    Error::PeerFailed {
        address: address.to_owned(),
        kind: Kind::from_http_status(status),
        code: Code {
            number: number.and_then(|number| number.try_into().ok()).unwrap_or(3),
            text: text("err_text").unwrap_or_else(|| "Error Process Failure".into()).into(),
        },
        message: text("local_msg").unwrap_or_else(|| format!("it answered with status {status}")),
    }
}

/// The innermost reason, which is the one that says something: "connection refused".
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string().to_lowercase()
}
