//! Tables are made known to the network by the node, whether or not their writers stay.

mod alone;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use edgemere_command::{Node, announce, ingest, sync};
use edgemere_ledger::{Condition, Kinds, Limits, Policy, Scope};
use edgemere_storage::decode::Input;
use serde_json::json;

/// A future that is given up at its so manieth poll.
struct Until<F> {
    future: Pin<Box<F>>,
    polls: usize,
}

impl<F: Future> Future for Until<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready(None);
        }
        self.polls -= 1;
        self.future.as_mut().poll(context).map(Some)
    }
}

/// The tables that are stored here and that no cluster, or no table's policy, names.
fn unannounced(node: &Node) -> Vec<String> {
    let storage = node.engine().storage();
    let mut missing = Vec::new();
    for dbms in storage.databases() {
        for table in storage.tables(&dbms) {
            let name = table.name().to_owned();
            let condition = Condition::All(vec![
                Condition::equal("dbms", dbms.as_str()),
                Condition::equal("name", name.as_str()),
            ]);
            let tables = node.ledger().select(&Kinds::one("table"), &condition);
            let has_columns = tables.iter().any(|policy| {
                let create = policy.text("create").unwrap_or_default();
                table.schema().columns.iter().all(|column| create.contains(&column.name))
            });
            let clusters = node.ledger().select(&Kinds::one("cluster"), &Condition::True);
            let is_held = clusters.iter().any(|cluster| {
                let tables = cluster.attribute("table").cloned().unwrap_or_default();
                tables.as_array().is_some_and(|all| all.iter().any(|one| one["name"] == *name))
            });
            if !(has_columns && is_held) {
                missing.push(name);
            }
        }
    }
    missing
}

async fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(120), "waited too long: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_writer_that_goes_away_at_any_moment_leaves_no_table_unknown() {
    let alone = alone::node("n1");
    let node = Arc::clone(&alone.node);
    sync::register(&node).await.unwrap();
    let announcer = tokio::spawn(announce::run(Arc::clone(&node)));
    let mut finished = 0;
    for polls in 0..=50 {
        for rows in [r#"[{"a": 1}]"#, r#"[{"a": 1, "b": 2}]"#] {
            let table = format!("t{polls}");
            let put = ingest::put(&node, "d", &table, Input::Json, rows.as_bytes());
            let given_up = Until { future: Box::pin(put), polls };
            finished += usize::from(pin!(given_up).await.is_some());
        }
    }
    assert!(finished > 0, "some writers stay to the end");
    let tables = node.engine().storage().tables("d").len();
    assert!(tables > 0, "some tables are stored");
    wait_until("all tables are announced", || unannounced(&node).is_empty()).await;
    node.settings().shutdown.cancel();
    announcer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_stays_is_answered_when_the_table_is_known() {
    let alone = alone::node("n1");
    let node = &alone.node;
    sync::register(node).await.unwrap();
    for rows in [r#"[{"a": 1}]"#, r#"[{"a": 1, "b": 2}]"#, r#"[{"c": 1}]"#] {
        ingest::put(node, "d", "t", Input::Json, rows.as_bytes()).await.unwrap();
        assert_eq!(unannounced(node), Vec::<String>::new());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_published_is_tried_again() {
    // Three policies of the node, one of its cluster, and one that is in the way.
    let limits = Limits { policies_max: 5, ..Limits::default() };
    let alone = alone::node_with("n1", limits);
    let node = Arc::clone(&alone.node);
    sync::register(&node).await.unwrap();
    while let Ok(policy) = Policy::from_value(json!({ "device": { "n": node.ledger().len() } })) {
        if node.ledger().insert(policy, Scope::Global).is_err() {
            break;
        }
    }
    let announcer = tokio::spawn(announce::run(Arc::clone(&node)));
    let put = ingest::put(&node, "d", "t", Input::Json, br#"[{"a": 1}]"#).await.unwrap();
    assert_eq!(put.stored, 1);
    assert_eq!(unannounced(&node), ["t"]);
    // There is room again: nobody has to send anything for that. The query and master policies are
    // not needed for it.
    let others = Kinds::Named(vec!["device".into(), "query".into(), "master".into()]);
    let others = node.ledger().select(&others, &Condition::True);
    let ids: Vec<_> = others.iter().map(|policy| policy.id().unwrap().to_owned()).collect();
    node.ledger().remove(&ids).unwrap();
    wait_until("the table is announced", || unannounced(&node).is_empty()).await;
    node.settings().shutdown.cancel();
    announcer.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_taken_out_of_the_ledger_comes_back_while_the_rows_are_here() {
    let alone = alone::node("n1");
    let node = Arc::clone(&alone.node);
    sync::register(&node).await.unwrap();
    let announcer = tokio::spawn(announce::run(Arc::clone(&node)));
    ingest::put(&node, "d", "t", Input::Json, br#"[{"a": 1}]"#).await.unwrap();
    let tables = node.ledger().select(&Kinds::one("table"), &Condition::True);
    let ids: Vec<_> = tables.iter().map(|table| table.id().unwrap().to_owned()).collect();
    node.ledger().remove(&ids).unwrap();
    assert_eq!(unannounced(&node), ["t"]);
    wait_until("the table is announced again", || unannounced(&node).is_empty()).await;
    // Another policy changes nothing of that.
    let device = Policy::from_value(json!({ "device": { "name": "d1" } })).unwrap();
    node.ledger().insert(device, Scope::Global).unwrap();
    assert_eq!(unannounced(&node), Vec::<String>::new());
    node.settings().shutdown.cancel();
    announcer.await.unwrap();
}
