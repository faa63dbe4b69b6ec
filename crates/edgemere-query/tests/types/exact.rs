//! Exact numbers, floats that are no numbers, moments, and columns that are given another type.

use arrow::array::{Decimal128Array, Float64Array};
use edgemere_query::sql::Times;
use edgemere_query::{Definition, Engine};
use edgemere_storage::decode::Input;

use crate::{array, arrow, ask, compact, flush, json, kind, open, put};

/// A table `d.t` with these columns.
async fn create(engine: &Engine, columns: &str) {
    let schema = Definition::from_columns("t", columns).unwrap().schema().unwrap();
    engine.storage().create_table("d", "t", schema).await.unwrap();
}

#[tokio::test]
async fn sums_of_decimals_are_exact() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    create(&engine, "k int, v decimal(10,2)").await;
    let rows: Vec<_> = (0..1000).map(|n| format!(r#"{{"k": {}, "v": 0.1}}"#, n % 7)).collect();
    json(&engine, &format!("[{}]", rows.join(","))).await;
    for _ in 0..2 {
        assert_eq!(
            ask(&engine, "select sum(v), min(v), max(v) from t").await,
            "[100.00,0.10,0.10]"
        );
        // A sum is found by its own value.
        let sums = "select k, sum(v) as s from t group by k";
        let sql =
            format!("select count(*) from ({sums}) a where a.s = (select max(s) from ({sums}))");
        assert_eq!(ask(&engine, &sql).await, "[6]");
        assert_eq!(ask(&engine, "select count(*) from t where v = 0.1").await, "[1000]");
        assert_eq!(ask(&engine, "select count(*) from t where v > 0.1").await, "[0]");
        flush(&engine).await;
    }
    let more = Decimal128Array::from(vec![1]).with_precision_and_scale(3, 1).unwrap();
    assert_eq!(put(&engine, Input::ArrowStream, &arrow("v", array(more))).await.stored, 1);
    assert_eq!(kind(&engine, "v"), "numeric(10,2)");
    let put = put(&engine, Input::Json, br#"[{"v": 0.125}, {"v": 123456789.5}]"#).await;
    let reasons: Vec<_> = put.rejected.iter().map(|row| row.reason.as_str()).collect();
    let expected =
        ["has more digits after the point than its column", "has more digits than its column"];
    assert_eq!(reasons, expected);
}

#[tokio::test]
async fn what_is_no_number_is_found_wherever_it_lies() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    let floats =
        vec![Some(1.5), Some(f64::NAN), None, Some(f64::INFINITY), Some(f64::NEG_INFINITY)];
    put(&engine, Input::ArrowStream, &arrow("v", array(Float64Array::from(floats)))).await;
    json(&engine, r#"[{"v": "NaN"}]"#).await;
    put(&engine, Input::Csv, b"v\n-inf\nnan\n").await;
    for step in 0..3 {
        for (sql, rows) in [
            (
                "select v from t order by row_id",
                r#"[1.5] ["NaN"] [null] ["Infinity"] ["-Infinity"] ["NaN"] ["-Infinity"] ["NaN"]"#,
            ),
            ("select count(*) from t where v > 1000", "[4]"),
            ("select count(*) from t where v < 1000", "[3]"),
            ("select count(*) from t where isnan(v)", "[3]"),
            ("select max(v), count(v) from t", r#"["NaN",7]"#),
            ("select sum(v) from t where v < 1000", r#"["-Infinity"]"#),
        ] {
            assert_eq!(ask(&engine, sql).await, rows, "{sql} {step}");
        }
        flush(&engine).await;
        compact(&engine).await;
    }
    // A column of whole numbers takes them too.
    json(&engine, r#"[{"n": 1}]"#).await;
    json(&engine, r#"[{"n": "NaN"}]"#).await;
    assert_eq!(kind(&engine, "n"), "decimal");
}

#[tokio::test]
async fn times_become_as_fine_as_what_comes() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    create(&engine, "at timestamp, moment timestamptz").await;
    json(&engine, r#"{"at": "2026-01-31T12:30:00.5", "moment": "2026-01-31T13:30:00+01:00"}"#)
        .await;
    flush(&engine).await;
    let fine =
        r#"{"at": "2026-01-31T12:30:00.000000001", "moment": "2026-01-31T12:30:00.000000001Z"}"#;
    json(&engine, fine).await;
    assert_eq!(
        (kind(&engine, "at"), kind(&engine, "moment")),
        ("timestamp(9)".into(), "timestamptz(9)".into())
    );
    for step in 0..3 {
        for (sql, rows) in [
            (
                "select at from t order by at",
                r#"["2026-01-31 12:30:00.000000001"] ["2026-01-31 12:30:00.500000"]"#,
            ),
            (
                "select moment from t order by moment",
                r#"["2026-01-31T12:30:00.000000Z"] ["2026-01-31T12:30:00.000000001Z"]"#,
            ),
            ("select count(*) from t where at > '2026-01-31 12:30:00.1'", "[1]"),
            ("select count(*) from t where moment > '2026-01-31T12:30:00Z'", "[1]"),
            ("select count(*) from t where moment = timestamp '2026-01-31 12:30:00'", "[1]"),
        ] {
            assert_eq!(ask(&engine, sql).await, rows, "{sql} {step}");
        }
        flush(&engine).await;
        compact(&engine).await;
    }
    // Where a time cannot be counted in nanoseconds, the column stays.
    json(&engine, r#"{"other": "9999-12-31T00:00:00"}"#).await;
    json(&engine, r#"{"other": "2026-01-31T12:30:00.000000001"}"#).await;
    assert_eq!(kind(&engine, "other"), "timestamp");
}

#[tokio::test]
async fn a_zone_keeps_its_offset() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    json(&engine, r#"{"at": "2026-01-31T12:30:00Z"}"#).await;
    let sql = "select at at time zone 'Europe/Berlin' as b from t";
    assert_eq!(ask(&engine, sql).await, r#"["2026-01-31 12:30:00.000000+01:00"]"#);
    let mut query = engine.sql().query("d", sql, None).await.unwrap();
    let batch = query.next().await.unwrap().unwrap();
    assert_eq!(batch.csv(Times::Plain, false).unwrap().trim(), "2026-01-31 12:30:00.000000+01:00");
    assert_eq!(batch.cells(Times::Plain).unwrap(), [["2026-01-31 12:30:00.000000+01:00"]]);
    assert_eq!(batch.cells(Times::Clock).unwrap(), [["2026-01-31 12:30:00.000000"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_is_given_another_type() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = open(scratch.path());
    json(&engine, r#"[{"v": "4.25", "w": 1}, {"v": null, "w": 2}, {"v": " 7 ", "w": 3}]"#).await;
    flush(&engine).await;
    json(&engine, r#"[{"v": "0.5", "w": 4}]"#).await;
    let table = engine.storage().table("d", "t").unwrap();
    let alter = async |column: &str, type_name: &str| {
        let schema =
            Definition::from_columns("t", &format!("c {type_name}")).unwrap().schema().unwrap();
        engine.storage().alter_column(&table, column, schema.columns[0].kind).await
    };
    let old = table.snapshot();
    let refused = alter("v", "int").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the value \"4.25\" of the column \"v\" in the row 1 does not fit: not a whole number"
    );
    assert!(alter("x", "int").await.unwrap_err().to_string().contains("no column \"x\""));
    assert_eq!(kind(&engine, "v"), "varchar");
    assert_eq!(alter("v", "numeric(6,2)").await.unwrap(), 4);
    // Who reads what was there before goes on.
    assert_eq!(old.files[0].read(&old.arrow).unwrap()[0].num_rows(), 3);
    drop(old);
    json(&engine, r#"[{"v": "0.25", "w": 5}]"#).await;
    for _ in 0..2 {
        assert_eq!(
            ask(&engine, "select v from t order by row_id").await,
            "[4.25] [null] [7.00] [0.50] [0.25]"
        );
        assert_eq!(ask(&engine, "select sum(v), sum(w) from t where v < 5").await, "[5.00,10]");
        flush(&engine).await;
    }
    // Back, while a client writes.
    let writer = {
        let engine = engine.clone();
        tokio::spawn(async move {
            for n in 0..50 {
                json(&engine, &format!(r#"[{{"v": "{n}", "w": 0}}]"#)).await;
            }
        })
    };
    alter("v", "varchar").await.unwrap();
    alter("v", "float").await.unwrap();
    writer.await.unwrap();
    assert_eq!(ask(&engine, "select count(*), count(v), sum(v) from t").await, "[55,54,1237.0]");
    engine.storage().close().await.unwrap();
    drop((engine, table));
    let engine = open(scratch.path());
    assert_eq!(kind(&engine, "v"), "decimal");
    assert_eq!(ask(&engine, "select count(*), count(v), sum(v) from t").await, "[55,54,1237.0]");
}
