//! The check of `Host` and `Origin`: protection against requests of foreign web pages and against DNS
//! rebinding.

use axum::http::{HeaderMap, HeaderName, Request, Uri, header};

use crate::host::{Host, OriginError, single};

/// The browser's statement about the page behind a request. No page can omit or change it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The hosts and origins that a server accepts. A browser on the server's machine can reach the server, so
/// any web page could send it requests. The check refuses, on every route and with every method:
///
/// | request | status |
/// |---|---|
/// | no host, several, or contradictory ones (`Host`, absolute URI, `:authority`), or `user@host` | 400 |
/// | a foreign host, as after DNS rebinding | 403 |
/// | an `Origin` that is neither the server's own nor listed | 403 |
/// | a `Sec-Fetch-Site` other than `same-origin` and `none`, unless its `Origin` is listed | 403 |
///
/// The server's own origin is the host and port of the request itself. Programs send neither `Origin` nor
/// `Sec-Fetch-Site`, and pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedOrigins {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) any_host: bool,
}

impl AllowedOrigins {
    /// `localhost` and loopback addresses, and the server's own pages.
    pub fn loopback() -> Self {
        Self { hosts: Vec::new(), origins: Vec::new(), any_host: false }
    }

    /// Adds a host: a name, or a name with a port.
    #[must_use]
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.hosts.push(host.into());
        self
    }

    /// Adds an origin, such as `https://app.example.com` or `http://localhost:6274`.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Accepts every host: for a server with unknown names that requires a secret in every request.
    #[must_use]
    pub fn any_host(mut self) -> Self {
        self.any_host = true;
        self
    }

    /// Checks the host and the origin of a request.
    pub fn check<B>(&self, request: &Request<B>) -> Result<(), OriginError> {
        self.check_head(request.uri(), request.headers())
    }

    /// Whether an origin is listed.
    pub fn is_listed(&self, origin: &str) -> bool {
        let origin = origin.trim_end_matches('/');
        self.origins.iter().any(|known| known.trim_end_matches('/').eq_ignore_ascii_case(origin))
    }

    fn check_head(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), OriginError> {
        let host = Host::of(uri, headers)?;
        if !self.any_host && !self.is_ours(&host) {
            return Err(OriginError::forbidden(format!(
                "the host \"{host}\" is not this server's"
            )));
        }
        match single(headers, &header::ORIGIN)? {
            Some(origin) if self.is_listed(origin) => return Ok(()),
            Some(origin) if !(self.is_ours(&host) && is_origin_of(origin, &host)) => {
                return Err(OriginError::forbidden(format!(
                    "the origin \"{origin}\" is not allowed"
                )));
            }
            _ => {}
        }
        let is_own = |site: &[u8]| matches!(site, b"same-origin" | b"none");
        match headers.get_all(SEC_FETCH_SITE).iter().all(|site| is_own(site.as_bytes())) {
            true => Ok(()),
            false => Err(OriginError::forbidden("requests of other sites' pages are not allowed")),
        }
    }

    fn is_ours(&self, host: &Host) -> bool {
        let text = host.to_string();
        let is_listed = |known: &String| {
            known.eq_ignore_ascii_case(&text) || known.eq_ignore_ascii_case(host.name())
        };
        host.is_loopback() || self.hosts.iter().any(is_listed)
    }
}

/// Whether an origin has this host and port.
fn is_origin_of(origin: &str, host: &Host) -> bool {
    let Some((scheme, place)) = origin.split_once("://") else { return false };
    let default_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let Some(page) = Host::parse(place) else { return false };
    page.name() == host.name()
        && page.port().unwrap_or(default_port) == host.port().unwrap_or(default_port)
}

