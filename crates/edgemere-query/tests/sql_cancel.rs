//! Queries that would go on for ever: who drops one stops it, and so does its time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod queried;
#[path = "../../edgemere-storage/tests/scratch/mod.rs"]
mod scratch;

use std::time::Duration;

use edgemere_query::sql::{Error, Limits};
use edgemere_storage::decode::Input;
use queried::{engine, wait_until_idle};

const ROWS: i64 = 20_000;

/// Each goes on for longer than anybody waits, and gives no row before its end.
const ENDLESS: [&str; 6] = [
    "select count(a.n + b.n + c.n) from t a, t b, t c",
    "select sum(a.n * b.n) from t a, t b, t c where a.n + b.n > c.n",
    "select count(*) from t a join t b on a.n < b.n join t c on b.n < c.n",
    "select a.n % 7, count(*) from t a, t b, t c group by 1",
    "select max(x) from (select row_number() over (order by a.n + b.n) as x from t a, t b, t c)",
    "with recursive r as (select 1 as i union all select i + 1 from r) select max(i) from r",
];

/// Gives rows at once, and more of them than anybody takes.
const MANY: &str = "select a.n, b.n, a.text from t a, t b, t c";

#[tokio::test]
async fn who_drops_a_query_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    for sql in ENDLESS {
        let mut query = engine.sql().query("d", sql, None).await.unwrap();
        let begun = tokio::time::timeout(Duration::from_millis(50), query.begin()).await;
        assert!(begun.is_err(), "{sql}: {begun:?}");
        assert_eq!(engine.sql().running(), 1);
        drop(query);
        wait_until_idle(&engine, sql).await;
    }
    let mut query = engine.sql().query("d", MANY, None).await.unwrap();
    assert!(query.next().await.unwrap().unwrap().rows() > 0);
    drop(query);
    wait_until_idle(&engine, MANY).await;
}

/// A join that goes through any number of pairs and finds none does not read, and gives nothing.
#[tokio::test]
async fn a_join_that_finds_nothing_is_stopped_too() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    let side = "(select a.n from t a, t b limit 1000000)";
    let sql = format!("select count(*) from {side} x join {side} y on x.n * y.n < 0 - x.n");
    let mut query = engine.sql().query("d", &sql, None).await.unwrap();
    // One side is in memory before the pairs are gone through.
    while engine.sql().memory_used_bytes() < 8_000_000 {
        let begun = tokio::time::timeout(Duration::from_millis(5), query.begin()).await;
        assert!(begun.is_err(), "{begun:?}");
    }
    drop(query);
    wait_until_idle(&engine, &sql).await;
    let time = Some(Duration::from_secs(3));
    let mut query = engine.sql().query("d", &sql, time).await.unwrap();
    let ended = query.begin().await;
    assert!(matches!(ended, Err(Error::TimeOut { .. })), "{ended:?}");
    wait_until_idle(&engine, &sql).await;
}

#[tokio::test]
async fn a_query_has_its_time_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    for sql in ENDLESS {
        let time = Some(Duration::from_millis(50));
        let ended = match engine.sql().query("d", sql, time).await {
            Ok(mut query) => query.begin().await,
            Err(error) => Err(error),
        };
        assert!(matches!(ended, Err(Error::TimeOut { .. })), "{sql}: {ended:?}");
        wait_until_idle(&engine, sql).await;
    }
}

#[tokio::test]
async fn no_time_at_all_is_over_before_anything_is_planned() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { time: Duration::ZERO, ..Limits::default() };
    let engine = engine(folder.path(), 10, limits).await;
    let refused = engine.sql().query("d", "select n from t", None).await;
    assert!(matches!(refused, Err(Error::TimeOut { .. })), "{refused:?}");
    wait_until_idle(&engine, "select n from t").await;
}

#[tokio::test]
async fn the_time_is_over_also_when_nobody_reads() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    let time = Some(Duration::from_secs(1));
    let mut query = engine.sql().query("d", MANY, time).await.unwrap();
    query.next().await.unwrap().unwrap();
    // Nobody reads, and the work stops all the same.
    wait_until_idle(&engine, MANY).await;
    let error = loop {
        match query.next().await.unwrap() {
            Ok(batch) => assert!(batch.rows() > 0),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::TimeOut { .. }), "{error}");
    assert!(query.next().await.is_none());
}

