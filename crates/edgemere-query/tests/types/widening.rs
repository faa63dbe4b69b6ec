//! Columns that begin with whole numbers and take what comes after.

use arrow::array::{Decimal128Array, Float64Array, UInt64Array};
use edgemere_query::Engine;
use edgemere_storage::Rows;
use edgemere_storage::decode::{Input, Mixed};

use crate::{array, arrow, ask, compact, flush, json, kind, open, put};

/// What holds of the values 4, null, 5 and 4.2 wherever they lie.
async fn check_sensor(engine: &Engine) {
    assert_eq!(kind(engine, "bar"), "decimal");
    for (sql, rows) in [
        ("select bar from t order by row_id", "[4.0] [null] [5.0] [4.2]"),
        ("select count(bar), sum(bar), min(bar), max(bar) from t", "[3,13.2,4.0,5.0]"),
        ("select avg(bar) from t", "[4.3999999999999995]"),
        ("select bar from t where bar > 4 order by bar", "[4.2] [5.0]"),
        ("select bar from t where bar >= 4.1 and bar < 4.9", "[4.2]"),
        ("select bar from t where bar = 5", "[5.0]"),
        ("select bar from t where bar = 4.5", ""),
        ("select bar from t where bar in (4, 4.2) order by bar", "[4.0] [4.2]"),
        (
            "select bar, count(*) from t where bar is not null group by bar order by bar",
            "[4.0,1] [4.2,1] [5.0,1]",
        ),
        ("select a.bar from t a join t b on a.bar = b.bar order by a.bar", "[4.0] [4.2] [5.0]"),
        ("select count(*) from t where bar is null", "[1]"),
    ] {
        assert_eq!(ask(engine, sql).await, rows, "{sql}");
    }
}

