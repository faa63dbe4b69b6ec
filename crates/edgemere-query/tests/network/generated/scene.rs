//! Operators with generated tables, one database with all rows of them, and SQLite with the same.

use edgemere_query::distributed::Shard;
use edgemere_query::sql::QueryOptions;

use super::spread::{Held, OPERATORS, Spread, Way};
use crate::answer::{Answer, Numbers};
use crate::sql_model::answer::Answer as Compared;
use crate::sql_model::chance::Chance;
use crate::sql_model::databases::{ask_sqlite, our_value, schema, sqlite, store};
use crate::sql_model::table::Kept;
use crate::{Cluster, DBMS, chain};

/// A query, and what is known of its answer.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) sql: String,
    /// Whether it says in which order its rows come.
    pub(crate) is_ordered: bool,
    /// Whether SQLite understands it in the same way.
    pub(crate) is_common: bool,
}

/// Three databases that hold the same.
pub(crate) struct Scene {
    cluster: Cluster,
    sqlite: rusqlite::Connection,
}

impl Scene {
    pub(crate) async fn new(tables: &[Spread]) -> Self {
        let cluster = Cluster::start(OPERATORS).await;
        let mut whole = Vec::new();
        for table in tables {
            let all = table.whole(Kept::HalfFresh);
            store(&cluster.whole, &all, &schema()).await;
            let mut parts = Vec::new();
            for part in &table.0 {
                parts.push(place(&cluster, part).await);
            }
            cluster.places.set(all.name, schema(), parts);
            whole.push(all);
        }
        Self { cluster, sqlite: sqlite(&whole) }
    }

    /// All three answer the same, or the text says how they do not.
    pub(crate) async fn compare(&self, question: &Question) -> Result<(), String> {
        let Question { sql, is_ordered, is_common } = question;
        let whole = self.cluster.whole.sql().ask(DBMS, sql, &QueryOptions::default()).await;
        let whole = answer(whole).await;
        let network = self.cluster.network.ask(DBMS, sql, &QueryOptions::default()).await;
        let (whole, network) = match (whole, answer(network).await) {
            (Ok(whole), Ok(network)) => (whole, network),
            (Ok(_), Err(error)) => return Err(format!("only the network fails: {error}")),
            (Err(error), Ok(_)) => return Err(format!("only the database fails: {error}")),
            (Err(error), Err(_)) => return Err(format!("both refuse it: {error}")),
        };
        if let Some(difference) = whole.difference(&network, *is_ordered, Numbers::Exact) {
            let explained = self.cluster.network.explain(DBMS, sql).await.unwrap().network.unwrap();
            return Err(format!("{difference}\n{explained}"));
        }
        if !is_common {
            return Ok(());
        }
        let ours = network.rows.into_iter().map(|row| row.into_iter().map(our_value).collect());
        let theirs = ask_sqlite(&self.sqlite, sql)?;
        Compared(ours.collect()).difference(&theirs, *is_ordered).map_or(Ok(()), Err)
    }
}

async fn answer(
    query: Result<edgemere_query::sql::Query, edgemere_query::sql::Error>,
) -> Result<Answer, String> {
    let query = query.map_err(|error| chain(&error))?;
    Answer::of(query).await.map_err(|error| chain(&error))
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_missing_are_noticed() {
    let scene = Scene::new(&super::spread(&mut Chance::new(1), Way::Evenly)).await;
    let question = |sql: &str| Question { sql: sql.into(), is_ordered: false, is_common: true };
    let all = question("select count(*), sum(n) from settled");
    assert_eq!(scene.compare(&all).await, Ok(()));
    scene.cluster.places.change(|table| drop(table.parts.pop()));
    let told = scene.compare(&all).await.unwrap_err();
    assert!(told.starts_with("row 0: ") && told.contains("mode=Partial"), "{told}");
    let refused = scene.compare(&question("select count(*) from nowhere")).await;
    assert!(refused.unwrap_err().starts_with("both refuse it: "));
}

/// Gives a part to its operators.
async fn place(cluster: &Cluster, part: &Held) -> Shard {
    let nodes = part.operators.iter().map(|operator| &cluster.nodes[*operator]);
    for node in nodes.clone().filter(|_| part.is_made) {
        store(&node.engine, &part.table, &part.columns).await;
    }
    Shard { operators: nodes.map(|node| node.operator.clone()).collect(), rows: part.told }
}
