//! A node without a network, for tests: master, operator and query node in one.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use edgemere_command::{Error, Node, Peers, Principal, Published, Rendered, Role, Settings};
use edgemere_ledger::{Changes, Identity, Ledger, Limits, Policy, Position};
use edgemere_query::Engine;
use edgemere_query::distributed::{Credentials, Operator};
use edgemere_service::jobs::{self, Jobs};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A node, and the folder that it lives in.
pub(crate) struct Alone {
    pub(crate) node: Arc<Node>,
    _folder: TempDir,
}

pub(crate) fn node(name: &str) -> Alone {
    node_with(name, Limits::default())
}

/// A node whose ledger has these limits.
pub(crate) fn node_with(name: &str, limits: Limits) -> Alone {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, _) = Ledger::open_with(&folder.path().join("ledger"), limits).unwrap();
    let (engine, _) = Engine::open(&folder.path().join("rows")).unwrap();
    let address: SocketAddr = "127.0.0.1:1".parse().unwrap();
    let node = Node::new(Settings {
        name: name.into(),
        roles: Role::ALL.to_vec(),
        company: "New Company".into(),
        cluster: format!("{name}-cluster"),
        network: address,
        bind: address,
        http: address,
        master: None,
        register: true,
        ledger_age_max: Duration::from_secs(900),
        data: folder.path().into(),
        identity: Arc::new(Identity::open(&folder.path().join("identity.key")).unwrap()),
        ledger,
        engine,
        jobs: Jobs::open(&folder.path().join("jobs"), jobs::Limits::default()).unwrap(),
        peers: Arc::new(Nobody),
        credentials: Arc::new(Nobody),
        shutdown: CancellationToken::new(),
    });
    Alone { node, _folder: folder }
}

/// No other node is there.
#[derive(Debug)]
struct Nobody;

fn away<T: Send + 'static>(address: &str) -> BoxFuture<'static, Result<T, Error>> {
    let reason = "nobody is there".into();
    let error = Error::PeerUnreachable { address: address.into(), reason };
    async { Err(error) }.boxed()
}

impl Peers for Nobody {
    fn call_as<'a>(
        &'a self,
        address: &'a str,
        _: &'a str,
        _: &'a Principal,
        _: Duration,
    ) -> BoxFuture<'a, Result<Rendered, Error>> {
        away(address)
    }

    fn changes<'a>(
        &'a self,
        address: &'a str,
        _: &'a Position,
        _: Duration,
    ) -> BoxFuture<'a, Result<Changes, Error>> {
        away(address)
    }

    fn publish<'a>(
        &'a self,
        address: &'a str,
        _: &'a [Arc<Policy>],
        _: &'a str,
    ) -> BoxFuture<'a, Result<Published, Error>> {
        away(address)
    }

    fn rest_status<'a>(
        &'a self,
        address: &'a str,
        _: Duration,
    ) -> BoxFuture<'a, Result<String, Error>> {
        away(address)
    }
}

impl Credentials for Nobody {
    fn headers<'a>(
        &'a self,
        _: &'a Operator,
        _: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>> {
        async { Ok(Vec::new()) }.boxed()
    }
}
