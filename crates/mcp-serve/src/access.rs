//! Whose requests are served: the names under which the server is known, and the pages that may ask.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, Uri, header, uri::Authority};

/// Which `Host` and `Origin` headers are served. A browser on the server's machine can reach it, so a
/// page from anywhere could make it do so: it is known by its origin or, when its name was made
/// to point here, by a host that is not ours. Both are answered with 403, on every route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) any_host: bool,
}

impl Access {
    /// This machine under its own names, and pages that it serves itself, at any port.
    pub fn loopback() -> Self {
        Self { hosts: Vec::new(), origins: Vec::new(), any_host: false }
    }

    /// Also this host: a name, or a name with a port.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Also pages of this origin, such as `https://app.example.com`.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Every host: for a server that others reach under names that it does not know, and that asks
    /// for a secret in every request.
    #[must_use]
    pub fn any_host(mut self) -> Self {
        self.any_host = true;
        self
    }
}

impl Access {
    /// Says what is foreign about a request, if anything is.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), String> {
        let text = |name: HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
        let foreign = |what: &str, value: &str| {
            Err(format!("the {what} \"{value}\" may not ask this server"))
        };
        match (text(header::ORIGIN), text(header::HOST)) {
            (Some(origin), _) if !self.is_known_origin(origin) => foreign("origin", origin),
            (_, Some(host)) if !self.is_known_host(host) => foreign("host", host),
            _ => Ok(()),
        }
    }

    fn is_known_origin(&self, origin: &str) -> bool {
        let is_listed = self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin));
        let uri = origin.parse::<Uri>().ok();
        let is_local = uri.as_ref().and_then(Uri::authority).is_some_and(is_loopback);
        is_listed || is_local
    }

    fn is_known_host(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        let name = authority.host();
        let is_listed =
            |known: &String| known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(name);
        self.any_host || is_loopback(&authority) || self.hosts.iter().any(is_listed)
    }
}

/// Whether this is the machine itself under one of its own names.
fn is_loopback(authority: &Authority) -> bool {
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    let is_ip = name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    // "user@localhost" is no host.
    (is_ip || name.eq_ignore_ascii_case("localhost")) && !authority.as_str().contains('@')
}

impl Default for Access {
    fn default() -> Self {
        Self::loopback()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(access: &Access, headers: &[(&'static str, &'static str)]) -> bool {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        access.check(&headers.collect()).is_ok()
    }

    #[test]
    fn this_machine_is_known_by_its_own_names_alone() {
        let access = Access::loopback();
        for host in ["127.0.0.1:80", "localhost", "LOCALHOST:8080", "[::1]:80", "127.0.0.9"] {
            assert!(check(&access, &[("host", host)]), "{host}");
        }
        for host in ["example.com", "10.0.0.1", "127.0.0.1.example.com", "a@localhost", "", "?"] {
            assert!(!check(&access, &[("host", host)]), "{host}");
        }
    }

    #[test]
    fn pages_may_ask_when_they_are_local_or_listed() {
        let access = Access::loopback().host("db.example.com").origin("https://app.example.com");
        let host = ("host", "db.example.com:443");
        assert!(check(&access, &[host]));
        for origin in ["https://app.example.com", "http://localhost:3000"] {
            assert!(check(&access, &[host, ("origin", origin)]), "{origin}");
        }
        for origin in ["https://app.example.com.evil", "http://app.example.com", "null", "file://"]
        {
            assert!(!check(&access, &[host, ("origin", origin)]), "{origin}");
        }
    }

    #[test]
    fn any_host_is_no_any_origin() {
        let access = Access::loopback().any_host();
        assert!(check(&access, &[("host", "example.com")]));
        assert!(!check(&access, &[("host", "example.com"), ("origin", "http://example.com")]));
    }
}
