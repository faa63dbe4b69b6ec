//! A result in its two modes, collected and as events, and as an Arrow stream: each the same rows,
//! and none of them whole after an error.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod queried;
#[path = "../../edgemere-storage/tests/scratch/mod.rs"]
mod scratch;

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Int64Type};
use arrow::ipc::reader::StreamReader;
use edgemere_query::Engine;
use edgemere_query::sql::{
    ArrowStream, Batch, Error, Event, Limits, Query, QueryOptions, Times, collect, events,
};
use queried::{engine, wait_until_idle};

const ROWS: i64 = 20_000;

async fn ask(engine: &Engine, sql: &str) -> Query {
    engine.sql().query("d", sql, None).await.unwrap()
}

/// The first value of each row.
fn numbers(batches: &[Batch]) -> Vec<i64> {
    let text: String = batches.iter().map(|b| b.json_lists(Times::Plain).unwrap()).collect();
    let first = |line: &str| serde_json::from_str::<Vec<i64>>(line).unwrap().first().copied();
    text.lines().filter_map(first).collect()
}

#[tokio::test]
async fn a_collected_result_says_when_there_is_more() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    let sql = "select n from t where n < 10000 order by n";
    let cases = [(1, true), (9_999, true), (10_000, false), (10_001, false), (1_000_000, false)];
    for (limit, truncated) in cases {
        let whole = collect(ask(&engine, sql).await, limit).await.unwrap();
        let scope = QueryOptions { rows_max: Some(limit + 1), ..QueryOptions::default() };
        let query = engine.sql().ask("d", sql, &scope).await.unwrap();
        let bounded = collect(query, limit).await.unwrap();
        for collected in [whole, bounded] {
            assert_eq!(collected.truncated, truncated, "{limit}");
            assert_eq!(collected.total_rows, limit.min(10_000));
            assert!(numbers(&collected.rows).into_iter().eq(0..limit.min(10_000) as i64));
        }
    }
    let none = collect(ask(&engine, "select n from t where n < 0").await, 10).await.unwrap();
    assert_eq!((none.rows.len(), none.total_rows, none.truncated), (0, 0, false));
    wait_until_idle(&engine, sql).await;
}

#[tokio::test]
async fn events_have_exactly_the_rows_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    for (rows, at_once) in [(0, 100), (1, 100), (100, 100), (250, 100), (20_000, 97), (300, 1)] {
        let sql = format!("select n from t where n < {rows} order by n");
        let mut events = events(ask(&engine, &sql).await, at_once);
        let (mut sizes, mut found) = (Vec::new(), Vec::new());
        let mut total = None;
        while let Some(event) = events.next().await.transpose().unwrap() {
            assert_eq!(total, None, "something comes after the end");
            match event {
                Event::Rows(batch) => {
                    sizes.push(batch.rows());
                    found.extend(numbers(&[batch]));
                }
                Event::Complete { total_rows, .. } => total = Some(total_rows),
            }
        }
        assert_eq!(total, Some(rows));
        assert!(found.into_iter().eq(0..rows as i64));
        let mut expected = vec![at_once; rows / at_once];
        expected.extend(Some(rows % at_once).filter(|rest| *rest > 0));
        assert_eq!(sizes, expected);
        wait_until_idle(&engine, &sql).await;
    }
}

#[tokio::test]
async fn an_error_on_a_late_row_is_the_last_thing_that_comes() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    let sql = "select 10 / (n - 19990) from t";
    let mut events = events(ask(&engine, sql).await, 100);
    let mut rows = 0;
    let error = loop {
        match events.next().await.unwrap() {
            Ok(Event::Rows(batch)) => rows += batch.rows(),
            Ok(Event::Complete { .. }) => assert_eq!(rows, 0, "it looks whole"),
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, Error::Execution(_)), "{error}");
    assert!(rows > 0, "the first rows wait for the last");
    assert!(events.next().await.is_none());
    let collected = collect(ask(&engine, sql).await, 1_000_000).await;
    assert!(matches!(collected, Err(Error::Execution(_))), "{collected:?}");
    wait_until_idle(&engine, sql).await;
}

#[tokio::test]
async fn an_arrow_stream_has_its_columns_also_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), ROWS, Limits::default()).await;
    for rows in [0, 1, 10_000] {
        let sql = format!("select n, at, text, [text] as list from t where n < {rows} order by n");
        let mut query = ask(&engine, &sql).await;
        let mut stream = ArrowStream::new(&query.no_rows()).unwrap();
        let mut bytes = stream.take();
        assert!(!bytes.is_empty(), "the columns do not come first");
        while let Some(batch) = query.next().await {
            bytes.extend(stream.rows(&batch.unwrap()).unwrap());
        }
        bytes.extend(stream.end().unwrap());
        let reader = StreamReader::try_new(bytes.as_slice(), None).unwrap();
        let schema = reader.schema();
        assert_eq!(schema.field(0).data_type(), &DataType::Int64);
        assert_eq!(schema.field(2).data_type(), &DataType::Utf8);
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        let numbers = batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values());
        assert!(numbers.copied().eq(0..rows));
        let nulls: usize = batches.iter().map(|batch| batch.column(2).null_count()).sum();
        assert_eq!(nulls, (0..rows).filter(|n| n % 5 == 0).count());
    }
}
