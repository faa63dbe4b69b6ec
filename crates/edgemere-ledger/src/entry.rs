//! One entry of the log: what it changes, how it is written, and the hash that ties it to the one
//! before.
//!
//! A line is `HASH JSON\n`. HASH is the SHA-256 of the hash before it and the JSON, so a change
//! anywhere in the history shows in every hash after it. An entry is one line, whatever it changes:
//! it is there whole or not at all.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::identity::hex;
use crate::network::Network;
use crate::snapshot::{Part, Rest};
use crate::{Policy, Position};

/// The hash before the first entry.
pub(crate) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The length of a hash in hex.
const HASH_LENGTH: usize = GENESIS.len();

/// What an entry does to the view.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// Puts policies, each in the place of the one with its id or at the end.
    Put(Vec<Arc<Policy>>),
    /// Puts policies in the same way, which the master is to get.
    Send(Vec<Arc<Policy>>),
    /// Takes out the policies with these ids.
    Drop(Vec<String>),
    /// What a stretch of the master's history comes to: first takes out, then puts. The copy stands
    /// at that position afterwards.
    Follow {
        /// The ids to take out.
        drop: Vec<String>,
        /// The policies to put.
        put: Vec<Arc<Policy>>,
        /// The master's position.
        at: Position,
        /// The master's network, when it was not known before.
        network: Option<Network>,
    },
    /// Puts policies that another node has made.
    Adopt {
        /// The policies.
        policies: Vec<Arc<Policy>>,
        /// The node that made them.
        by: String,
    },
    /// Says which network this is the ledger of.
    Network(Network),
    /// Ends being a copy: this ledger is the network's from here on.
    Promote(Network),
    /// The next history of the master is taken, whatever it drops.
    Accept,
    /// A part of what all entries before came to, in place of them. Only at the begin of a log.
    Snapshot(Part),
}

/// The JSON of an entry as it is written.
#[derive(Default, Serialize)]
struct Written<'a> {
    seq: u64,
    time: &'a str,
    op: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    policy: Option<&'a Policy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    policies: Option<Vec<&'a Policy>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<&'a Position>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<&'a Network>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origins: Option<&'a [(String, String)]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outbox: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rest: Option<&'a Rest>,
}

/// The JSON of an entry as it is read. An unknown key is an error: it may carry what this version
/// would lose.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    seq: u64,
    #[serde(rename = "time")]
    _time: String,
    op: String,
    policy: Option<Value>,
    policies: Option<Vec<Value>>,
    ids: Option<Vec<String>>,
    at: Option<Position>,
    by: Option<String>,
    network: Option<Network>,
    origins: Option<Vec<(String, String)>>,
    outbox: Option<Vec<String>>,
    rest: Option<Rest>,
}

impl Read {
    /// The keys that are there beside those of every entry.
    fn keys(&self) -> Vec<&'static str> {
        let keys = [
            ("policy", self.policy.is_some()),
            ("policies", self.policies.is_some()),
            ("ids", self.ids.is_some()),
            ("at", self.at.is_some()),
            ("by", self.by.is_some()),
            ("network", self.network.is_some()),
            ("origins", self.origins.is_some()),
            ("outbox", self.outbox.is_some()),
            ("rest", self.rest.is_some()),
        ];
        keys.into_iter().filter_map(|(key, is_there)| is_there.then_some(key)).collect()
    }

    /// The policy or the policies, of which there is one of both.
    fn policies(&mut self) -> Result<Vec<Arc<Policy>>, String> {
        let one = self.policy.take();
        one.into_iter().chain(self.policies.take().unwrap_or_default()).map(policy_of).collect()
    }
}

