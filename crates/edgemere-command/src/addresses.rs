//! Addresses of nodes: what one looks like, which one a policy gives, and which of them a caller may
//! have this node connect to. Readers reach only nodes that the ledger knows: a node is no way to look
//! into the network around it.

use std::net::{Ipv6Addr, SocketAddr};

use edgemere_ledger::{Condition, Kinds, Policy};

use crate::dispatch::Context;
use crate::error::Error;
use crate::node::Role;
use edgemere_service::Effect;

/// How long a host's name may be.
const HOST_BYTES_MAX: usize = 253;

/// Whether a word is `HOST:PORT`, and nothing else that could stand in a URL.
pub(crate) fn is_address(word: &str) -> bool {
    let Some((host, port)) = word.rsplit_once(':') else { return false };
    let is_port = port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok();
    is_port && is_host(host)
}

/// Whether a word is a name of a machine, an IPv4 address, or an IPv6 address in brackets.
fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[') {
        return inner.strip_suffix(']').is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok());
    }
    let is_named = host.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_".contains(&b));
    is_named && host.len() <= HOST_BYTES_MAX && host.starts_with(|c: char| c.is_alphanumeric())
}

/// The network address that a node's policy gives; none when what it gives is no address.
pub(crate) fn address_of(policy: &Policy) -> Option<String> {
    let (ip, port) = (policy.text("ip")?, policy.attribute("port")?.as_u64()?);
    let address = if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") };
    is_address(&address).then_some(address)
}

/// Refuses an address that the caller may not have this node connect to, before anything is connected:
/// the error does not reveal whether a node listens there.
pub(crate) fn permit(address: &str, context: &Context<'_>) -> Result<(), Error> {
    if context.principal.may(Effect::Destructive) || is_known(address, context) {
        return Ok(());
    }
    Err(Error::UnknownAddress { address: address.to_owned() })
}

/// Whether an address is this node's, its master's or that of a node of the ledger.
fn is_known(address: &str, context: &Context<'_>) -> bool {
    let settings = context.node.settings();
    let is_same = |known: &str| normal(known) == normal(address);
    if is_same(&settings.network.to_string()) || settings.master.as_deref().is_some_and(is_same) {
        return true;
    }
    let kinds = Role::ALL.map(|role| role.name().to_owned()).to_vec();
    let nodes = context.node.ledger().select(&Kinds::Named(kinds), &Condition::True);
    nodes.iter().filter_map(|policy| address_of(policy)).any(|known| is_same(&known))
}

/// An address in one way of writing.
fn normal(address: &str) -> String {
    match address.parse::<SocketAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => address.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port_and_no_other_part_of_a_url() {
        for right in ["127.0.0.1:32048", "plant-1.example.com:1", "[::1]:5", "node_1:80"] {
            assert!(is_address(right), "{right}");
        }
        for wrong in [
            "",
            "host",
            "host:",
            ":1",
            "a b:1",
            "user@host:1",
            "host/path:1",
            "host:1/x",
            "host:1?a",
            "host:+1",
            "host:70000",
            "[::1:5",
            "[evil.example]:1",
            "a#b:1",
            "é:1",
            "..:1",
            "::1:80",
            "host:1\r\nx:1",
        ] {
            assert!(!is_address(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_policy_gives_an_address_only_when_it_is_one() {
        let address = |ip: &str, port: u64| {
            let policy = json!({ "operator": { "name": "o", "ip": ip, "port": port } });
            address_of(&Policy::from_value(policy).unwrap())
        };
        assert_eq!(address("10.0.0.1", 80).as_deref(), Some("10.0.0.1:80"));
        assert_eq!(address("::1", 80).as_deref(), Some("[::1]:80"));
        for ip in ["x@10.0.0.1", "10.0.0.1/a", "10.0.0.1:80/?a=", "a b", ""] {
            assert_eq!(address(ip, 80), None, "{ip}");
        }
        assert_eq!(address("10.0.0.1", 70_000), None);
    }
}