#[tokio::test]
async fn what_was_started_ends_with_the_engine() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    let mut query = engine.sql().query("d", "select n from t", None).await.unwrap();
    drop(engine);
    let mut rows = 0;
    while let Some(batch) = query.next().await {
        rows += batch.unwrap().rows();
    }
    assert_eq!(rows as i64, ROWS);
}

/// What is slow in one expression over one batch: each takes hours, and is in the middle of one
/// evaluation when it is to stop.
const SLOW: [&str; 9] = [
    "select count(*) from long where x ~ '(a|b)*a(a|b){900}c'",
    "select count(*) from long where x !~* '(a|b)*a(a|b){900}c'",
    "select sum(case when x like '%a{_}c' then 1 end) from long",
    "select count(*) from long where x not ilike '%a{_}c'",
    "select max(x similar to '(a|b)*a(a|b){900}c') from long",
    "select x ~ '(a|b)*a(a|b){900}c' as y from long order by y limit 1",
    "select count(*) from long where regexp_like(x, '(a|b)*a(a|b){900}c') or x in ('1', '2')",
    "select count(*) from long a join long b on a.x || b.x ~ '(a|b)*a(a|b){900}c'",
    "select max(levenshtein(lpad(text, 9999, 'ab'), lpad(text, 9999, 'ba'))) from t",
];

/// Letters a and b in which no stretch comes twice.
fn letters(seed: u64, count: usize) -> String {
    let mut state = seed;
    let letters = (0..count).map(|_| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if state >> 40 & 1 == 0 { 'a' } else { 'b' }
    });
    letters.collect()
}

#[tokio::test]
async fn an_expression_over_one_batch_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    let rows: Vec<_> = (0..40).map(|n| format!("{{\"x\": \"{}\"}}", letters(n, 100_000))).collect();
    let rows = format!("[{}]", rows.join(","));
    engine.put("d", "long", Input::Json, rows.as_bytes()).await.unwrap();
    for is_settled in [false, true] {
        if is_settled {
            engine.storage().flush_all().await.unwrap();
        }
        for sql in SLOW {
            let sql = sql.replace("{_}", &"_".repeat(900));
            let mut query = engine.sql().query("d", &sql, None).await.unwrap();
            let begun = tokio::time::timeout(Duration::from_millis(100), query.begin()).await;
            assert!(begun.is_err(), "{sql}: {begun:?}");
            // Nobody reads, and its work ends all the same.
            let id = engine.sql().queries().last().unwrap().id;
            assert_eq!(engine.sql().queries().cancel(id), Some(true));
            wait_until_idle(&engine, &sql).await;
            assert!(matches!(query.begin().await, Err(Error::Cancelled)));
        }
    }
}

/// A constant is computed while the query is planned.
#[tokio::test]
async fn a_search_in_a_constant_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 10, Limits::default()).await;
    let text = letters(1, 400_000);
    for sql in [
        format!("select '{text}' ~ '(a|b)*a(a|b){{900}}c'"),
        format!("select n from (select '{text}' as x, n from t) where x ~ '(a|b)*a(a|b){{900}}c'"),
        format!("select n from t where regexp_like('{text}', '(a|b)*a(a|b){{900}}c')"),
    ] {
        let time = Some(Duration::from_millis(300));
        let ended = match engine.sql().query("d", &sql, time).await {
            Ok(mut query) => query.begin().await,
            Err(error) => Err(error),
        };
        let start = sql.split_at(30).0;
        // A function says beforehand that it would take too long.
        let is_ended = match &ended {
            Err(Error::TimeOut { .. }) => true,
            Err(error) => format!("{error:?}").contains("could take minutes"),
            Ok(()) => false,
        };
        assert!(is_ended, "{start}: {ended:?}");
        wait_until_idle(&engine, start).await;
    }
}
