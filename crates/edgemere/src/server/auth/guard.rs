//! The network port's side: only who proves to have the network key gets an answer.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::super::hosts::{Hosts, Local};
use super::super::reply::Failure;
use super::super::visitor::Visitor;
use super::grpc;
use super::key::NetworkKey;
use super::proof::{Asked, Challenge, PROTOCOL, PROTOCOL_HEADER, Proof, is_same_major};

/// How old a proof may be, and how far ahead.
const WINDOW_MS: u64 = 60_000;

/// How much one request may bring.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Who is let in.
#[derive(Debug)]
pub(crate) struct Guard {
    key: Option<NetworkKey>,
    hosts: Hosts,
    instance: [u8; 16],
    started: Instant,
    seen: Mutex<Seen>,
}

/// The nonces of the last while, each of which was good for one request.
#[derive(Debug, Default)]
struct Seen {
    nonces: HashSet<[u8; 16]>,
    by_time: VecDeque<(u64, [u8; 16])>,
}

/// The nonce of a request that was let in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nonce(pub(super) [u8; 16]);

impl Guard {
    /// Lets in who has the key, or everybody where there is none.
    pub(crate) fn new(key: Option<NetworkKey>, hosts: Hosts) -> std::io::Result<Self> {
        let mut instance = [0; 16];
        getrandom::fill(&mut instance).map_err(std::io::Error::other)?;
        Ok(Self { key, hosts, instance, started: Instant::now(), seen: Mutex::default() })
    }

    pub(super) fn key(&self) -> Option<&NetworkKey> {
        self.key.as_ref()
    }

    fn now_ms(&self) -> u64 {
        // The clock begins with the window, so that nothing is before its beginning.
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX / 2);
        elapsed + WINDOW_MS
    }

    fn challenge(&self) -> Challenge {
        Challenge { instance: self.instance, time_ms: self.now_ms() }
    }

    /// The proof of a request, when it is good and new.
    fn check(&self, key: &NetworkKey, headers: &HeaderMap, asked: Asked<'_>) -> Option<Nonce> {
        let proof = Proof::from_header(headers.get(header::AUTHORIZATION)?.to_str().ok()?)?;
        let now = self.now_ms();
        let is_ours = proof.challenge.instance == self.instance
            && proof.challenge.time_ms.abs_diff(now) <= WINDOW_MS;
        // Only what was signed is remembered: a stranger cannot fill the memory.
        let is_good = is_ours && proof.holds(key, asked);
        (is_good && self.is_new(proof.nonce, now)).then_some(Nonce(proof.nonce))
    }

    fn is_new(&self, nonce: [u8; 16], now: u64) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Seen { nonces, by_time } = &mut *seen;
        // A proof may be from the future by a window, and good for another.
        while let Some((time, old)) = by_time.front().copied() {
            if time + 2 * WINDOW_MS >= now {
                break;
            }
            by_time.pop_front();
            nonces.remove(&old);
        }
        let is_new = nonces.insert(nonce);
        if is_new {
            by_time.push_back((now, nonce));
        }
        is_new
    }
}

/// Lets a request through when it proves to come from a node of the network that speaks our
/// protocol. Everybody else gets 401 and a challenge.
pub(crate) async fn authenticate(
    Shared(guard): Shared<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let mut reply = match guard.admit(request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => refusal,
    };
    let version = HeaderValue::from_static(PROTOCOL);
    reply.headers_mut().insert(PROTOCOL_HEADER, version);
    reply
}

