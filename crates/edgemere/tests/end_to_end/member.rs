//! A node of a network that may be down: it is killed, started again with what it had, at the same
//! place, and stopped for a while.

use std::hash::{BuildHasher, RandomState};
use std::net::TcpListener;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{Node, signal};

/// Ports that no system hands out by itself. What is free there stays free while a node is down.
const PORTS: std::ops::Range<u64> = 10_000..30_000;

/// A node that may be down.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    args: Vec<String>,
    /// Where other nodes find it.
    pub(crate) network: String,
    state: State,
}

enum State {
    Up(Node),
    Down(TempDir),
    /// While it changes.
    Gone,
}

impl Member {
    /// A node that is down. At port 0 it is elsewhere after each start.
    pub(crate) fn new(name: &'static str, role: &str, network: &str, master: Option<&str>) -> Self {
        let mut args = vec!["--name", name, "--role", role, "--cluster", name];
        args.extend(master.iter().flat_map(|master| ["--master", master]));
        let args = args.into_iter().map(String::from).collect();
        let state = State::Down(tempfile::tempdir().unwrap());
        Self { name, args, network: network.into(), state }
    }

    pub(crate) fn start(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Gone) {
            State::Down(folder) => {
                let args: Vec<_> = self.args.iter().map(String::as_str).collect();
                State::Up(Node::start_at(folder, &self.network, &args))
            }
            other => other,
        };
    }

    pub(crate) fn kill(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Gone) {
            State::Up(node) => State::Down(node.kill()),
            other => other,
        };
    }

    /// The node itself, which is nobody's to start again then.
    pub(crate) fn take(&mut self) -> Node {
        match std::mem::replace(&mut self.state, State::Gone) {
            State::Up(node) => node,
            _ => panic!("{} is down", self.name),
        }
    }

    /// Hangs the node: it keeps its connections, and does nothing.
    pub(crate) fn hang(&self) {
        signal(&self.up().child, "STOP");
    }

    /// Lets a node that hangs go on.
    pub(crate) fn go_on(&self) {
        signal(&self.up().child, "CONT");
    }

    /// Its folder, with its data in it.
    pub(crate) fn folder(&self) -> &Path {
        match &self.state {
            State::Up(node) => node.folder.path(),
            State::Down(folder) => folder.path(),
            State::Gone => panic!("{} is gone", self.name),
        }
    }

    pub(crate) fn node(&self) -> Option<&Node> {
        match &self.state {
            State::Up(node) => Some(node),
            _ => None,
        }
    }

    /// The node, which must be up.
    pub(crate) fn up(&self) -> &Node {
        self.node().unwrap_or_else(|| panic!("{} is down", self.name))
    }
}

/// An address at which a node can be started again and again.
pub(crate) fn own_address() -> String {
    let random = RandomState::new();
    let ports =
        (0_u64..).map(|try_| PORTS.start + random.hash_one(try_) % (PORTS.end - PORTS.start));
    let mut addresses = ports.map(|port| format!("127.0.0.1:{port}"));
    addresses.find(|address| TcpListener::bind(address).is_ok()).unwrap()
}