#[tokio::test]
async fn a_sensor_that_begins_on_a_round_value_keeps_its_fractions() {
    // Before and after rows have settled: all fresh, old ones in a file, both in files.
    for flushed in [[false, false], [true, false], [true, true], [false, true]] {
        let scratch = tempfile::tempdir().unwrap();
        let engine = open(scratch.path());
        json(&engine, r#"[{"bar": 4}, {"bar": null}, {"bar": 5.0}]"#).await;
        assert_eq!(kind(&engine, "bar"), "decimal");
        drop(engine);
        let scratch = tempfile::tempdir().unwrap();
        let engine = open(scratch.path());
        json(&engine, r#"[{"bar": 4}, {"bar": null}, {"bar": 5}]"#).await;
        assert_eq!(kind(&engine, "bar"), "int");
        if flushed[0] {
            flush(&engine).await;
        }
        // The plan is kept by then, and must not be used again.
        for _ in 0..3 {
            assert_eq!(ask(&engine, "select sum(bar) from t").await, "[9]");
        }
        json(&engine, r#"[{"bar": 4.2}]"#).await;
        assert_eq!(ask(&engine, "select sum(bar) from t").await, "[13.2]");
        if flushed[1] {
            flush(&engine).await;
        }
        check_sensor(&engine).await;
        engine.storage().close().await.unwrap();
        drop(engine);
        let engine = open(scratch.path());
        check_sensor(&engine).await;
        flush(&engine).await;
        check_sensor(&engine).await;
        compact(&engine).await;
        check_sensor(&engine).await;
    }
}

#[tokio::test]
async fn every_door_widens() {
    let csv = b"bar\n4.2\n".to_vec();
    let floats = arrow("bar", array(Float64Array::from(vec![4.2])));
    for (input, bytes) in [
        (Input::Json, br#"{"bar": 4.2}"#.to_vec()),
        (Input::Json, br#"{"bar": "4.2"}"#.to_vec()),
        (Input::Lines, b"{\"bar\": 4.2}\n".to_vec()),
        (Input::Csv, csv),
        (Input::ArrowStream, floats),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let engine = open(scratch.path());
        json(&engine, r#"{"bar": 4}"#).await;
        let put = put(&engine, input, &bytes).await;
        assert_eq!((put.stored, put.rejected_total), (1, 0), "{input:?}");
        let changed = put.changed.unwrap();
        assert_eq!(changed.columns[0].kind.sql(), "decimal");
        assert_eq!(ask(&engine, "select bar from t order by 1").await, "[4.0] [4.2]");
    }
}

#[tokio::test]
async fn what_is_not_a_number_does_not_widen() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    json(&engine, r#"{"bar": 4, "on": true}"#).await;
    for (bytes, reason) in [
        (&br#"{"bar": "x"}"#[..], "not a number"),
        (br#"{"bar": true}"#, "not a number"),
        // The row is rejected because of another column.
        (br#"[{"bar": 4.5, "on": 7}]"#, "not true or false"),
    ] {
        let put = put(&engine, Input::Json, bytes).await;
        assert_eq!((put.stored, put.rejected[0].reason.as_str()), (0, reason));
        assert!(put.changed.is_none());
    }
    let put = put(&engine, Input::Json, br#"[{"bar": 5}, {"bar": 4.5, "on": 7}]"#).await;
    assert_eq!((put.stored, put.rejected_total), (1, 1));
    assert_eq!(kind(&engine, "bar"), "int");
}

#[tokio::test]
async fn whole_numbers_that_no_float_holds_stay_exact() {
    for is_settled in [false, true] {
        let scratch = tempfile::tempdir().unwrap();
        let engine = open(scratch.path());
        json(&engine, r#"[{"n": 9007199254740993}, {"n": null}]"#).await;
        if is_settled {
            flush(&engine).await;
        }
        json(&engine, r#"[{"n": 0.5}]"#).await;
        assert_eq!(kind(&engine, "n"), "numeric(38,9)");
        for _ in 0..2 {
            let rows = ask(&engine, "select n from t where n > 1").await;
            assert_eq!(rows, "[9007199254740993.000000000]");
            assert_eq!(ask(&engine, "select sum(n) from t").await, "[9007199254740993.500000000]");
            compact_all(&engine).await;
        }
        let put = put(&engine, Input::Json, br#"[{"n": 0.12345678901}]"#).await;
        assert_eq!(put.rejected[0].reason, "has more digits after the point than its column");
    }
}

async fn compact_all(engine: &Engine) {
    flush(engine).await;
    compact(engine).await;
}

#[tokio::test]
async fn numbers_beyond_64_bits_fit() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    json(&engine, r#"{"n": -1}"#).await;
    flush(&engine).await;
    let large = arrow("n", array(UInt64Array::from(vec![u64::MAX])));
    assert_eq!(put(&engine, Input::ArrowStream, &large).await.stored, 1);
    assert_eq!(kind(&engine, "n"), "numeric(38,0)");
    json(&engine, r#"{"n": 12345678901234567890123}"#).await;
    let rows = ask(&engine, "select n from t order by n").await;
    assert_eq!(rows, "[-1] [18446744073709551615] [12345678901234567890123]");
    json(&engine, r#"{"n": 0.5}"#).await;
    assert_eq!(kind(&engine, "n"), "numeric(38,9)");
    // With a number that has no room for digits after the point, the column stays.
    let huge = "9".repeat(38);
    let engine = open(tempfile::tempdir().unwrap().path());
    json(&engine, &format!(r#"{{"n": {huge}}}"#)).await;
    let put = put(&engine, Input::Json, br#"[{"n": 0.5}, {"n": 7}]"#).await;
    assert_eq!((put.stored, put.rejected[0].reason.as_str()), (1, "not a whole number"));
    assert_eq!(ask(&engine, "select n from t order by n").await, format!("[7] [{huge}]"));
}

#[tokio::test]
async fn exact_numbers_widen_by_their_digits() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    let numbers = |values: Vec<i128>, digits, scale| {
        let column = Decimal128Array::from(values).with_precision_and_scale(digits, scale);
        arrow("n", array(column.unwrap()))
    };
    json(&engine, r#"{"n": 3}"#).await;
    put(&engine, Input::ArrowStream, &numbers(vec![420], 10, 2)).await;
    assert_eq!(kind(&engine, "n"), "numeric(21,2)");
    put(&engine, Input::ArrowStream, &numbers(vec![-1], 6, 6)).await;
    assert_eq!(kind(&engine, "n"), "numeric(25,6)");
    let rows = ask(&engine, "select n from t order by n").await;
    assert_eq!(rows, "[-0.000001] [3.000000] [4.200000]");
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_that_widen_at_once_lose_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    // With a number that no float holds, the column is exact, whichever comes first.
    json(&engine, r#"{"a": 9007199254740993, "b": 0}"#).await;
    let writers = (0..8).map(|writer: u64| {
        let engine = engine.clone();
        tokio::spawn(async move {
            for n in 0..20_u64 {
                let value = match (writer + n) % 3 {
                    0 => "1".to_owned(),
                    1 => "0.5".to_owned(),
                    _ => "9007199254740993".to_owned(),
                };
                let text =
                    format!(r#"{{"a": {value}, "b": {}}}"#, if n > 10 { "0.25" } else { "1" });
                json(&engine, &text).await;
            }
        })
    });
    let settler = {
        let engine = engine.clone();
        tokio::spawn(async move {
            for _ in 0..10 {
                flush(&engine).await;
            }
        })
    };
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    settler.await.unwrap();
    assert_eq!(ask(&engine, "select count(*), count(a), sum(b) from t").await, "[161,161,106.0]");
    drop(engine);
    let engine = open(scratch.path());
    assert_eq!(ask(&engine, "select count(*), count(a), sum(b) from t").await, "[161,161,106.0]");
}

#[tokio::test]
async fn a_retry_after_the_column_has_widened_stores_nothing_twice() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    let rows = |bytes, key| Rows {
        dbms: "d",
        table: "t",
        input: Input::Json,
        bytes,
        key: Some(key),
        mixed: Mixed::default(),
        strict: false,
    };
    let whole = rows(br#"{"n": 1}"#, "a");
    let fraction = rows(br#"{"n": 1.5}"#, "b");
    for is_repeated in [false, true, true] {
        for rows in [whole, fraction] {
            assert_eq!(engine.put_rows(rows).await.unwrap().repeated, is_repeated);
        }
    }
    // A key that is used for other rows does not widen anything.
    json(&engine, r#"{"m": 1}"#).await;
    assert!(engine.put_rows(rows(br#"{"m": 1.5}"#, "a")).await.is_err());
    assert_eq!(kind(&engine, "m"), "int");
    assert_eq!(ask(&engine, "select n from t where n is not null order by n").await, "[1.0] [1.5]");
}

#[tokio::test]
async fn a_manifest_is_rebuilt_from_files_of_both_widths() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    for text in [r#"{"n": 1}"#, r#"{"n": 1.5}"#, r#"{"n": 2}"#] {
        json(&engine, text).await;
        flush(&engine).await;
    }
    engine.storage().close().await.unwrap();
    drop(engine);
    std::fs::remove_file(scratch.path().join("fresh.redb")).unwrap();
    let repaired = edgemere_storage::storage::repair(scratch.path(), false).unwrap();
    assert_eq!((repaired.rows, repaired.missing), (3, vec![]));
    let engine = open(scratch.path());
    assert_eq!(kind(&engine, "n"), "decimal");
    assert_eq!(ask(&engine, "select n from t order by row_id").await, "[1.0] [1.5] [2.0]");
}
