//! The host that a request is for: from `Host`, from the absolute URI of HTTP/1.1, or from `:authority` of
//! HTTP/2.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use axum::http::{HeaderMap, HeaderName, StatusCode, Uri, header};

/// Why a request is refused: its host or its origin is foreign, or its headers are ambiguous.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OriginError {
    /// 400 for ambiguous headers, 403 for a foreign host or origin.
    pub status: StatusCode,
    /// The reason.
    pub message: String,
}

impl OriginError {
    pub(crate) fn ambiguous(message: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, message: message.into() }
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self { status: StatusCode::FORBIDDEN, message: message.into() }
    }
}

/// A name or an address, with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// In lower case. An address is in canonical form.
    name: String,
    port: Option<u16>,
}

impl Host {
    /// The host of a request. No host, or several, are an error: parts of a system that use different ones
    /// would disagree on the target of the request.
    pub fn of(uri: &Uri, headers: &HeaderMap) -> Result<Self, OriginError> {
        let parse = |text: &str| {
            let bad = || {
                OriginError::ambiguous(format!("\"{text}\" is not a host, with or without a port"))
            };
            Self::parse(text).ok_or_else(bad)
        };
        let header = single(headers, &header::HOST)?.map(parse).transpose()?;
        let target = uri.authority().map(|authority| parse(authority.as_str())).transpose()?;
        match (target, header) {
            (None, None) => Err(OriginError::ambiguous("the request names no host")),
            (Some(one), Some(other)) if one != other => Err(OriginError::ambiguous(format!(
                "the request is for \"{one}\", and its host is \"{other}\""
            ))),
            (Some(host), _) | (None, Some(host)) => Ok(host),
        }
    }

    /// Parses `NAME`, `NAME:PORT`, `[IPV6]` or `[IPV6]:PORT`. Everything else is refused, `user@name`
    /// included.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (address.parse::<Ipv6Addr>().ok()?.to_canonical().to_string(), port)
            }
            None => {
                let (name, port) = text.split_at(text.find(':').unwrap_or(text.len()));
                let is_name = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
                (!name.is_empty() && name.bytes().all(is_name)).then_some(())?;
                (name.to_ascii_lowercase(), port)
            }
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            None if port.is_empty() => None,
            _ => return None,
        };
        Some(Self { name, port })
    }

    /// The name, in lower case, or the address.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address, if the host is one.
    pub fn ip(&self) -> Option<IpAddr> {
        self.name.parse().ok()
    }

    /// The port, if there is one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Whether this is `localhost` or a loopback address.
    pub fn is_loopback(&self) -> bool {
        self.name == "localhost" || self.ip().is_some_and(|ip| ip.is_loopback())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip() {
            Some(IpAddr::V6(ip)) => write!(f, "[{ip}]")?,
            _ => f.write_str(&self.name)?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The value of a header. Several values are an error.
pub(crate) fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, OriginError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => {
            let text = value.to_str();
            text.map(Some).map_err(|_| OriginError::ambiguous(format!("the {name} is not text")))
        }
        _ => Err(OriginError::ambiguous(format!("the request has more than one {name}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(uri: &str, hosts: &[&'static str]) -> Result<String, StatusCode> {
        let hosts = hosts.iter().map(|host| (header::HOST, host.parse().unwrap()));
        let host = Host::of(&uri.parse().unwrap(), &hosts.collect());
        host.map(|host| host.to_string()).map_err(|foreign| foreign.status)
    }

    #[test]
    fn a_host_is_a_name_or_an_address_and_a_port() {
        for (text, same) in [
            ("localhost", "localhost"),
            ("LocalHost:80", "localhost:80"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("[::1]:32349", "[::1]:32349"),
            ("[0:0::1]", "[::1]"),
            ("[::ffff:127.0.0.1]:5", "127.0.0.1:5"),
            ("db_1.example.com", "db_1.example.com"),
        ] {
            assert_eq!(Host::parse(text).map(|host| host.to_string()).as_deref(), Some(same));
        }
        for wrong in [
            "",
            ":80",
            "a:b",
            "a:",
            "a:70000",
            "a:-1",
            "a:+1",
            "user@localhost",
            "a b",
            "a/b",
            "[::1",
            "[::1]x",
            "[localhost]",
            "::1",
            "é",
            "a:80:80",
            "http://a",
            "a,b",
            "localhost#",
            "a?b",
        ] {
            assert_eq!(Host::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let (one, bad) = (|host: &str| Ok(host.to_owned()), Err(StatusCode::BAD_REQUEST));
        assert_eq!(of("/", &["localhost:1"]), one("localhost:1"));
        assert_eq!(of("http://localhost:1/", &[]), one("localhost:1"));
        assert_eq!(of("http://localhost:1/", &["LOCALHOST:1"]), one("localhost:1"));
        assert_eq!(of("/", &[]), bad);
        assert_eq!(of("/", &[""]), bad);
        assert_eq!(of("/", &["localhost", "localhost"]), bad);
        assert_eq!(of("/", &["localhost", "evil.example"]), bad);
        assert_eq!(of("http://evil.example/", &["localhost"]), bad);
        assert_eq!(of("http://localhost:2/", &["localhost:1"]), bad);
        assert_eq!(of("http://user@localhost/", &[]), bad);
        assert_eq!(of("/", &["user@localhost"]), bad);
    }

    #[test]
    fn only_this_machines_own_names_are_loopback() {
        let is = |text: &str| Host::parse(text).is_some_and(|host| host.is_loopback());
        for host in ["127.0.0.1:80", "localhost", "LOCALHOST:8080", "[::1]:80", "127.0.0.9"] {
            assert!(is(host), "{host}");
        }
        for host in [
            "example.com",
            "10.0.0.1",
            "0.0.0.0",
            "[::]",
            "127.0.0.1.example.com",
            "localhost.",
            "127.1",
            "localhost.evil",
            "2130706433",
            "0x7f000001",
        ] {
            assert!(!is(host), "{host}");
        }
    }
}
