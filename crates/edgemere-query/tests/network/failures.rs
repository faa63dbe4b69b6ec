//! Operators that are down, die, hang or come back: an error with a name, or an answer that says what
//! is missing; never a short answer that looks whole.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::answer::Answer;
use crate::node::Node;
use crate::proxy::{Proxy, Then};
use crate::rows::{Split, readings, store};
use crate::{Cluster, DBMS, until};
use edgemere_query::distributed::{Bound, Error, Operator, Shard, State};
use edgemere_query::sql::{self, QueryOptions};
use edgemere_storage::storage::Reached;
use tokio::net::TcpListener;

/// Rows: a part is several batches.
const ROWS: usize = 30_000;

fn subset() -> QueryOptions {
    QueryOptions { subset: true, ..QueryOptions::default() }
}

async fn cluster(rows: usize) -> Cluster {
    let cluster = Cluster::start(3).await;
    cluster.fill("readings", readings(rows), Split(&[34, 33, 33])).await;
    cluster
}

/// The error that a query ends with, at once or in the middle.
async fn failure(cluster: &Cluster, sql: &str, options: QueryOptions) -> sql::Error {
    match cluster.try_ask(sql, options).await {
        Ok(asked) => Answer::of(asked.query).await.unwrap_err(),
        Err(error) => error,
    }
}

/// How many rows an answer counts.
async fn count(cluster: &Cluster, options: QueryOptions) -> (u64, Vec<String>) {
    let asked = cluster.try_ask("select count(*) from readings", options).await.unwrap();
    let progress = asked.progress;
    let answer = Answer::of(asked.query).await.unwrap();
    let missing = progress.missing().into_iter().map(|share| share.operator.name).collect();
    (answer.rows[0][0].as_u64().unwrap(), missing)
}

