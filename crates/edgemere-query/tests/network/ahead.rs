//! A column becomes wider on an operator before the query node's ledger tells so: the query waits for the
//! ledger, and is not answered with values that were cut off.

use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use edgemere_query::distributed::Error as NetworkError;
use edgemere_query::sql::{Error, QueryOptions};
use edgemere_storage::schema::Kind;

use crate::answer::Answer;
use crate::rows::{Split, schema, store};
use crate::{Cluster, until};

const SQL: &str = "select sum(n) as s from t";

/// A network whose operators have fractions in `n`, and whose query node knows of whole numbers only.
async fn widened() -> Cluster {
    let cluster = Cluster::start_patient(2).await;
    let narrow = schema(&[("n", Kind::Int)]);
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
    let whole = RecordBatch::try_from_iter([("n", whole)]).unwrap();
    cluster.fill("t", (narrow.clone(), whole), Split(&[50, 50])).await;
    let parts = cluster.nodes.iter().map(|node| node.part(None)).collect();
    let fractions: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 0.25]));
    let fractions = RecordBatch::try_from_iter([("n", fractions)]).unwrap();
    for node in &cluster.nodes {
        store(&node.engine, "wide", &schema(&[("n", Kind::Decimal)]), &fractions).await;
    }
    cluster.places.set("wide", narrow, parts);
    cluster
}

fn is_ahead(cluster: &Cluster) -> bool {
    let Some(status) = cluster.network.queries().last() else { return false };
    status.operators.iter().any(|one| matches!(one.error, Some(NetworkError::Ahead { .. })))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_waits_for_the_ledger() {
    let cluster = widened().await;
    let scope = QueryOptions::default();
    let asking = async {
        Answer::of(cluster.network.ask("d", "select sum(n) as s from wide", &scope).await?).await
    };
    let telling = async {
        until("an operator says that it is ahead", || is_ahead(&cluster)).await;
        let parts = cluster.nodes.iter().map(|node| node.part(None)).collect();
        cluster.places.set("wide", schema(&[("n", Kind::Decimal)]), parts);
    };
    let (answer, ()) = tokio::join!(asking, telling);
    let answer = answer.unwrap();
    assert_eq!(answer.rows[0][0].as_f64(), Some(1.5));
    let status = cluster.network.queries().last().unwrap();
    assert!(status.operators.iter().all(|one| one.error.is_none()), "{:?}", status.operators);
    // What is not wider goes on meanwhile.
    let answer = Answer::of(cluster.ask(SQL).await.query).await.unwrap();
    assert_eq!(answer.rows[0][0].as_i64(), Some(10));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_waits_no_longer_than_it_may_take() {
    let cluster = widened().await;
    let scope = QueryOptions { time: Some(Duration::from_millis(400)), ..QueryOptions::default() };
    let ended = cluster.network.ask("d", "select n from wide", &scope).await;
    assert!(matches!(ended, Err(Error::TimeOut { .. })), "{ended:?}");
}
