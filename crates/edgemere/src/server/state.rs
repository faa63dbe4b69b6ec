//! What the services of a node share.

use std::sync::Arc;

use edgemere_command::{Access, Node};
use tokio::sync::Semaphore;

use super::metrics::Metrics;

/// How many commands may be under way at once; more are turned away, to come back later.
const COMMANDS_MAX: usize = 512;

/// What the services share.
#[derive(Debug)]
pub(super) struct State {
    pub(super) node: Arc<Node>,
    /// What callers of the REST service may do.
    pub(super) access: Access,
    pub(super) metrics: Metrics,
    /// A permit for every command that may be under way.
    pub(super) commands: Arc<Semaphore>,
}

impl State {
    pub(super) fn new(node: Arc<Node>, access: Access) -> Arc<Self> {
        let metrics = Metrics::new();
        let commands = Arc::new(Semaphore::new(COMMANDS_MAX));
        Arc::new(Self { node, access, metrics, commands })
    }
}