/// Writes an entry as JSON.
pub(crate) fn encode(seq: u64, time: &str, change: &Change) -> serde_json::Result<String> {
    let mut written = Written { seq, time, op: operation(change), ..Written::default() };
    match change {
        Change::Put(policies) | Change::Send(policies) => written.put(policies),
        Change::Drop(ids) => written.ids = Some(ids),
        Change::Follow { drop, put, at, network } => {
            written.ids = Some(drop);
            written.policies = Some(put.iter().map(AsRef::as_ref).collect());
            written.at = Some(at);
            written.network = network.as_ref();
        }
        Change::Adopt { policies, by } => {
            written.put(policies);
            written.by = Some(by);
        }
        Change::Network(network) | Change::Promote(network) => written.network = Some(network),
        Change::Accept => {}
        Change::Snapshot(part) => {
            written.policies = Some(part.policies.iter().map(AsRef::as_ref).collect());
            written.ids = Some(&part.dropped);
            written.origins = Some(&part.origins);
            written.outbox = Some(&part.outbox);
            written.rest = part.rest.as_ref();
        }
    }
    serde_json::to_string(&written)
}

impl<'a> Written<'a> {
    fn put(&mut self, policies: &'a [Arc<Policy>]) {
        match policies {
            [policy] => self.policy = Some(policy),
            all => self.policies = Some(all.iter().map(AsRef::as_ref).collect()),
        }
    }
}

fn operation(change: &Change) -> &'static str {
    match change {
        Change::Put(_) => "put",
        Change::Send(_) => "send",
        Change::Drop(_) => "drop",
        Change::Follow { .. } => "follow",
        Change::Adopt { .. } => "adopt",
        Change::Network(_) => "network",
        Change::Promote(_) => "promote",
        Change::Accept => "accept",
        Change::Snapshot(_) => "snapshot",
    }
}

/// Reads the JSON of an entry; the error says what is wrong with it.
pub(crate) fn decode(json: &str) -> Result<(u64, Change), String> {
    let mut read: Read = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let unknown = || format!("the operation \"{}\" is not known in this form", read.op);
    let change = match (read.op.as_str(), read.keys().as_slice()) {
        ("put", ["policy" | "policies"]) => Change::Put(read.policies()?),
        ("send", ["policy" | "policies"]) => Change::Send(read.policies()?),
        ("drop", ["ids"]) => Change::Drop(read.ids.take().unwrap_or_default()),
        ("follow", ["policies", "ids", "at"] | ["policies", "ids", "at", "network"]) => {
            let at = read.at.take().ok_or_else(unknown)?;
            let (drop, network) = (read.ids.take().unwrap_or_default(), read.network.take());
            Change::Follow { drop, put: read.policies()?, at, network }
        }
        ("adopt", ["policy" | "policies", "by"]) => {
            let by = read.by.take().unwrap_or_default();
            Change::Adopt { policies: read.policies()?, by }
        }
        ("network", ["network"]) => Change::Network(read.network.take().ok_or_else(unknown)?),
        ("promote", ["network"]) => Change::Promote(read.network.take().ok_or_else(unknown)?),
        ("accept", []) => Change::Accept,
        (
            "snapshot",
            ["policies", "ids", "origins", "outbox"]
            | ["policies", "ids", "origins", "outbox", "rest"],
        ) => Change::Snapshot(Part {
            dropped: read.ids.take().unwrap_or_default(),
            origins: read.origins.take().unwrap_or_default(),
            outbox: read.outbox.take().unwrap_or_default(),
            rest: read.rest.take(),
            policies: read.policies()?,
        }),
        _ => return Err(unknown()),
    };
    Ok((read.seq, change))
}

/// The hash of an entry.
pub(crate) fn hash(previous: &str, json: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(previous);
    digest.update(json);
    hex(&digest.finalize())
}

/// The hash and the JSON of a whole line, when it has that form.
pub(crate) fn split(line: &[u8]) -> Option<(&str, &str)> {
    let text = str::from_utf8(line.strip_suffix(b"\n")?).ok()?;
    let (hash, json) = text.split_at_checked(HASH_LENGTH)?;
    hash.bytes().all(is_hex).then_some((hash, json.strip_prefix(' ')?))
}

