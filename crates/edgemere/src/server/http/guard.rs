//! Keeps other people's web pages out. A browser on this machine can reach the node, so a page
//! from anywhere could make it do so: its requests carry the page's origin, or, when its name was
//! made to point here, a host that is not ours. Both are refused.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{self, Poll};

use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, Method, Request, Uri};
use axum::response::Response;
use futures_util::future::Either;
use tower::Service;

use super::rest::request_id;
use crate::server::reply::Failure;
use crate::server::state::State;

/// Passes on what is not from another's page. A service and not a function of axum's, which would cost
/// every request three boxes.
#[derive(Clone)]
pub(super) struct OwnPages<S> {
    pub(super) inner: S,
    pub(super) state: Arc<State>,
}

impl<S, B> Service<Request<B>> for OwnPages<S>
where
    S: Service<Request<B>, Response = Response>,
{
    type Response = Response;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Response, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut task::Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Asking what may be asked is harmless, and the answer allows no other origin anything.
        let foreign = match request.method() == Method::OPTIONS {
            true => None,
            false => foreign(request.headers()),
        };
        match foreign {
            None => Either::Left(self.inner.call(request)),
            Some(failure) => {
                let node = self.state.node.settings().http.ip().to_string();
                let id = request_id(request.headers());
                let reply = failure.into_reply(request.method().as_str(), &node, id);
                Either::Right(ready(Ok(reply)))
            }
        }
    }
}

fn foreign(headers: &HeaderMap) -> Option<Failure> {
    let refuse = |name: HeaderName, value: &str| {
        Failure::foreign(format!("the {name} \"{value}\" is not this machine's"))
    };
    let text = |name: &HeaderName| headers.get(name).map(|v| v.to_str().unwrap_or("?"));
    let origin = text(&header::ORIGIN).filter(|origin| !is_local_origin(origin));
    let host = text(&header::HOST).filter(|host| !is_local_host(host));
    origin
        .map(|origin| refuse(header::ORIGIN, origin))
        .or_else(|| host.map(|host| refuse(header::HOST, host)))
}

fn is_local_origin(origin: &str) -> bool {
    let uri = origin.parse::<Uri>().ok();
    uri.and_then(|uri| uri.authority().map(|a| is_local_host(a.as_str()))).unwrap_or(false)
}

/// Whether a host, with or without a port, is this machine under one of its own names.
fn is_local_host(host: &str) -> bool {
    let Ok(authority) = host.parse::<axum::http::uri::Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    let is_loopback = name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback || name.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_names_are_local() {
        for host in ["127.0.0.1:32349", "localhost", "LOCALHOST:80", "[::1]:32349", "127.0.0.5"] {
            assert!(is_local_host(host), "{host}");
        }
        for host in ["example.com", "127.0.0.1.example.com", "10.0.0.1", "", "localhost.evil:80"] {
            assert!(!is_local_host(host), "{host}");
        }
    }

    #[test]
    fn an_origin_must_be_local_and_whole() {
        assert!(is_local_origin("http://localhost:3000"));
        for origin in ["null", "http://example.com", "file://", "?"] {
            assert!(!is_local_origin(origin), "{origin}");
        }
    }
}
