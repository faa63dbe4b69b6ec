//! SQL of another node on the network port of an operator, in one process: with the key, without it,
//! after a restart, and what does not come from the operator.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use edgemere_command::{Access, Role, sync};
use edgemere_query::distributed::{ConnectTimeouts, Credentials, Operator, Shard, ShardMap, Table};
use edgemere_query::sql;
use edgemere_query::sql::{Sql, Times};
use edgemere_storage::decode::Input;
use edgemere_storage::storage;
use tempfile::TempDir;

use super::super::auth::NetworkKey;
use super::super::peers::HttpPeers;
use super::super::{Options, Running, start};

const COUNT: &str = "select count(*) as n, sum(v) as s from pumps";

fn key(digit: &str) -> String {
    digit.repeat(64)
}

fn options(data: &Path, network: SocketAddr, key: Option<String>) -> Options {
    Options {
        name: "one".into(),
        roles: vec![Role::Master, Role::Operator],
        data: data.into(),
        http: "127.0.0.1:0".parse().unwrap(),
        network,
        advertise: None,
        network_key: key,
        company: "c".into(),
        cluster: "c".into(),
        master: None,
        register: true,
        allow_origins: Vec::new(),
        allow_hosts: Vec::new(),
        access: Access::Admin,
        agent_access: Access::Read,
        agents: mcp_serve::Limits::default(),
        beside: None,
        tools: edgemere_tools::Origin::default(),
        body_memory: 1 << 30,
        storage: storage::Options::default(),
        limits: sql::Limits::default(),
        jobs: edgemere_service::jobs::Limits::default(),
        ledger_age_max: std::time::Duration::from_secs(900),
    }
}

/// An operator with three rows.
async fn operator(folder: &TempDir, network: &str, key: Option<String>) -> Running {
    let network = network.parse().unwrap();
    let running = start(options(folder.path(), network, key)).await.unwrap();
    let rows = b"[{\"v\": 1}, {\"v\": 2}, {\"v\": 3}]";
    running.node().engine().put("plant", "pumps", Input::Json, rows).await.unwrap();
    running
}

/// Everything is at one operator.
#[derive(Debug)]
struct All(Mutex<Table>);

impl All {
    fn of(running: &Running) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Self::table_of(running))))
    }

    /// From now on at another.
    fn moves_to(&self, running: &Running) {
        *self.0.lock().unwrap() = Self::table_of(running);
    }

    fn table_of(running: &Running) -> Table {
        let node = running.node();
        let id = sync::operator_id(node).unwrap();
        let address = running.network().to_string();
        let operators = vec![Operator { id, name: node.name(), address, ..Operator::default() }];
        let stored = node.engine().storage().table("plant", "pumps").unwrap();
        let schema = stored.schema().as_ref().clone();
        Table { schema, parts: vec![Shard { operators, rows: None }] }
    }
}

impl ShardMap for All {
    fn databases(&self) -> Vec<String> {
        vec!["plant".into()]
    }

    fn tables(&self, _dbms: &str) -> Vec<String> {
        vec!["pumps".into()]
    }

    fn table(&self, _dbms: &str, table: &str) -> Option<Table> {
        (table == "pumps").then(|| self.0.lock().unwrap().clone())
    }
}

/// The SQL of another node, which has rows of its own.
fn asks(folder: &TempDir, all: Arc<All>, key: Option<String>) -> Sql {
    let (engine, _) = edgemere_query::Engine::open(folder.path()).unwrap();
    let key = key.map(|key| NetworkKey::parse(&key).unwrap());
    let credentials: Arc<dyn Credentials> = Arc::new(HttpPeers::new(key).unwrap());
    engine.sql().on_network(all, credentials, ConnectTimeouts::default())
}

async fn answer(sql: &Sql) -> Result<String, sql::Error> {
    let mut query = sql.query("plant", COUNT, None).await?;
    let mut text = String::new();
    while let Some(batch) = query.next().await {
        text.push_str(&batch?.json_objects(Times::Plain)?);
    }
    Ok(text)
}

async fn stop(running: Running) {
    running.shutdown();
    running.wait().await.unwrap();
}

fn folders() -> (TempDir, TempDir) {
    (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap())
}

const THREE: &str = "{\"n\":3,\"s\":6}";

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_answered_with_and_without_a_key() {
    for key in [None, Some(key("a"))] {
        let (here, there) = folders();
        let running = operator(&there, "127.0.0.1:0", key.clone()).await;
        let sql = asks(&here, All::of(&running), key);
        for _ in 0..3 {
            assert_eq!(answer(&sql).await.unwrap().trim(), THREE);
        }
        stop(running).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_with_different_keys_have_nothing_to_do_with_each_other() {
    let cases = [
        (Some(key("a")), Some(key("b")), "its network key is another"),
        (Some(key("a")), None, "it wants the network key"),
        (None, Some(key("a")), "does not prove to have the network key"),
    ];
    for (theirs, ours, reason) in cases {
        let (here, there) = folders();
        let running = operator(&there, "127.0.0.1:0", theirs).await;
        let sql = asks(&here, All::of(&running), ours);
        let error = answer(&sql).await.unwrap_err().to_string();
        assert!(error.contains(reason) && error.contains("one"), "{error}");
        stop(running).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_was_started_again_is_asked_again() {
    let (here, there) = folders();
    let running = operator(&there, "127.0.0.1:0", Some(key("a"))).await;
    let (all, address) = (All::of(&running), running.network().to_string());
    let sql = asks(&here, Arc::clone(&all), Some(key("a")));
    assert_eq!(answer(&sql).await.unwrap().trim(), THREE);
    stop(running).await;
    let error = answer(&sql).await.unwrap_err().to_string();
    assert!(error.contains(&address), "{error}");
    let again = tempfile::tempdir().unwrap();
    let running = operator(&again, &address, Some(key("a"))).await;
    all.moves_to(&running);
    assert_eq!(answer(&sql).await.unwrap().trim(), THREE);
    stop(running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_took_an_operators_place_is_not_believed() {
    let (here, there) = folders();
    let running = operator(&there, "127.0.0.1:0", Some(key("a"))).await;
    let (all, address) = (All::of(&running), running.network().to_string());
    let sql = asks(&here, Arc::clone(&all), Some(key("a")));
    assert_eq!(answer(&sql).await.unwrap().trim(), THREE);
    stop(running).await;
    // It would answer everybody, but it does not have the key.
    let other = tempfile::tempdir().unwrap();
    let running = operator(&other, &address, None).await;
    all.moves_to(&running);
    let error = answer(&sql).await.unwrap_err().to_string();
    assert!(error.contains("prove"), "{error}");
    stop(running).await;
}
