//! Walks all commands that are declared, by every way of forwarding, for callers who may not do
//! everything: what is sent carries the caller's access, and what the caller may not do is not sent.

#![allow(clippy::unwrap_used, reason = "a test may end where it fails")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use edgemere_command::{
    Access, Effect, Error, Kind, Node, Peers, Principal, Published, Rendered, Request, Role,
    Settings, declarations, execute, parse,
};
use edgemere_ledger::{Changes, Identity, Ledger, Policy, Position};
use edgemere_query::Engine;
use edgemere_query::distributed::{Credentials, Operator};
use edgemere_service::jobs::{self, Jobs};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const ADDRESS: &str = "127.0.0.1:33001";

/// Commands that have no examples, or whose examples are not the gravest that they do.
const MORE: [&str; 12] = [
    "process x.al",
    "process !file",
    "job stop 1",
    "query cancel 1",
    "run client (127.0.0.1:33001) process x.al",
    "run client (127.0.0.1:33001) run client (127.0.0.1:33001) set node name x",
    "x = run client (127.0.0.1:33001) process x.al",
    "x = drop dbms d",
    "set x = 5",
    "exit node",
    "print {\"a\": [!db_password]}",
    "get status where include = !db_password",
];

/// Other nodes, which only note what they are sent.
#[derive(Debug, Default)]
struct Noting(Mutex<Vec<(String, Principal)>>);

impl Credentials for Noting {
    fn headers<'a>(
        &'a self,
        _operator: &'a Operator,
        _is_again: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>> {
        std::future::ready(Err("nobody is there".to_owned())).boxed()
    }
}

fn away(address: &str) -> Error {
    Error::PeerUnreachable { address: address.into(), reason: "noted".into() }
}

impl Peers for Noting {
    fn call_as<'a>(
        &'a self,
        address: &'a str,
        command: &'a str,
        caller: &'a Principal,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<Rendered, Error>> {
        self.0.lock().unwrap().push((command.to_owned(), caller.clone()));
        std::future::ready(Err(away(address))).boxed()
    }

    fn changes<'a>(
        &'a self,
        address: &'a str,
        _after: &'a Position,
        _wait: Duration,
    ) -> BoxFuture<'a, Result<Changes, Error>> {
        std::future::ready(Err(away(address))).boxed()
    }

    fn publish<'a>(
        &'a self,
        address: &'a str,
        _policies: &'a [Arc<Policy>],
        _by: &'a str,
    ) -> BoxFuture<'a, Result<Published, Error>> {
        std::future::ready(Err(away(address))).boxed()
    }

    fn rest_status<'a>(
        &'a self,
        address: &'a str,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<String, Error>> {
        std::future::ready(Err(away(address))).boxed()
    }
}

fn node(folder: &TempDir) -> (Arc<Node>, Arc<Noting>) {
    let peers = Arc::new(Noting::default());
    let (ledger, _) = Ledger::open(folder.path()).unwrap();
    let (engine, _) = Engine::open(&folder.path().join("rows")).unwrap();
    std::fs::create_dir(folder.path().join("scripts")).unwrap();
    let node = Node::new(Settings {
        name: "n".into(),
        roles: Role::ALL.to_vec(),
        company: "c".into(),
        cluster: "c".into(),
        network: ADDRESS.parse().unwrap(),
        bind: ADDRESS.parse().unwrap(),
        http: "127.0.0.1:34001".parse().unwrap(),
        master: None,
        register: false,
        ledger_age_max: Duration::from_secs(900),
        data: folder.path().into(),
        identity: Arc::new(Identity::open(&folder.path().join("identity.key")).unwrap()),
        ledger,
        engine,
        jobs: Jobs::open(&folder.path().join("jobs"), jobs::Limits::default()).unwrap(),
        peers: Arc::clone(&peers) as Arc<dyn Peers>,
        credentials: Arc::clone(&peers) as Arc<dyn Credentials>,
        shutdown: CancellationToken::new(),
    });
    (node, peers)
}

