//! A server to test, and clients of it over every transport.

#![allow(dead_code, reason = "each test uses a part of this")]

pub(crate) mod catalog;
pub(crate) mod http;
pub(crate) mod wire;

use std::time::Duration;

use mcp_serve::{Identity, Limits, Server};

/// Longer than anything takes that ends at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server with the tests' catalog.
pub(crate) fn server(limits: Limits) -> Server {
    let identity = Identity {
        title: Some("A server to test".to_owned()),
        instructions: Some("Use echo.".to_owned()),
        ..Identity::new("tested", "1.0.0")
    };
    let server = Server::new(identity, limits);
    server.publish(catalog::catalog());
    server
}

/// Limits with short lists, so that there are pages.
pub(crate) fn limits() -> Limits {
    Limits { page_entries_max: 9, ..Limits::default() }
}

/// Waiter until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let ended = tokio::time::timeout(PATIENCE, wait).await;
    assert!(ended.is_ok(), "it never came to this: {what}");
}

/// What must come soon.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("it takes too long")
}
