//! The caller's side: answers the challenges of other nodes, and remembers them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::key::NetworkKey;
use super::proof::{Asked, Challenge, Proof, is_reply_proof, reply_proof};

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
        let key = self.key.as_ref()?;
        let (challenge, at) = {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.get(address)?.clone()
        };
        let passed = u64::try_from(at.elapsed().as_millis()).ok()?;
        let challenge = Challenge { time_ms: challenge.time_ms.checked_add(passed)?, ..challenge };
        let mut nonce = [0; 16];
        getrandom::fill(&mut nonce).ok()?;
        let proof = Proof::new(key, challenge, nonce, Asked { method, path, body });
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

    /// Whether a reply proves to come from a node of the network.
    pub(crate) fn is_proved(
        &self,
        signed: Option<&Signed>,
        proof: Option<&str>,
        status: u16,
        body: &[u8],
    ) -> bool {
        match (&self.key, signed) {
            (Some(key), Some(signed)) => proof.is_some_and(|proof| {
                is_reply_proof(proof, &reply_proof(key, &signed.nonce, status, body))
            }),
            // Without a key there is nothing to prove; with one, everything asked is signed.
            (key, _) => key.is_none(),
        }
    }
}
