//! gRPC: calls whose bodies are streams, in both directions. Nobody can wait for the end of such a
//! body, so a proof is for the call and not for what flows in it. And a refusal is a status of
//! gRPC's: its clients do not read others.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::proof::Asked;

/// What a proof of a call is for: to call the node at this host and port. No path of HTTP looks like this one, so that it
/// is a proof for nothing else. Which call it is does not count: whoever makes the proof has a nonce
/// for each, and does not know the names of the engine's calls.
pub(super) fn call(host: &str) -> Asked<'_> {
    Asked { host, method: "POST", path: "grpc", body: [0; 32] }
}

/// gRPC's codes, of those that we give ourselves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Code {
    /// The node cannot do this, and trying again does not help.
    FailedPrecondition = 9,
    /// The caller has not shown who it is.
    Unauthenticated = 16,
}

/// Whether a request, or a reply, is gRPC's.
pub(crate) fn is_call(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE);
    content_type.is_some_and(|t| t.as_bytes().starts_with(b"application/grpc"))
}

/// A reply that is nothing but a status.
pub(super) fn refusal(code: Code, message: &str) -> Response {
    let mut reply = ().into_response();
    let headers = reply.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    headers.insert(HeaderName::from_static("grpc-status"), HeaderValue::from(code as u16));
    if let Ok(message) = HeaderValue::from_str(&encoded(message)) {
        headers.insert(HeaderName::from_static("grpc-message"), message);
    }
    reply
}

/// A message as it stands in a header: everything but printable ASCII is `%XX`.
fn encoded(message: &str) -> String {
    let mut text = String::with_capacity(message.len());
    for byte in message.bytes() {
        match byte {
            b'%' | 0..b' ' | 0x7f.. => text.push_str(&format!("%{byte:02X}")),
            _ => text.push(char::from(byte)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_written_as_grpc_reads_them() {
        assert_eq!(encoded("version 1.0, the caller 2"), "version 1.0, the caller 2");
        assert_eq!(encoded("50 % für\n"), "50 %25 f%C3%BCr%0A");
    }

    #[test]
    fn a_refusal_is_a_status_and_no_body() {
        let reply = refusal(Code::Unauthenticated, "");
        assert!(reply.status().is_success() && is_call(reply.headers()));
        assert_eq!(reply.headers().get("grpc-status").unwrap(), "16");
    }
}
