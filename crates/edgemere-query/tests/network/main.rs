//! SQL on the network, with operators on real sockets. Here is what the tests share: the operators, one
//! database with all rows beside them, and the comparison of the two.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::expect_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

mod ahead;
mod answer;
mod answers;
mod documented;
mod edgelake;
mod exact;
mod failures;
mod generated;
mod many;
mod messages;
mod node;
mod plans;
mod proxy;
mod rows;
#[path = "../sql_model/mod.rs"]
#[allow(dead_code, reason = "the model has more than is used here")]
mod sql_model;
mod strangers;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use edgemere_query::Engine;
use edgemere_query::distributed::{
    ConnectTimeouts, OperatorProgress, Shard, ShardMap, State, Table,
};
use edgemere_query::sql::{self, Query, QueryOptions, QueryRegistry, Sql};
use edgemere_storage::schema::Schema;

use self::answer::{Answer, Numbers};
use self::node::Node;

/// The database of all tests.
pub(crate) const DBMS: &str = "d";

/// Another database, whose tables are placed as `office.NAME`.
pub(crate) const OFFICE: &str = "office";

/// What operators are there, and what they hold: as the ledger will tell it.
#[derive(Debug, Default)]
pub(crate) struct Places {
    tables: Mutex<BTreeMap<String, Table>>,
}

impl Places {
    pub(crate) fn set(&self, table: &str, schema: Schema, parts: Vec<Shard>) {
        self.tables.lock().unwrap().insert(table.to_owned(), Table { schema, parts });
    }

    pub(crate) fn change(&self, change: impl Fn(&mut Table)) {
        self.tables.lock().unwrap().values_mut().for_each(change);
    }
}

impl ShardMap for Places {
    fn databases(&self) -> Vec<String> {
        vec![DBMS.to_owned(), OFFICE.to_owned()]
    }

    fn tables(&self, dbms: &str) -> Vec<String> {
        let tables = self.tables.lock().unwrap();
        tables.keys().filter(|_| dbms == DBMS).cloned().collect()
    }

    fn table(&self, dbms: &str, table: &str) -> Option<Table> {
        let name = match dbms {
            DBMS => table.to_owned(),
            _ => format!("{dbms}.{table}"),
        };
        self.tables.lock().unwrap().get(&name).cloned()
    }
}

/// A query that runs.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) query: Query,
    pub(crate) progress: Progress,
}

/// What is known of a query, also after it has ended.
#[derive(Debug)]
pub(crate) struct Progress {
    queries: QueryRegistry,
    id: u64,
}

impl Progress {
    pub(crate) fn shares(&self) -> Vec<OperatorProgress> {
        self.queries.get(self.id).unwrap().operators
    }

    pub(crate) fn missing(&self) -> Vec<OperatorProgress> {
        self.shares().into_iter().filter(|share| share.state == State::Missing).collect()
    }
}

/// Operators, a query node without rows of its own, and one database with all of the rows.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    pub(crate) places: Arc<Places>,
    pub(crate) network: Sql,
    pub(crate) whole: Engine,
    _folders: [tempfile::TempDir; 2],
}

/// Short, so that tests are.
pub(crate) fn impatient() -> ConnectTimeouts {
    ConnectTimeouts {
        connect: Duration::from_millis(1500),
        accept: Duration::from_secs(2),
        ping: Duration::from_millis(300),
        pong: Duration::from_millis(700),
    }
}

/// Longer than any machine is busy.
fn patient() -> ConnectTimeouts {
    let long = Duration::from_secs(600);
    ConnectTimeouts { connect: long, accept: long, ping: long, pong: long }
}

impl Cluster {
    /// So many operators, without tables.
    pub(crate) async fn start(operators: usize) -> Self {
        let mut nodes = Vec::new();
        for number in 0..operators {
            nodes.push(Node::start(number).await);
        }
        Self::of(nodes)
    }

    /// The same, and nobody is given up because the machine is busy.
    pub(crate) async fn start_patient(operators: usize) -> Self {
        let mut nodes = Vec::new();
        for number in 0..operators {
            nodes.push(Node::start(number).await);
        }
        Self::with_patience(nodes, patient())
    }

    /// These operators, without tables.
    pub(crate) fn of(nodes: Vec<Node>) -> Self {
        Self::with_patience(nodes, impatient())
    }

    fn with_patience(nodes: Vec<Node>, patience: ConnectTimeouts) -> Self {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let (whole, _) = Engine::open(folders[0].path()).unwrap();
        let (asking, _) = Engine::open(folders[1].path()).unwrap();
        let places = Arc::new(Places::default());
        let placement = Arc::clone(&places) as Arc<dyn ShardMap>;
        let network = asking.sql().on_network(placement, Arc::new(node::Key), patience);
        Self { nodes, places, network, whole, _folders: folders }
    }

    pub(crate) async fn ask(&self, sql: &str) -> Asked {
        self.try_ask(sql, QueryOptions::default())
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub(crate) async fn try_ask(
        &self,
        sql: &str,
        options: QueryOptions,
    ) -> Result<Asked, sql::Error> {
        let query = self.network.ask(DBMS, sql, &options).await?;
        let queries = self.network.queries().clone();
        let id = queries.last().unwrap().id;
        Ok(Asked { query, progress: Progress { queries, id } })
    }

    /// The answer of the network and that of the one database: what is different, if anything is.
    pub(crate) async fn difference(&self, sql: &str, ordered: bool) -> Option<String> {
        self.difference_in(sql, ordered, &QueryOptions::default()).await
    }

    /// The same for a query with options.
    pub(crate) async fn difference_in(
        &self,
        sql: &str,
        ordered: bool,
        scope: &QueryOptions,
    ) -> Option<String> {
        let expected = match self.whole.sql().ask(DBMS, sql, scope).await {
            Ok(query) => Answer::of(query).await,
            Err(error) => Err(error),
        };
        let given = match self.try_ask(sql, scope.clone()).await {
            Ok(asked) => Answer::of(asked.query).await,
            Err(error) => Err(error),
        };
        match (expected, given) {
            (Ok(expected), Ok(given)) => expected.difference(&given, ordered, Numbers::of(sql)),
            // What fails on both sides proves nothing.
            (Err(_), Err(error)) => Some(format!("both fail: {}", chain(&error))),
            (Ok(_), Err(error)) => Some(format!("only the network fails: {}", chain(&error))),
            (Err(error), Ok(_)) => Some(format!("only the database fails: {}", chain(&error))),
        }
    }
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

/// Waits until something is so; it fails when it does not come about.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waited = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waited).await.expect(what);
}
