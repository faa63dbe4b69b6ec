//! The network port's side: only who proves to have the network key gets an answer.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State as Shared};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use mcp_serve::Host;

use super::super::bodies::{Arrived, Bodies, Held};
use super::super::hosts::{Hosts, Local};
use super::super::reply::Failure;
use super::super::visitor::Visitor;
use super::grpc;
use super::key::NetworkKey;
use super::mac;
use super::proof::{
    Asked, Challenge, Hash, PROTOCOL, PROTOCOL_HEADER, Proof, dialled, hash, is_same_major,
};

/// How old a proof may be, and how far ahead.
const WINDOW_MS: u64 = 60_000;

/// How much one request may bring.
const BODY_BYTES_MAX: usize = 16 << 20;

/// Who is let in.
#[derive(Debug)]
pub(crate) struct Guard {
    key: Option<NetworkKey>,
    hosts: Hosts,
    bodies: Arc<Bodies>,
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
    pub(crate) fn new(
        key: Option<NetworkKey>,
        hosts: Hosts,
        bodies: Arc<Bodies>,
    ) -> std::io::Result<Self> {
        let mut instance = [0; 16];
        getrandom::fill(&mut instance).map_err(std::io::Error::other)?;
        Ok(Self { key, hosts, bodies, instance, started: Instant::now(), seen: Mutex::default() })
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

    /// The proof of a request, when it is good and new. What the body must be is in it: whether it is
    /// is seen when it has been read.
    fn check(&self, key: &NetworkKey, headers: &HeaderMap, asked: Asked<'_>) -> Option<Proof> {
        let proof = Proof::from_header(headers.get(header::AUTHORIZATION)?.to_str().ok()?)?;
        let asked = Asked { body: proof.body, ..asked };
        let now = self.now_ms();
        let is_ours = proof.challenge.instance == self.instance
            && proof.challenge.time_ms.abs_diff(now) <= WINDOW_MS;
        // Only what was signed is remembered: a stranger cannot fill the memory.
        let is_good = is_ours && proof.holds(key, asked);
        (is_good && self.is_new(proof.nonce, now)).then_some(proof)
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
        // What the body holds is held until it is answered.
        Ok((request, _held)) => next.run(request).await,
        Err(refusal) => refusal,
    };
    let version = HeaderValue::from_static(PROTOCOL);
    reply.headers_mut().insert(PROTOCOL_HEADER, version);
    reply
}

impl Guard {
    async fn admit(&self, mut request: Request) -> Result<(Request, Held), Response> {
        let local = request.extensions().get::<Local>().copied();
        let host = self.hosts.check(request.uri(), request.headers(), local);
        let host = host.map_err(|foreign| refused(foreign, &request))?;
        let is_call = grpc::is_call(request.headers());
        let body = match &self.key {
            None => None,
            Some(key) => {
                let proof = self.proof(key, &request, &host, is_call);
                let proof = proof.ok_or_else(|| self.refusal(is_call))?;
                if !self.hosts.is_meant(&host, local) {
                    let message = format!("this node is not the one at \"{host}\"");
                    return Err(refused(Failure::foreign(message, OTHER_NODE_HINT), &request));
                }
                request.extensions_mut().insert(Nonce(proof.nonce));
                Some(proof.body)
            }
        };
        if let Some(refusal) = other_version(request.headers(), is_call) {
            return Err(refusal);
        }
        if let Some(visitor) = request.extensions().get::<Visitor>() {
            visitor.stays();
        }
        match is_call {
            // Its body is a stream, of which nobody waits for the end.
            true => Ok((request, Held::default())),
            false => self.with_body(request, body).await,
        }
    }

    /// The proof of a request, by its headers alone: a stranger's body is not even read.
    fn proof(
        &self,
        key: &NetworkKey,
        request: &Request,
        host: &Host,
        is_call: bool,
    ) -> Option<Proof> {
        let (host, headers) = (dialled(host), request.headers());
        if is_call {
            return self.check(key, headers, grpc::call(&host));
        }
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let method = request.method().as_str();
        self.check(key, headers, Asked { host: &host, method, path, body: [0; 32] })
    }