fn rows_of(node: &Node) -> u64 {
    node.engine.storage().table(DBMS, "readings").unwrap().stats().rows
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_is_down_is_named_and_one_that_is_back_is_used() {
    let mut cluster = cluster(6000).await;
    assert_eq!(count(&cluster, QueryOptions::default()).await.0, 6000);
    cluster.nodes[1].kill();
    let began = Instant::now();
    let error = failure(&cluster, "select count(*) from readings", QueryOptions::default()).await;
    println!("an operator that is down: an error after {:?}", began.elapsed());
    let sql::Error::Network(Error::Unreachable { operator, .. }) = &error else {
        panic!("{error:?}");
    };
    assert_eq!(operator.name, "operator-1");
    assert!(error.hint().unwrap().contains("subset"));

    let others = rows_of(&cluster.nodes[0]) + rows_of(&cluster.nodes[2]);
    assert_eq!(count(&cluster, subset()).await, (others, vec!["operator-1".to_owned()]));

    cluster.nodes[1].restart();
    assert_eq!(count(&cluster, QueryOptions::default()).await, (6000, vec![]));
    assert_eq!(count(&cluster, subset()).await, (6000, vec![]));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_an_operator_cannot_read_are_an_error_or_named() {
    let cluster = cluster(6000).await;
    let storage = cluster.nodes[1].engine.storage();
    storage.flush_all().await.unwrap();
    let table = storage.table(DBMS, "readings").unwrap();
    let file = table.snapshot().files[0].clone();
    let mut bytes = std::fs::read(&file.path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file.path, bytes).unwrap();
    assert_eq!(storage.verify().await.unwrap().damaged.len(), 1);

    let missing = format!("{} rows of \"{DBMS}.readings\"", file.rows);
    for sql in ["select count(*) from readings", "select * from readings order by 1 limit 3"] {
        let error = failure(&cluster, sql, QueryOptions::default()).await;
        let sql::Error::Network(Error::Damaged { operator, reason }) = &error else {
            panic!("{sql}: {error:?}");
        };
        assert!(operator.name == "operator-1" && reason.contains(&file.name()), "{sql}: {error}");
        assert!(error.hint().unwrap().contains("subset"));

        let asked = cluster.try_ask(sql, subset()).await.unwrap();
        let watched = asked.query.watched();
        let answer = Answer::of(asked.query).await.unwrap();
        let [named] = watched.missing_rows().try_into().unwrap();
        assert!(named.contains("operator-1") && named.contains(&missing), "{sql}: {named}");
        if answer.rows[0].len() == 1 {
            assert_eq!(answer.rows[0][0].as_u64(), Some(6000 - file.rows));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_never_answers_is_given_up() {
    let cluster = cluster(300).await;
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap().to_string();
    cluster.places.change(|table| table.parts[2].operators[0].address = address.clone());
    let began = Instant::now();
    let error = failure(&cluster, "select * from readings", QueryOptions::default()).await;
    println!("an operator that never answers: an error after {:?}", began.elapsed());
    let sql::Error::Network(inner) = &error else { panic!("{error:?}") };
    assert!(inner.is_absence() && inner.operator().unwrap().name == "operator-2", "{error:?}");
    let (rows, missing) = count(&cluster, subset()).await;
    assert_eq!(rows, rows_of(&cluster.nodes[0]) + rows_of(&cluster.nodes[1]));
    assert_eq!(missing, ["operator-2"]);
}

/// A cluster whose second operator is behind a proxy.
async fn behind_a_proxy(rows: usize) -> (Cluster, Proxy) {
    let cluster = cluster(rows).await;
    let proxy = Proxy::to(&cluster.nodes[1].operator).await;
    let operator = proxy.operator.clone();
    cluster.places.change(|table| table.parts[1].operators[0] = operator.clone());
    (cluster, proxy)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_is_lost_in_the_middle_is_an_error() {
    let (cluster, proxy) = behind_a_proxy(ROWS).await;
    assert_eq!(count(&cluster, QueryOptions::default()).await.0, ROWS as u64);
    for sql in ["select * from readings", "select id from readings order by id"] {
        for bytes in [2000, 10_000, 50_000] {
            proxy.after(bytes, Then::Cut);
            let error = failure(&cluster, sql, QueryOptions::default()).await;
            let sql::Error::Network(inner) = &error else { panic!("{error:?}") };
            assert!(inner.is_absence(), "{error:?}");
            assert_eq!(inner.operator().unwrap().name, "operator-1");
            proxy.after(0, Then::PassOn);
            // And the next query is served again.
            assert_eq!(count(&cluster, QueryOptions::default()).await.0, ROWS as u64);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_hangs_in_the_middle_is_given_up() {
    let (cluster, proxy) = behind_a_proxy(ROWS).await;
    proxy.after(20_000, Then::Hang);
    let began = Instant::now();
    let error = failure(&cluster, "select * from readings", QueryOptions::default()).await;
    println!("an operator that hangs: an error after {:?}", began.elapsed());
    let sql::Error::Network(Error::Lost { operator, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(operator.name, "operator-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subset_has_all_rows_of_an_operator_or_none() {
    let (cluster, proxy) = behind_a_proxy(ROWS).await;
    let others = rows_of(&cluster.nodes[0]) + rows_of(&cluster.nodes[2]);
    for bytes in (0..6).map(|step| step * 20_000) {
        proxy.after(bytes, Then::Cut);
        let asked = match cluster.try_ask("select id from readings", subset()).await {
            Ok(asked) => asked,
            Err(error) => panic!("{error}"),
        };
        let progress = asked.progress;
        match Answer::of(asked.query).await {
            Ok(answer) => {
                let all = if progress.missing().is_empty() { ROWS as u64 } else { others };
                assert_eq!(answer.rows.len() as u64, all);
            }
            Err(sql::Error::Network(error)) => {
                assert!(error.is_absence(), "{error}");
                let share = progress.shares().into_iter().find(|one| one.rows > 0);
                assert!(share.is_some(), "rows were used, so that it was an error");
            }
            Err(error) => panic!("{error}"),
        }
        proxy.after(0, Then::PassOn);
        assert_eq!(count(&cluster, subset()).await.0, ROWS as u64);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_with_the_same_rows_takes_the_place_of_one_that_is_away() {
    let mut cluster = cluster(3000).await;
    let (schema, _) = readings(0);
    let twin = Node::start(7).await;
    let snapshot = cluster.nodes[0].engine.storage().table(DBMS, "readings").unwrap().snapshot();
    let mut held = snapshot.memtable.clone();
    for file in &snapshot.files {
        held.extend(file.read(&snapshot.arrow).unwrap());
    }
    for batch in held {
        let own = batch.project(&(4..batch.num_columns()).collect::<Vec<_>>()).unwrap();
        store(&twin.engine, "readings", &schema, &own).await;
    }
    let second = twin.operator.clone();
    cluster.places.change(|table| table.parts[0].operators.push(second.clone()));
    assert_eq!(count(&cluster, QueryOptions::default()).await, (3000, vec![]));
    assert_eq!(twin.worker.running(), 0);

    cluster.nodes[0].kill();
    assert_eq!(count(&cluster, QueryOptions::default()).await, (3000, vec![]));
    let sql = "select count(*) from readings x join readings y on x.id = y.id";
    let asked = cluster.ask(sql).await;
    assert_eq!(Answer::of(asked.query).await.unwrap().rows, [[3000]]);

    cluster.nodes.push(twin);
    cluster.nodes[3].kill();
    let error = failure(&cluster, "select count(*) from readings", QueryOptions::default()).await;
    assert!(matches!(error, sql::Error::Network(Error::Unreachable { .. })), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_query_stops_the_work_on_every_operator() {
    let cluster = cluster(ROWS).await;
    let running = || cluster.nodes.iter().map(|node| node.worker.running()).sum::<usize>();
    // Operators wait for a reader, with rows in hand; or have much to do, and no rows yet.
    let much: Vec<_> = (0..60).map(|n| format!("reverse(reverse(note || '{n}'))")).collect();
    let much = format!("select count(*) from readings where concat({}) = 'o'", much.join(", "));
    for sql in ["select * from readings", &much] {
        let mut asked = cluster.ask(sql).await;
        let reading = tokio::spawn(async move {
            asked.query.begin().await.unwrap();
            std::future::pending::<()>().await;
        });
        until("the operators work", || running() == 3).await;
        let began = Instant::now();
        reading.abort();
        until("the operators stop", || running() == 0).await;
        println!("stopped after {:?}: {sql}", began.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_takes_too_long_stops_everywhere() {
    let cluster = cluster(ROWS).await;
    let sql = "select count(*) from readings x cross join readings y where x.value + y.value = 1.5";
    let options =
        QueryOptions { time: Some(Duration::from_millis(300)), ..QueryOptions::default() };
    let error = failure(&cluster, sql, options).await;
    assert!(matches!(error, sql::Error::TimeOut { .. }), "{error:?}");
    until("the operators stop", || cluster.nodes.iter().all(|node| node.worker.running() == 0))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_for_each_operator() {
    let cluster = cluster(ROWS).await;
    let mut asked = cluster.ask("select * from readings").await;
    asked.query.begin().await.unwrap();
    let shares = asked.progress.shares();
    assert_eq!(shares.len(), 3);
    assert!(shares.iter().any(|share| share.state == State::Running && share.rows > 0));
    let answer = Answer::of(asked.query).await.unwrap();
    assert_eq!(answer.rows.len(), ROWS);
    let shares = asked.progress.shares();
    assert!(shares.iter().all(|share| share.state == State::Done), "{shares:?}");
    assert!(shares.iter().all(|share| share.bytes > share.rows), "{shares:?}");
    assert_eq!(shares.iter().map(|share| share.rows).sum::<u64>(), ROWS as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_that_is_not_what_the_ledger_says_is_no_whole_answer() {
    let cluster = cluster(300).await;
    let right = cluster.nodes[2].operator.clone();
    let identity = "node of id-2";
    let position = cluster.nodes[2].engine.storage().position();
    assert!(position > 0);
    let meant = |node: &str, position: u64| {
        let reached = Reached { position, ..Reached::default() };
        let bound = Bound { node: node.to_owned(), reached, accepted: 0 };
        let operator = Operator { bound: Some(Arc::new(bound)), ..right.clone() };
        cluster.places.change(|table| {
            table.parts[2] = Shard { operators: vec![operator.clone()], rows: None };
        });
    };
    // As it is, and as it was not so long ago.
    for position in [0, position] {
        meant(identity, position);
        assert_eq!(count(&cluster, QueryOptions::default()).await, (300, vec![]));
    }
    // Another data folder under its name and address, or its own from before.
    let others = rows_of(&cluster.nodes[0]) + rows_of(&cluster.nodes[1]);
    for (node, position, why) in [
        ("node of id-7", 0, "its data folder is another one"),
        (identity, position + 1, "rows are lost"),
    ] {
        meant(node, position);
        let error =
            failure(&cluster, "select count(*) from readings", QueryOptions::default()).await;
        let text = crate::chain(&error);
        assert!(text.contains("is not the one of the ledger") && text.contains(why), "{text}");
        assert!(error.hint().unwrap().contains("accept operator operator-2"));
        assert_eq!(count(&cluster, subset()).await, (others, vec!["operator-2".to_owned()]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scan_for_another_operator_is_refused() {
    let cluster = cluster(300).await;
    // The ledger is wrong, or the machine got another's address.
    let address = cluster.nodes[0].operator.address.clone();
    let wrong =
        Operator { id: "id-2".into(), name: "operator-2".into(), address, ..Operator::default() };
    cluster.places.change(|table| {
        table.parts[2] = Shard { operators: vec![wrong.clone()], rows: None };
    });
    for options in [QueryOptions::default(), subset()] {
        let error = failure(&cluster, "select count(*) from readings", options).await;
        let text = crate::chain(&error);
        assert!(text.contains("the scan is for operator \"id-2\", and this is \"id-0\""), "{text}");
    }
}