impl Guard {
    async fn admit(&self, request: Request) -> Result<Request, Response> {
        let local = request.extensions().get::<Local>().copied();
        let host = self.hosts.check(request.uri(), request.headers(), local);
        host.map_err(|foreign| {
            tracing::warn!(reason = foreign.message(), "refused what is not from a node");
            foreign.into_reply(request.method().as_str(), "", None)
        })?;
        let is_call = grpc::is_call(request.headers());
        let request = match &self.key {
            None => Some(request),
            Some(key) if is_call => self.admit_call(key, request),
            Some(key) => self.admit_known(key, request).await,
        };
        let request = request.ok_or_else(|| self.refusal(is_call))?;
        let version = request.headers().get(PROTOCOL_HEADER).and_then(|v| v.to_str().ok());
        match version {
            Some(version) if is_same_major(version) => {}
            // The service that is called has a version of its own, and says itself what it misses.
            None if is_call => {}
            version => {
                tracing::warn!(version, "refused a caller that does not speak our protocol");
                return Err(other_protocol(version, is_call));
            }
        }
        if let Some(visitor) = request.extensions().get::<Visitor>() {
            visitor.stays();
        }
        Ok(request)
    }

    async fn admit_known(&self, key: &NetworkKey, request: Request) -> Option<Request> {
        let (mut parts, body) = request.into_parts();
        // A stranger's body is not even read.
        parts.headers.get(header::AUTHORIZATION)?;
        let body = to_bytes(body, BODY_BYTES_MAX).await.ok()?;
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let asked = Asked { method: parts.method.as_str(), path, body: &body };
        let nonce = self.check(key, &parts.headers, asked)?;
        parts.extensions.insert(nonce);
        Some(Request::from_parts(parts, Body::from(body)))
    }

    fn admit_call(&self, key: &NetworkKey, mut request: Request) -> Option<Request> {
        let nonce = self.check(key, request.headers(), grpc::CALL)?;
        request.extensions_mut().insert(nonce);
        Some(request)
    }

    fn refusal(&self, is_call: bool) -> Response {
        let mut reply = match is_call {
            true => grpc::refusal(grpc::Code::Unauthenticated, "it wants the network key"),
            false => StatusCode::UNAUTHORIZED.into_response(),
        };
        if let Ok(challenge) = HeaderValue::from_str(&self.challenge().to_header()) {
            reply.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
        reply
    }
}

fn other_protocol(version: Option<&str>, is_call: bool) -> Response {
    let failure = Failure::other_protocol(version);
    match is_call {
        true => grpc::refusal(grpc::Code::FailedPrecondition, failure.message()),
        false => failure.into_reply("", "", None),
    }
}

#[cfg(test)]
mod tests {
    use super::super::mac::hex;
    use super::*;

    const ASKED: Asked<'static> = Asked { method: "GET", path: "/", body: b"" };

    fn key() -> NetworkKey {
        NetworkKey::parse(&hex(&[7; 32])).unwrap()
    }

    fn keyed() -> Guard {
        Guard::new(Some(key()), Hosts::new("127.0.0.1:1".parse().unwrap(), &[])).unwrap()
    }

    fn check(guard: &Guard, challenge: Challenge, nonce: u8) -> bool {
        let proof = Proof::new(&key(), challenge, [nonce; 16], ASKED);
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, proof.to_header().parse().unwrap());
        guard.check(&key(), &headers, ASKED).is_some()
    }

    #[test]
    fn a_proof_is_good_once_for_one_process_and_for_a_while() {
        let guard = keyed();
        let challenge = guard.challenge();
        assert!(check(&guard, challenge.clone(), 1));
        assert!(!check(&guard, challenge.clone(), 1), "replayed");
        assert!(check(&guard, challenge.clone(), 2));
        let other = keyed();
        assert!(!check(&other, challenge.clone(), 3), "of another process");
        let late = Challenge { time_ms: challenge.time_ms + 2 * WINDOW_MS, ..challenge.clone() };
        assert!(!check(&guard, late, 4), "from the future");
        let old = Challenge { time_ms: 0, ..challenge };
        assert!(!check(&guard, old, 5) || guard.now_ms() <= WINDOW_MS, "too old");
    }

    #[test]
    fn nonces_are_forgotten_when_their_time_is_over() {
        let guard = keyed();
        assert!(guard.is_new([1; 16], 1000));
        assert!(!guard.is_new([1; 16], 1000 + 2 * WINDOW_MS));
        assert!(guard.is_new([2; 16], 1001 + 2 * WINDOW_MS));
        assert_eq!(guard.seen.lock().unwrap().nonces.len(), 1);
    }
}
