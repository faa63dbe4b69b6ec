//! What is signed, and how it is written: the same on both sides.
//!
//! A challenge is `Edgemere INSTANCE.TIME` in the header `www-authenticate`, a proof is
//! `Edgemere INSTANCE.TIME.NONCE.BODY.MAC` in `authorization`. INSTANCE is made anew by every process,
//! TIME are milliseconds of its own clock. BODY is the SHA-256 of the request's body: so a proof is
//! checked by the headers alone, before anything of the body is read. The host and port that the
//! caller has dialled are signed, too: what is sent to one node is no proof for another.

use mcp_serve::Host;
use sha2::{Digest, Sha256};

use super::key::NetworkKey;
use super::mac::{self, hex, unhex};

/// The version of what nodes say to each other. Nodes of different majors refuse each other.
pub(crate) const PROTOCOL: &str = "2.0";

/// The header that carries it, in every request and every reply.
pub(crate) const PROTOCOL_HEADER: &str = "edgemere-protocol";

/// The header of a reply that proves that it comes from a node of the network.
pub(crate) const REPLY_HEADER: &str = "edgemere-proof";

const SCHEME: &str = "Edgemere ";

/// Whether a version's major is ours: the number that it begins with.
pub(crate) fn is_same_major(version: &str) -> bool {
    fn major(version: &str) -> Option<&str> {
        version.split(|c: char| !c.is_ascii_digit()).next()
    }
    major(version) == major(PROTOCOL)
}

/// Which process is asked, and what its clock says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) instance: [u8; 16],
    pub(super) time_ms: u64,
}

impl Challenge {
    pub(super) fn to_header(&self) -> String {
        format!("{SCHEME}{}.{}", hex(&self.instance), self.time_ms)
    }

    pub(super) fn from_header(text: &str) -> Option<Self> {
        let (instance, time) = text.strip_prefix(SCHEME)?.split_once('.')?;
        Some(Self { instance: unhex(instance)?, time_ms: time.parse().ok()? })
    }
}

/// The SHA-256 of a body.
pub(super) type Hash = [u8; 32];

/// What a request asks for, and of whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    /// The host and port that the caller has dialled, as [`dialled`] writes it.
    pub(super) host: &'a str,
    pub(super) method: &'a str,
    /// The path with the query.
    pub(super) path: &'a str,
    pub(super) body: Hash,
}

/// A host and port as both sides write it.
pub(super) fn dialled(host: &Host) -> String {
    // What a client dials without a port has HTTP's.
    format!("{} {}", host.name(), host.port().unwrap_or(80))
}

/// The hash of a body.
pub(super) fn hash(body: &[u8]) -> Hash {
    Sha256::digest(body).into()
}

/// That whoever asks has the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Proof {
    pub(super) challenge: Challenge,
    pub(super) nonce: [u8; 16],
    /// Of the body that is to come.
    pub(super) body: Hash,
    mac: [u8; mac::LENGTH],
}

impl Proof {
    pub(super) fn new(
        key: &NetworkKey,
        challenge: Challenge,
        nonce: [u8; 16],
        asked: Asked<'_>,
    ) -> Self {
        let mac = mac::mac(key.bytes(), signed(&challenge, &nonce, asked).as_bytes());
        Self { challenge, nonce, body: asked.body, mac }
    }

    /// Whether it was made with the key for just this request, with the body that it says.
    pub(super) fn holds(&self, key: &NetworkKey, asked: Asked<'_>) -> bool {
        let right = Self::new(key, self.challenge.clone(), self.nonce, asked);
        mac::is_same(&self.mac, &right.mac)
    }

    pub(super) fn to_header(&self) -> String {
        let (nonce, body, mac) = (hex(&self.nonce), hex(&self.body), hex(&self.mac));
        format!("{}.{nonce}.{body}.{mac}", self.challenge.to_header())
    }

    pub(super) fn from_header(text: &str) -> Option<Self> {
        let mut parts = text.rsplitn(4, '.');
        let (mac, body, nonce) = (parts.next()?, parts.next()?, parts.next()?);
        let challenge = Challenge::from_header(parts.next()?)?;
        Some(Self { challenge, nonce: unhex(nonce)?, body: unhex(body)?, mac: unhex(mac)? })
    }
}

fn signed(challenge: &Challenge, nonce: &[u8; 16], asked: Asked<'_>) -> String {
    let Asked { host, method, path, body } = asked;
    format!(
        "edgemere-request-v2\n{}\n{}\n{}\n{host}\n{method}\n{path}\n{}",
        hex(&challenge.instance),
        challenge.time_ms,
        hex(nonce),
        hex(&body)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Asked<'static> =
        Asked { host: "h 1", method: "POST", path: "/a?b", body: [9; 32] };

    fn key(byte: u8) -> NetworkKey {
        NetworkKey::parse(&hex(&[byte; 32])).unwrap()
    }

    fn proof() -> Proof {
        Proof::new(&key(1), Challenge { instance: [2; 16], time_ms: 3 }, [4; 16], ASKED)
    }

    #[test]
    fn a_proof_holds_for_one_request_and_one_key() {
        assert!(proof().holds(&key(1), ASKED));
        assert!(!proof().holds(&key(2), ASKED));
        for other in [
            Asked { method: "GET", ..ASKED },
            Asked { path: "/a?c", ..ASKED },
            Asked { host: "h 2", ..ASKED },
            Asked { body: [8; 32], ..ASKED },
        ] {
            assert!(!proof().holds(&key(1), other), "{other:?}");
        }
        let moved = |challenge: Challenge, nonce| Proof { challenge, nonce, ..proof() };
        let Proof { challenge, nonce, .. } = proof();
        for other in [
            moved(Challenge { instance: [3; 16], ..challenge.clone() }, nonce),
            moved(Challenge { time_ms: 4, ..challenge.clone() }, nonce),
            moved(challenge, [5; 16]),
        ] {
            assert!(!other.holds(&key(1), ASKED), "{other:?}");
        }
    }

    #[test]
    fn headers_are_read_as_they_are_written() {
        assert_eq!(Proof::from_header(&proof().to_header()), Some(proof()));
        let challenge = proof().challenge;
        assert_eq!(Challenge::from_header(&challenge.to_header()), Some(challenge));
        for wrong in ["", "Edgemere ", "Bearer a.b.c.d", "Edgemere 00.1.2.3", "Edgemere ....", "é"]
        {
            assert_eq!(Proof::from_header(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_host_is_dialled_the_same_however_it_is_written() {
        let dialled = |text: &str| dialled(&Host::parse(text).unwrap());
        assert_eq!(dialled("LocalHost:7"), "localhost 7");
        assert_eq!(dialled("a.example"), dialled("A.example:80"));
        assert_eq!(dialled("[0::1]:9"), dialled("[::1]:9"));
    }

    #[test]
    fn versions_differ_by_their_major() {
        assert!(is_same_major(PROTOCOL) && is_same_major("2.7"));
        assert!(is_same_major("2, DataFusion 55.2.0") && !is_same_major("1, DataFusion 55.2.0"));
        assert!(!is_same_major("1.0") && !is_same_major("") && !is_same_major("20.0"));
    }
}
