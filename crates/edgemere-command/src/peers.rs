//! The other nodes, as commands see them. How they are reached is the binary's business.

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::error::Error;
use crate::format::Rendered;

/// How long a node has to answer when nobody says otherwise.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// How long a node has to show that it is there.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_millis(1500);

/// Reaches other nodes.
pub trait Peers: Send + Sync + std::fmt::Debug {
    /// Runs a command on the node at a network address.
    fn call<'a>(
        &'a self,
        address: &'a str,
        command: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Rendered, Error>>;

    /// Asks the REST service at an HTTP address for its status.
    fn rest_status<'a>(
        &'a self,
        address: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<String, Error>>;
}