/// Whether bytes may be the beginning of the first line of a log, cut short.
pub(crate) fn is_torn_first(bytes: &[u8]) -> bool {
    let (hash, rest) = bytes.split_at(bytes.len().min(HASH_LENGTH));
    let begin: &[u8] = b" {\"seq\":1,\"time\":\"";
    let length = rest.len().min(begin.len());
    hash.iter().copied().all(is_hex) && rest.get(..length) == begin.get(..length)
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

fn policy_of(value: Value) -> Result<Arc<Policy>, String> {
    Policy::from_value(value).map(Arc::new).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(id: &str) -> Arc<Policy> {
        Arc::new(Policy::from_value(json!({"device": {"id": id, "rate": 0.1}})).unwrap())
    }

    #[test]
    fn writes_one_json_per_change_and_reads_it_back() {
        for (change, json) in [
            (
                Change::Put(vec![policy("a")]),
                r#"{"seq":7,"time":"t","op":"put","policy":{"device":{"id":"a","rate":0.1}}}"#,
            ),
            (
                Change::Put(vec![policy("a"), policy("b")]),
                concat!(
                    r#"{"seq":7,"time":"t","op":"put","policies":["#,
                    r#"{"device":{"id":"a","rate":0.1}},{"device":{"id":"b","rate":0.1}}]}"#
                ),
            ),
            (Change::Drop(vec!["a".into()]), r#"{"seq":7,"time":"t","op":"drop","ids":["a"]}"#),
            (
                Change::Send(vec![policy("a")]),
                r#"{"seq":7,"time":"t","op":"send","policy":{"device":{"id":"a","rate":0.1}}}"#,
            ),
            (
                Change::Follow {
                    drop: vec!["b".into()],
                    put: vec![policy("a")],
                    at: Position { entries: 3, head: "h".into() },
                    network: None,
                },
                concat!(
                    r#"{"seq":7,"time":"t","op":"follow","#,
                    r#""policies":[{"device":{"id":"a","rate":0.1}}],"ids":["b"],"#,
                    r#""at":{"entries":3,"head":"h"}}"#
                ),
            ),
        ] {
            assert_eq!(encode(7, "t", &change).unwrap(), json);
            assert_eq!(decode(json).unwrap(), (7, change));
        }
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for json in [
            r#"{"seq":1,"time":"t","op":"merge","ids":["a"]}"#,
            r#"{"seq":1,"time":"t","op":"put","ids":["a"]}"#,
            r#"{"seq":1,"time":"t","op":"follow","policies":[],"ids":["a"]}"#,
            r#"{"seq":1,"time":"t","op":"send","ids":["a"]}"#,
            r#"{"seq":1,"time":"t","op":"drop","ids":["a"],"by":"me"}"#,
            r#"{"seq":1,"time":"t","op":"put","policy":{"a":1}}"#,
            "",
        ] {
            assert!(decode(json).is_err(), "{json}");
        }
    }

    #[test]
    fn splits_only_whole_lines() {
        let json = "{}";
        let line = format!("{} {json}\n", hash(GENESIS, json));
        assert_eq!(split(line.as_bytes()).unwrap().1, json);
        for length in 0..line.len() {
            assert_eq!(split(&line.as_bytes()[..length]), None);
        }
        assert_eq!(split(line.to_uppercase().as_bytes()), None);
    }

    #[test]
    fn tells_a_torn_first_line_from_garbage() {
        let json = encode(1, "t", &Change::Drop(vec![])).unwrap();
        let line = format!("{} {json}\n", hash(GENESIS, &json));
        assert!((0..line.len()).all(|length| is_torn_first(&line.as_bytes()[..length])));
        assert!(!is_torn_first(b"PK\x03\x04"));
        assert!(!is_torn_first(&[0; 100]));
        assert!(!is_torn_first(format!("{GENESIS} hello").as_bytes()));
    }
}
