//! What the services of a node share.

use std::sync::Arc;

use edgemere_command::{Access, Node};
use tokio::sync::Semaphore;

use super::bodies::Bodies;
use super::http::Whole;
use super::metrics::Metrics;

/// How many commands may be under way at once; more are turned away, to come back later.
const COMMANDS_MAX: usize = 512;

/// How many nodes may follow this one's ledger at once.
const FOLLOWERS_MAX: usize = 10_000;

/// Who may do what, by the way in which they come.
#[derive(Debug)]
pub(super) struct Doors {
    pub(super) access: Access,
    pub(super) agent_access: Access,
    pub(super) peer_access: Access,
    pub(super) pages: mcp_serve::AllowedOrigins,
    pub(super) bodies: Arc<Bodies>,
}

/// What the services share.
#[derive(Debug)]
pub(super) struct State {
    pub(super) node: Arc<Node>,
    /// What callers of the REST service may do.
    pub(super) access: Access,
    /// What agents may do.
    pub(super) agent_access: Access,
    /// What other nodes may do.
    pub(super) peer_access: Access,
    /// Which hosts and pages the HTTP port serves.
    pub(super) pages: mcp_serve::AllowedOrigins,
    pub(super) metrics: Metrics,
    /// The room for the bodies of requests.
    pub(super) bodies: Arc<Bodies>,
    /// Answers that were sent whole, for requests for parts of them.
    pub(super) whole: Arc<Whole>,
    /// A permit for every command that may be under way.
    pub(super) commands: Arc<Semaphore>,
    /// A permit for every question about the ledger that may be open.
    pub(super) followers: Semaphore,
}

impl State {
    pub(super) fn new(node: Arc<Node>, doors: Doors) -> Arc<Self> {
        let Doors { access, agent_access, peer_access, pages, bodies } = doors;
        Arc::new(Self {
            node,
            access,
            agent_access,
            peer_access,
            pages,
            metrics: Metrics::new(Arc::clone(&bodies)),
            bodies,
            whole: Arc::default(),
            commands: Arc::new(Semaphore::new(COMMANDS_MAX)),
            followers: Semaphore::new(FOLLOWERS_MAX),
        })
    }
}