fn commands() -> Vec<&'static str> {
    let examples = declarations().iter().flat_map(|declaration| declaration.examples);
    examples.copied().chain(MORE).collect()
}

fn needed(effect: Effect) -> Option<Access> {
    match effect {
        Effect::Read => Some(Access::Read),
        Effect::Write => Some(Access::Write),
        Effect::Destructive => Some(Access::Admin),
        Effect::Secret => None,
    }
}

/// Sends a command to another node by a way, and gives what was sent and what came of it.
async fn forward(
    (node, peers): &(Arc<Node>, Arc<Noting>),
    request: Request,
) -> (Vec<(String, Principal)>, Result<Rendered, Error>) {
    peers.0.lock().unwrap().clear();
    let result = execute(node, &request).await.result;
    (std::mem::take(&mut *peers.0.lock().unwrap()), result)
}

#[tokio::test]
async fn no_command_is_sent_with_more_than_its_caller_may_do() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(&folder);
    let mut sent = 0;
    for command in commands() {
        let needed = needed(parse(command).unwrap().effect());
        for access in [Access::Read, Access::Write, Access::Admin] {
            let caller = Principal::new("ann", access);
            let by_header = Request {
                destination: Some(ADDRESS.into()),
                ..Request::new(command, caller.clone())
            };
            let by_client = Request::new(format!("run client ({ADDRESS}) {command}"), caller);
            for request in [by_header, by_client] {
                let (noted, result) = forward(&node, request).await;
                if needed.is_none_or(|needed| needed > access) {
                    assert_eq!(noted, [], "{command} as {access}");
                    assert_eq!(result.unwrap_err().kind(), Kind::Denied, "{command} as {access}");
                    continue;
                }
                for (_, caller) in &noted {
                    assert_eq!(caller.access(), access, "{command}");
                    assert_eq!(caller.name(), "ann@n");
                }
                sent += noted.len();
            }
        }
    }
    assert!(sent > 200, "only {sent} commands were sent");
}

#[tokio::test]
async fn what_a_reader_may_not_do_is_not_done_for_a_reader_of_another_node() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(&folder);
    // What the other node does with what it was sent: the peer may do everything, its caller may read.
    let peer = Principal::new("a node of the network", Access::Admin);
    for command in commands() {
        let effect = parse(command).unwrap().effect();
        for caller in [Some(("ann", Access::Read)), None] {
            let principal = peer.on_behalf_of(caller);
            assert_eq!(principal.access(), Access::Read);
            if effect == Effect::Read {
                continue;
            }
            let (noted, result) = forward(&node, Request::new(command, principal)).await;
            assert_eq!(noted, [], "{command}");
            // A script that is not there is only not found.
            let kind = result.unwrap_err().kind();
            let is_script = command.starts_with("process");
            assert!(kind == Kind::Denied || (is_script && kind == Kind::NotFound), "{command}");
        }
    }
}

#[tokio::test]
async fn no_line_of_a_script_is_run_when_one_of_them_may_not() {
    let folder = tempfile::tempdir().unwrap();
    let node = node(&folder);
    let reader = || Principal::new("ann", Access::Read);
    for command in commands() {
        let effect = parse(command).unwrap().effect();
        let script = format!("run client ({ADDRESS}) get status\n{command}\n");
        std::fs::write(folder.path().join("scripts/walk.al"), script).unwrap();
        let (noted, result) = forward(&node, Request::new("process walk.al", reader())).await;
        if effect != Effect::Read {
            assert_eq!(noted, [], "{command}: the line before was run");
            let kind = result.unwrap_err().kind();
            let is_script = command.starts_with("process");
            assert!(kind == Kind::Denied || (is_script && kind != Kind::Internal), "{command}");
        } else {
            assert!(!noted.is_empty(), "{command}: the line before was not run");
        }
    }
}
