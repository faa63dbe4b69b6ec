//! Under which hosts the network port is asked. Nodes reach each other by address, or by a name that
//! is listed: a web page whose name was made to point here comes under its own name, and says with
//! `Origin` and `Sec-Fetch-Site` that it is a page. None of these is a node.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, Uri, header};
use mcp_serve::Host;

use super::reply::Failure;

/// What browsers' own headers about pages begin with.
const BROWSER: &str = "sec-fetch-";

/// The address of this machine that a connection was made to, among a request's extensions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Local(pub(super) SocketAddr);

/// The hosts that are this node.
#[derive(Debug)]
pub(super) struct Hosts {
    /// Under which other nodes know it.
    advertised: SocketAddr,
    /// Names, with or without a port, that were listed.
    names: Vec<Host>,
}

impl Hosts {
    pub(super) fn new(advertised: SocketAddr, names: &[String]) -> Self {
        let names = names.iter().filter_map(|name| Host::parse(name)).collect();
        Self { advertised, names }
    }

    /// The host that a request of a node is for; refuses what no node sends.
    pub(super) fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local: Option<Local>,
    ) -> Result<Host, Failure> {
        let is_page = headers.contains_key(header::ORIGIN)
            || headers.keys().any(|name| name.as_str().starts_with(BROWSER));
        if is_page {
            let message = "this port is for nodes, and a page asks".to_owned();
            return Err(Failure::foreign(message, "people and programs use the HTTP port"));
        }
        let host = Host::of(uri, headers)
            .map_err(|unclear| Failure::bad_request(unclear.message, "send one Host"))?;
        match self.is_ours(&host, local) {
            true => Ok(host),
            false => {
                let message = format!("the host \"{host}\" is not this node's");
                Err(Failure::foreign(message, ALLOW_HINT))
            }
        }
    }

    /// Whether a host is this machine, at whichever port.
    fn is_ours(&self, host: &Host, local: Option<Local>) -> bool {
        let is_here = |ip: IpAddr| {
            let is = |address: SocketAddr| address.ip().to_canonical() == ip;
            is(self.advertised) || local.is_some_and(|Local(local)| is(local))
        };
        host.is_loopback() || host.ip().is_some_and(is_here) || self.is_listed(host)
    }

    /// Whether a request for this host and port means this very node, and not another one from
    /// which the request was passed on.
    pub(super) fn is_meant(&self, host: &Host, local: Option<Local>) -> bool {
        let is = |address: SocketAddr| {
            let is_ip = host.ip() == Some(address.ip().to_canonical());
            let is_name = host.name() == "localhost" && address.ip().is_loopback();
            (is_ip || is_name) && host.port().unwrap_or(80) == address.port()
        };
        is(self.advertised) || local.is_some_and(|Local(local)| is(local)) || self.is_listed(host)
    }

    fn is_listed(&self, host: &Host) -> bool {
        let is = |name: &Host| {
            name.name() == host.name() && (name.port().is_none() || name.port() == host.port())
        };
        self.names.iter().any(is)
    }
}

/// What to do about a name that is not known.
const ALLOW_HINT: &str = "ask for the node's IP address, or start it with --allow-host NAME";

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> Hosts {
        Hosts::new("10.0.0.5:32048".parse().unwrap(), &["db".into(), "other:7".into()])
    }

    fn status(headers: &[(&'static str, &'static str)]) -> Result<String, u16> {
        let headers = headers.iter().map(|(name, value)| {
            (name.parse::<axum::http::HeaderName>().unwrap(), value.parse().unwrap())
        });
        let local = Some(Local("[::ffff:192.168.1.2]:32048".parse().unwrap()));
        let checked = hosts().check(&Uri::from_static("/"), &headers.collect(), local);
        checked.map(|host| host.to_string()).map_err(|failure| failure.status())
    }

    #[test]
    fn only_what_a_node_sends_is_let_in() {
        for host in
            ["127.0.0.1:1", "localhost", "10.0.0.5:9", "192.168.1.2:32048", "db:5", "other:7"]
        {
            assert_eq!(status(&[("host", host)]), Ok(host.to_owned()), "{host}");
        }
        for host in ["evil.example:32048", "10.0.0.6:32048", "0.0.0.0", "other:8", "localhost.evil"]
        {
            assert_eq!(status(&[("host", host)]), Err(403), "{host}");
        }
        for host in ["", "user@localhost", "a:b"] {
            assert_eq!(status(&[("host", host)]), Err(400), "{host}");
        }
        assert_eq!(status(&[]), Err(400));
        assert_eq!(status(&[("host", "db"), ("host", "db")]), Err(400));
        for page in [
            ("origin", "http://localhost:1"),
            ("origin", "null"),
            ("sec-fetch-site", "same-origin"),
            ("sec-fetch-site", "none"),
            ("sec-fetch-mode", "cors"),
        ] {
            assert_eq!(status(&[("host", "localhost:1"), page]), Err(403), "{page:?}");
        }
    }

    #[test]
    fn a_node_is_meant_by_its_address_and_port() {
        let local = Some(Local("127.0.0.1:32048".parse().unwrap()));
        let is_meant = |host| hosts().is_meant(&Host::parse(host).unwrap(), local);
        for host in ["127.0.0.1:32048", "localhost:32048", "10.0.0.5:32048", "db:1", "other:7"] {
            assert!(is_meant(host), "{host}");
        }
        for host in ["127.0.0.1:9999", "localhost", "10.0.0.5", "10.0.0.6:32048", "other:8"] {
            assert!(!is_meant(host), "{host}");
        }
    }
}