impl Default for AllowedOrigins {
    fn default() -> Self {
        Self::loopback()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Headers<'a> = &'a [(&'static str, &'static str)];

    fn status(access: &AllowedOrigins, headers: Headers<'_>) -> u16 {
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let checked = access.check(&request.body(()).unwrap());
        checked.map_or_else(|foreign| foreign.status.as_u16(), |()| 200)
    }

    #[test]
    fn this_machine_is_known_by_its_own_names_alone() {
        let access = AllowedOrigins::loopback();
        for host in ["127.0.0.1:80", "localhost", "LOCALHOST:8080", "[::1]:80", "127.0.0.9"] {
            assert_eq!(status(&access, &[("host", host)]), 200, "{host}");
        }
        for host in ["example.com", "10.0.0.1", "127.0.0.1.example.com", "0.0.0.0:1", "localhost."]
        {
            assert_eq!(status(&access, &[("host", host)]), 403, "{host}");
        }
        for host in ["a@localhost", "", "?", "localhost:x", "localhost,evil.example"] {
            assert_eq!(status(&access, &[("host", host)]), 400, "{host}");
        }
        assert_eq!(status(&access, &[]), 400);
        assert_eq!(status(&access, &[("host", "localhost"), ("host", "localhost")]), 400);
    }

    #[test]
    fn pages_may_ask_when_they_are_the_servers_own_or_listed() {
        let access = AllowedOrigins::loopback()
            .host("db.example.com")
            .origin("https://app.example.com")
            .origin("http://localhost:6274/");
        for (host, origin, expected) in [
            ("localhost:32349", "http://localhost:32349", 200),
            ("LOCALHOST:32349", "http://localhost:32349", 200),
            ("[::1]:5", "http://[::1]:5", 200),
            ("localhost", "http://localhost", 200),
            ("localhost:80", "http://localhost", 200),
            ("localhost:443", "https://localhost", 200),
            ("db.example.com", "https://db.example.com", 200),
            ("localhost:32349", "https://app.example.com", 200),
            ("localhost:32349", "http://localhost:6274", 200),
            ("localhost:32349", "http://localhost:3000", 403),
            ("localhost:32349", "http://localhost", 403),
            ("localhost:32349", "http://127.0.0.1:32349", 403),
            ("127.0.0.1:32349", "http://127.0.0.2:32349", 403),
            ("localhost:32349", "http://localhost:32349.evil.example", 403),
            ("localhost:32349", "ftp://localhost:32349", 403),
            ("localhost:32349", "http://user@localhost:32349", 403),
            ("localhost:32349", "http://localhost:32349/path", 403),
            ("localhost", "https://app.example.com.evil", 403),
            ("localhost", "http://app.example.com", 403),
            ("localhost", "null", 403),
            ("localhost", "file://", 403),
            ("localhost", "", 403),
        ] {
            let headers = [("host", host), ("origin", origin)];
            assert_eq!(status(&access, &headers), expected, "{host} {origin}");
        }
        let two = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://a")];
        assert_eq!(status(&access, &two), 400);
    }

    #[test]
    fn what_a_browser_says_about_a_page_counts_with_and_without_its_origin() {
        let access = AllowedOrigins::loopback().origin("http://localhost:6274");
        let host = ("host", "localhost:1");
        for (site, expected) in [
            ("none", 200),
            ("same-origin", 200),
            ("same-site", 403),
            ("cross-site", 403),
            ("Same-Origin", 403),
            ("", 403),
            ("same-origin, cross-site", 403),
        ] {
            assert_eq!(status(&access, &[host, ("sec-fetch-site", site)]), expected, "{site}");
            let own = ("origin", "http://localhost:1");
            assert_eq!(status(&access, &[host, own, ("sec-fetch-site", site)]), expected, "{site}");
            let listed = ("origin", "http://localhost:6274");
            assert_eq!(status(&access, &[host, listed, ("sec-fetch-site", site)]), 200, "{site}");
            let other = ("origin", "http://localhost:2");
            assert_eq!(status(&access, &[host, other, ("sec-fetch-site", site)]), 403, "{site}");
        }
        let two = [host, ("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")];
        assert_eq!(status(&access, &two), 403);
    }

    #[test]
    fn any_host_is_no_any_origin() {
        let access = AllowedOrigins::loopback().any_host();
        let host = ("host", "example.com");
        assert_eq!(status(&access, &[host]), 200);
        assert_eq!(status(&access, &[host, ("origin", "http://example.com")]), 403);
    }
}
