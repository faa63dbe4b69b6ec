//! The caller's side: answers the challenges of other nodes, remembers them, and checks the proofs of
//! replies.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use mcp_serve::Host;

use super::grpc;
use super::key::NetworkKey;
use super::proof::{Asked, Challenge, Proof, REPLY_HEADER, dialled, hash};
use super::reply::{self, Head};

/// How many nodes are remembered.
const NODES_MAX: usize = 10_000;

/// Proves to other nodes that this one is of their network.
#[derive(Debug)]
pub(crate) struct Caller {
    key: Option<NetworkKey>,
    /// The last challenge of each address, and when it came.
    known: Mutex<HashMap<String, (Challenge, Instant)>>,
}

/// A proof for one request.
#[derive(Debug)]
pub(crate) struct Signed {
    /// The header `authorization`.
    pub(crate) header: String,
    nonce: [u8; 16],
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Caller {
    pub(crate) fn new(key: Option<NetworkKey>) -> Self {
        Self { key, known: Mutex::default() }
    }

    /// Whether there is a key to prove anything with.
    pub(crate) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// The proof for a request to an address, when its challenge is known.
    pub(crate) fn sign(
        &self,
        address: &str,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Option<Signed> {
        let host = dialled(&Host::parse(address)?);
        self.sign_asked(address, Asked { host: &host, method, path, body: hash(body) })
    }

    /// The proof for a gRPC call to an address, when its challenge is known.
    pub(crate) fn sign_call(&self, address: &str) -> Option<Signed> {
        self.sign_asked(address, grpc::call(&dialled(&Host::parse(address)?)))
    }

    fn sign_asked(&self, address: &str, asked: Asked<'_>) -> Option<Signed> {
        let key = self.key.as_ref()?;
        let (challenge, at) = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(address)?.clone()
        };
        let passed = u64::try_from(at.elapsed().as_millis()).ok()?;
        let challenge = Challenge { time_ms: challenge.time_ms.checked_add(passed)?, ..challenge };
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).ok()?;
        let proof = Proof::new(key, challenge, nonce, asked);
        Some(Signed { header: proof.to_header(), nonce })
    }

    /// Remembers a node's challenge; says whether it is one that can be answered.
    pub(crate) fn remember(&self, address: &str, header: Option<&str>) -> bool {
        let Some(challenge) = header.and_then(Challenge::from_header) else { return false };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= NODES_MAX {
            known.clear();
        }
        known.insert(address.to_owned(), (challenge, Instant::now()));
        self.key.is_some()
    }

    /// Forgets a node's challenge.
    pub(crate) fn forget(&self, address: &str) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(address);
    }

    /// The body of a reply that proves to come from a node of the network.
    pub(crate) fn checked(&self, signed: Option<&Signed>, reply: Reply) -> Option<Vec<u8>> {
        let Reply { status, headers, body } = reply;
        match (&self.key, signed) {
            (Some(key), Some(Signed { nonce, .. })) => {
                let content_type = reply::content_type(&headers);
                let head = Head { nonce: *nonce, status, content_type };
                let proof = headers.get(REPLY_HEADER).and_then(|value| value.to_str().ok());
                reply::checked(key, &head, proof, body)
            }
            // Without a key there is nothing to prove; with one, everything asked is signed.
            (key, _) => key.is_none().then_some(body),
        }
    }

    /// Whether what answers a call proves to be a node of the network.
    pub(crate) fn is_answer(&self, call: &HeaderMap, status: u16, answer: &HeaderMap) -> bool {
        let text = |headers: &HeaderMap, name| Some(headers.get(name)?.to_str().ok()?.to_owned());
        let Some(key) = &self.key else { return true };
        let sent = text(call, AUTHORIZATION.as_str()).and_then(|sent| Proof::from_header(&sent));
        match (sent, text(answer, REPLY_HEADER)) {
            (Some(sent), Some(proof)) => {
                reply::is_same(&proof, &reply::call_proof(key, &sent.nonce, status))
            }
            _ => false,
        }
    }
}
