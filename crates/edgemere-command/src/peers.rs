//! The other nodes, as commands see them. How they are reached is the binary's business.

use std::sync::Arc;
use std::time::Duration;

use edgemere_ledger::{Changes, Policy, Position};
use futures_util::future::BoxFuture;

use crate::error::Error;
use crate::format::Rendered;
use edgemere_service::{Access, Principal};

/// How long a node has to answer when nobody says otherwise.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// How long a node has to show that it is there.
pub(crate) const PING_TIMEOUT: Duration = Duration::from_millis(1500);

/// Reaches other nodes.
pub trait Peers: Send + Sync + std::fmt::Debug {
    /// Runs a command on the node at a network address, for a caller. The other node runs it with no
    /// more than the caller may do.
    fn call_as<'a>(
        &'a self,
        address: &'a str,
        command: &'a str,
        caller: &'a Principal,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Rendered, Error>>;

    /// Asks the node at a network address something for this node itself, which only reads there.
    fn call<'a>(
        &'a self,
        address: &'a str,
        command: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Rendered, Error>> {
        Box::pin(async move {
            let caller = Principal::new("the node itself", Access::Read);
            self.call_as(address, command, &caller, timeout).await
        })
    }

    /// What the master at a network address has after a position in its history. When it has
    /// nothing, it waits so long for something.
    fn changes<'a>(
        &'a self,
        address: &'a str,
        after: &'a Position,
        wait: Duration,
    ) -> BoxFuture<'a, Result<Changes, Error>>;

    /// Gives policies to the master at a network address, as the node with this identity.
    fn publish<'a>(
        &'a self,
        address: &'a str,
        policies: &'a [Arc<Policy>],
        by: &'a str,
    ) -> BoxFuture<'a, Result<Published, Error>>;

    /// Asks the REST service at an HTTP address for its status.
    fn rest_status<'a>(
        &'a self,
        address: &'a str,
        timeout: Duration,
    ) -> BoxFuture<'a, Result<String, Error>>;
}

/// What a master made of policies that it was given.
#[derive(Debug)]
pub struct Published {
    /// Each policy as the master has it now, or why it is refused.
    pub answers: Vec<Result<Policy, Error>>,
    /// Where the master's history ended afterwards.
    pub end: Position,
}