    /// The request with its whole body, which is the one that was signed.
    async fn with_body(
        &self,
        request: Request,
        signed: Option<Hash>,
    ) -> Result<(Request, Held), Response> {
        let (parts, body) = request.into_parts();
        let reply = |failure: Failure| failure.into_reply(parts.method.as_str(), "", None);
        let arrived = self.bodies.read(body, BODY_BYTES_MAX).await;
        let Arrived { bytes, held } =
            arrived.map_err(|unread| reply(unread.failure(BODY_BYTES_MAX)))?;
        if signed.is_some_and(|signed| !mac::is_same(&signed, &hash(&bytes))) {
            let message = "the body is not the one that was signed";
            return Err(reply(Failure::bad_request(message, "send the request again")));
        }
        Ok((Request::from_parts(parts, Body::from(bytes)), held))
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

const OTHER_NODE_HINT: &str =
    "something between the two passes requests on; if it may, start the node with --allow-host";

/// A refusal of what no node of the network sends.
fn refused(failure: Failure, request: &Request) -> Response {
    tracing::warn!(reason = failure.message(), "refused what is not from a node");
    failure.into_reply(request.method().as_str(), "", None)
}

/// A refusal of who does not speak our protocol.
fn other_version(headers: &HeaderMap, is_call: bool) -> Option<Response> {
    let version = headers.get(PROTOCOL_HEADER).and_then(|version| version.to_str().ok());
    match version {
        Some(version) if is_same_major(version) => None,
        // The service that is called has a version of its own, and says itself what it misses.
        None if is_call => None,
        version => {
            tracing::warn!(version, "refused a caller that does not speak our protocol");
            Some(other_protocol(version, is_call))
        }
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
    use futures_util::stream;

    use super::super::super::bodies::Limits;
    use super::super::mac::hex;
    use super::*;

    const ASKED: Asked<'static> = Asked { host: "h 1", method: "GET", path: "/", body: [0; 32] };

    fn key() -> NetworkKey {
        NetworkKey::parse(&hex(&[7; 32])).unwrap()
    }

    fn keyed() -> Guard {
        let hosts = Hosts::new("127.0.0.1:1".parse().unwrap(), &[]);
        Guard::new(Some(key()), hosts, Arc::new(Bodies::new(Limits::of(64 << 20)))).unwrap()
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

    const ADDRESS: &str = "127.0.0.1:1";

    /// What a request is answered with, and whether any of its body was read.
    async fn sent(
        guard: &Guard,
        signed: Option<(&str, &[u8])>,
        body: &'static [u8],
    ) -> (u16, bool) {
        let (read, is_read) = tokio::sync::watch::channel(false);
        let pieces = stream::iter([Ok::<_, std::io::Error>(body)]);
        let pieces = futures_util::StreamExt::inspect(pieces, move |_| _ = read.send(true));
        let request = Request::post("/v1/command").header(header::HOST, ADDRESS);
        let mut request = request.header(PROTOCOL_HEADER, PROTOCOL);
        if let Some((address, body)) = signed {
            let host = dialled(&Host::parse(address).unwrap());
            let asked =
                Asked { host: &host, method: "POST", path: "/v1/command", body: hash(body) };
            let nonce = rand_nonce();
            let proof = Proof::new(&key(), guard.challenge(), nonce, asked);
            request = request.header(header::AUTHORIZATION, proof.to_header());
        } else {
            request = request.header(header::AUTHORIZATION, "x");
        }
        let admitted = guard.admit(request.body(Body::from_stream(pieces)).unwrap()).await;
        let status = admitted.map_or_else(|refused| refused.status().as_u16(), |_| 200);
        (status, *is_read.borrow())
    }

    fn rand_nonce() -> [u8; 16] {
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).unwrap();
        nonce
    }

    #[tokio::test]
    async fn a_body_is_read_when_its_proof_is_good_and_must_be_the_one_that_was_signed() {
        let guard = keyed();
        assert_eq!(sent(&guard, None, b"a command").await, (401, false));
        assert_eq!(sent(&guard, Some((ADDRESS, b"a command")), b"a command").await, (200, true));
        assert_eq!(sent(&guard, Some((ADDRESS, b"a command")), b"another").await, (400, true));
        // Signed for another node, which has passed it on.
        let other = Some(("127.0.0.1:2", &b"a command"[..]));
        assert_eq!(sent(&guard, other, b"a command").await, (401, false));
        assert_eq!(guard.bodies.taken_bytes(), 0);
    }

    #[tokio::test]
    async fn a_proof_that_names_another_node_is_refused_there() {
        let guard = keyed();
        let host = "127.0.0.1:2";
        let asked = Asked { host: "127.0.0.1 2", method: "GET", path: "/health", body: hash(b"") };
        let proof = Proof::new(&key(), guard.challenge(), [1; 16], asked);
        let request = Request::get("/health").header(header::HOST, host);
        let request = request.header(header::AUTHORIZATION, proof.to_header());
        let request = request.header(PROTOCOL_HEADER, PROTOCOL).body(Body::empty()).unwrap();
        let refused = guard.admit(request).await.unwrap_err();
        assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    }
}
