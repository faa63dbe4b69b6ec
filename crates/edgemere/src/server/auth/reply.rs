//! Replies are proved, too: a node that asks knows that a node of its network has answered, and that
//! nobody has changed the answer.
//!
//! Behind the body of a reply comes its proof, as 64 hex digits: so a reply of any length is proved
//! while it is sent, and one that was cut off is not. The header `edgemere-proof: behind` says so. Of
//! a gRPC call only the beginning is proved, in the same header.

use std::sync::Arc;

use axum::body::{Body, BodyDataStream, Bytes};
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use sha2::{Digest, Sha256};

use super::grpc;
use super::guard::{Guard, Nonce};
use super::key::NetworkKey;
use super::mac::{self, hex, unhex};
use super::proof::REPLY_HEADER;

/// What the header says when the proof comes behind the body.
const BEHIND: &str = "behind";

/// How long a proof is there.
const LENGTH: usize = mac::LENGTH * 2;

/// What is proved of a reply beside its body.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) nonce: [u8; 16],
    pub(super) status: u16,
    pub(super) content_type: String,
}

impl Head {
    fn proof(&self, key: &NetworkKey, body: Sha256) -> String {
        let Self { nonce, status, content_type } = self;
        let (nonce, body) = (hex(nonce), hex(&body.finalize()));
        let message = format!("edgemere-reply-v1\n{nonce}\n{status}\n{content_type}\n{body}");
        hex(&mac::mac(key.bytes(), message.as_bytes()))
    }
}

/// Adds to a reply the proof that it is the answer of a node of the network.
pub(crate) async fn prove(
    Shared(guard): Shared<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let nonce = request.extensions().get::<Nonce>().copied();
    let reply = next.run(request).await;
    let (Some(key), Some(Nonce(nonce))) = (guard.key(), nonce) else { return reply };
    let (mut parts, body) = reply.into_parts();
    let status = parts.status.as_u16();
    if grpc::is_call(&parts.headers) {
        if let Ok(proof) = HeaderValue::from_str(&call_proof(key, &nonce, status)) {
            parts.headers.insert(REPLY_HEADER, proof);
        }
        return Response::from_parts(parts, body);
    }
    let head = Head { nonce, status, content_type: content_type(&parts.headers) };
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(REPLY_HEADER, HeaderValue::from_static(BEHIND));
    let proved = proved(body.into_data_stream(), key.clone(), head);
    Response::from_parts(parts, Body::from_stream(proved))
}

/// The body of a reply without its proof, when it is there and right.
pub(super) fn checked(
    key: &NetworkKey,
    head: &Head,
    header: Option<&str>,
    mut body: Vec<u8>,
) -> Option<Vec<u8>> {
    let given = (header == Some(BEHIND)).then(|| body.len().checked_sub(LENGTH))??;
    let given = String::from_utf8(body.split_off(given)).ok()?;
    let right = head.proof(key, Sha256::new_with_prefix(&body));
    is_same(&given, &right).then_some(body)
}

/// What proves that a call is answered by a node with the key. It is in the headers that come first,
/// and says nothing about what follows.
pub(super) fn call_proof(key: &NetworkKey, nonce: &[u8; 16], status: u16) -> String {
    let message = format!("edgemere-call-reply-v1\n{}\n{status}", hex(nonce));
    hex(&mac::mac(key.bytes(), message.as_bytes()))
}

/// Whether two proofs, in hex, are the same.
pub(super) fn is_same(given: &str, right: &str) -> bool {
    let bytes = |text| unhex::<{ mac::LENGTH }>(text);
    matches!((bytes(given), bytes(right)), (Some(a), Some(b)) if mac::is_same(&a, &b))
}

pub(super) fn content_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.unwrap_or_default().to_owned()
}

/// A body, and behind it its proof; none behind a body that failed.
fn proved(
    pieces: BodyDataStream,
    key: NetworkKey,
    head: Head,
) -> impl Stream<Item = Result<Bytes, axum::Error>> {
    stream::unfold(Some((pieces, Sha256::new())), move |state| {
        let (key, head) = (key.clone(), head.clone());
        async move {
            let (mut pieces, mut hash) = state?;
            match pieces.next().await {
                Some(Ok(piece)) => {
                    hash.update(&piece);
                    Some((Ok(piece), Some((pieces, hash))))
                }
                Some(Err(error)) => Some((Err(error), None)),
                None => Some((Ok(head.proof(&key, hash).into()), None)),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    fn key(byte: u8) -> NetworkKey {
        NetworkKey::parse(&hex(&[byte; 32])).unwrap()
    }

    fn head() -> Head {
        Head { nonce: [1; 16], status: 200, content_type: "text/plain".into() }
    }

    async fn sent(pieces: Vec<&'static str>) -> Vec<u8> {
        let pieces = stream::iter(pieces).map(|piece| Ok::<_, axum::Error>(Bytes::from(piece)));
        let body = Body::from_stream(pieces).into_data_stream();
        let proved = Body::from_stream(proved(body, key(7), head()));
        to_bytes(proved, usize::MAX).await.unwrap().to_vec()
    }

    #[tokio::test]
    async fn a_body_comes_back_as_it_was_sent_and_no_other_does() {
        for pieces in [vec![], vec!["rows"], vec!["a", "", "b"]] {
            let sent = sent(pieces.clone()).await;
            let body = checked(&key(7), &head(), Some(BEHIND), sent);
            assert_eq!(body, Some(pieces.concat().into_bytes()));
        }
        let sent = sent(vec!["rows"]).await;
        let check = |key: &NetworkKey, head: &Head, header, body: &[u8]| {
            checked(key, head, header, body.to_vec()).is_some()
        };
        let behind = Some(BEHIND);
        assert!(check(&key(7), &head(), behind, &sent));
        assert!(!check(&key(8), &head(), behind, &sent), "another key");
        assert!(!check(&key(7), &head(), None, &sent), "no header");
        assert!(!check(&key(7), &head(), behind, &sent[1..]), "the first byte is gone");
        assert!(!check(&key(7), &head(), behind, &sent[..sent.len() - 1]), "cut off");
        assert!(!check(&key(7), &head(), behind, b"rows"), "no proof");
        let mut other = sent.clone();
        other[0] ^= 1;
        assert!(!check(&key(7), &head(), behind, &other), "changed");
        for other in [
            Head { nonce: [2; 16], ..head() },
            Head { status: 404, ..head() },
            Head { content_type: "application/json".into(), ..head() },
        ] {
            assert!(!check(&key(7), &other, behind, &sent), "{other:?}");
        }
    }

    #[tokio::test]
    async fn a_body_that_fails_has_no_proof() {
        let failed = || axum::Error::new(std::io::Error::other("gone"));
        let pieces = stream::iter([Ok(Bytes::from("rows")), Err(failed())]);
        let body = Body::from_stream(pieces).into_data_stream();
        let sent: Vec<_> = proved(body, key(7), head()).collect().await;
        assert!(matches!(&sent[..], [Ok(_), Err(_)]), "{sent:?}");
    }
}
