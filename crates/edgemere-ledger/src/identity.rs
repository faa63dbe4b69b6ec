//! The id of a policy, taken from its content as EdgeLake takes it, so that both name the same
//! policy alike.

use md5::{Digest, Md5};
use serde_json::Value;

use crate::{Policy, python};

/// What a table's id is made of: two tables with the same values here are the same table.
const TABLE: [&str; 3] = ["company", "name", "dbms"];

/// What a cluster's id is made of.
const CLUSTER: [&str; 4] = ["company", "name", "parent", "table"];

/// What the ledger itself adds to a policy, and the id is therefore taken without.
const ADDED: [&str; 3] = ["id", "date", "ledger"];

/// The id of a policy: the MD5 of a text made from it, in hex.
pub(crate) fn content_id(policy: &Policy) -> String {
    let text = match policy.kind().to_ascii_lowercase().as_str() {
        "table" => named("table", &TABLE, policy),
        "cluster" => named("cluster", &CLUSTER, policy),
        _ => whole(policy),
    };
    hex(&Md5::digest(text))
}

/// Lower-case hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        text.extend([byte >> 4, byte & 15].map(digit));
        text
    })
}

fn digit(half: u8) -> char {
    char::from_digit(u32::from(half), 16).unwrap_or('0')
}

fn named(kind: &str, attributes: &[&str], policy: &Policy) -> String {
    let mut text = format!("{kind}:");
    for name in attributes {
        if let Some(value) = policy.attribute(name) {
            text.push_str(name);
            text.push(':');
            python::str(value, &mut text);
            text.push(':');
        }
    }
    text
}

fn whole(policy: &Policy) -> String {
    let own = |(name, _): &(&String, &Value)| !ADDED.contains(&name.as_str());
    let mut text = String::from("{");
    python::repr_text(policy.kind(), &mut text);
    text.push_str(": ");
    python::repr_dict(policy.attributes().iter().filter(own), &mut text);
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ids_are_those_that_edgelake_gives() {
        let parent = "dc8355cd35a0b0541ffc7e33c4584477";
        for (policy, id) in [
            (
                json!({"device": {"name": "dev-1", "model": "m1", "rate": 5}}),
                "4b5dae1c864b245db078023278d6dad1",
            ),
            (
                json!({"device": {"name": "dev-2", "model": "m2"}}),
                "2156ee6e1d20e0978db54b67446b3ba9",
            ),
            (
                json!({"device": {"id": "x", "name": "dev-4", "date": "y", "ledger": "local"}}),
                "c33ebea69bb20e2adcc181eb80a52bfd",
            ),
            (
                json!({"table": {"name": "rand_data", "create": "…", "dbms": "new_company"}}),
                "14444dbf66fd9dd7bb36d11ed0d62c0a",
            ),
            (json!({"cluster": {"name": "cluster1", "company": "New Company"}}), parent),
            (
                json!({"cluster": {"parent": parent, "name": "cluster1", "company": "New Company",
                    "table": [{"dbms": "new_company", "name": "rand_data"}]}}),
                "95913eac9e3a42527fb51f3c48315d27",
            ),
        ] {
            assert_eq!(content_id(&Policy::from_value(policy).unwrap()), id);
        }
    }
}
