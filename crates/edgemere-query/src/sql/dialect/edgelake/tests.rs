//! What EdgeLake is asked, what is refused, and what is done here. Each statement that is sent in these
//! tests was compared on a running network of EdgeLake with the same rows in one SQLite database.

use serde_json::{Map, Value, json};

use super::*;

fn sent(sql: &str) -> String {
    Query::of(sql, "d").unwrap_or_else(|error| panic!("{sql}: {error}")).sql().to_owned()
}

fn why(sql: &str) -> String {
    match Query::of(sql, "d") {
        Ok(query) => panic!("{sql} is sent as {}", query.sql()),
        Err(error) => {
            assert!(error.hint().is_some(), "{sql}: {error}");
            error.to_string()
        }
    }
}

fn finished(sql: &str, rows: Value) -> (Vec<String>, Value) {
    let rows: Vec<Map<String, Value>> = serde_json::from_value(rows).unwrap();
    let Rows { columns, rows } = Query::of(sql, "d").unwrap().finish(rows).unwrap();
    (columns, json!(rows))
}

#[test]
fn a_query_is_printed_anew() {
    let cases = [
        ("SELECT *\n FROM \"t\" -- all of it", "select * from t"),
        ("select T.\"value\" as V from d.t AS T limit 3", "select value from t limit 3"),
        ("select count(*), Avg(value) m from t limit 1", "select count(*), avg(value) from t"),
        (
            "select value from t order by value desc limit 3 offset 2",
            "select value from t order by value desc limit 5",
        ),
        ("select ts from t order by value", "select ts, value from t order by value"),
        ("select value v from t order by v asc", "select value from t order by value"),
        ("select max(value) from t group by name", "select max(value), name from t group by name"),
        (
            "select name as n, count(*) from t group by 1 having sum(v) > 5 order by 2 desc limit 3",
            "select name, count(*), sum(v) from t group by name",
        ),
        ("select distinct (name) from t order by name limit 3", "select distinct name from t"),
        ("select count(distinct name) from t", "select count(distinct name) from t"),
        (
            "select avg(v)::float(2), w from t group by w",
            "select avg(v)::float(2), w from t group by w",
        ),
        ("select v::int from t order by v", "select v::int from t order by v"),
        (
            "select increments(hour, 6, ts), avg(v) from t where true",
            "select increments(hour, 6, ts), avg(v) from t",
        ),
        (
            "select increments(day, 1, ts) as span_start, avg(v) from t",
            "select increments(day, 1, ts), min(ts), avg(v) from t",
        ),
        ("select a from t limit 0", "select a from t limit 1"),
        ("select count(*) as a, count(*) as b from t", "select count(*) from t"),
    ];
    for (ours, theirs) in cases {
        assert_eq!(sent(ours), theirs, "{ours}");
    }
}

#[test]
fn conditions_have_no_parentheses() {
    let cases = [
        (
            "(ts >= '2026-01-01 06:00:00' and ts < '2026-01-01T07:00:00Z')",
            "ts >= '2026-01-01 06:00:00.000000' and ts < '2026-01-01T07:00:00.000000Z'",
        ),
        (
            "v > 50 and (ts < '2026-01-01' or ts >= '2026-01-01 07:00:00.5')",
            "v > 50 and ts < '2026-01-01' or v > 50 and ts >= '2026-01-01 07:00:00.500000'",
        ),
        ("ts > (now() - 1 day) and (ts < now())", "ts > now() - 1 days and ts < now()"),
        ("ts > -3d", "ts > now() - 3 days"),
        (
            "name in ('a', 'b') and not v between 1 and 2",
            "name = 'a' and v < 1 or name = 'a' and v > 2 or name = 'b' and v < 1 or name = 'b' and v > 2",
        ),
        ("not (name = 'a' or v <> -1.5)", "name != 'a' and v = -1.5"),
        ("50 < v and v is not null and w is null", "v > 50 and v is not null and w is null"),
        ("1 = 1 and v = 2", "v = 2"),
        ("false or 1 > 2", "1 = 0"),
        ("ok = true and name = 'Hall 1, north(a)'", "ok = true and name = 'Hall 1, north(a)'"),
        ("period(hour, 1, now(), ts) and v > 1", "period(hour, 1, now(), ts) and v > 1"),
    ];
    for (ours, theirs) in cases {
        let sql = format!("select count(*) from t where {ours}");
        assert_eq!(sent(&sql), format!("select count(*) from t where {theirs}"), "{ours}");
    }
}

#[test]
fn what_edgelake_would_read_as_more_is_refused() {
    for text in [
        "!name",
        "a !name",
        "$HOME",
        "a$b",
        "it''s",
        "a\"b",
        "a=b",
        "a{b}",
        "{select 1 (v)}",
        "a;b",
        "a\\b",
        "a  b",
        " a",
        "a\nb",
        "x or y",
        "x AND y",
        "a order by b",
        "x limit 3",
        "é",
        "a<b",
        "a , b",
        "--",
    ] {
        let refusal = why(&format!("select count(*) from t where name = '{text}'"));
        assert!(refusal.contains("the text"), "{text}: {refusal}");
    }
    for sql in [
        "and dest = file and file = /tmp/x select a from t",
        "format = json select a from t",
        "test = true and file = x select a from t",
        "select a from t; drop table t",
        "drop table t",
        "delete from t",
        "pragma table_info(t)",
        "system touch x",
        "insert into t values (1)",
        "select a into b from t",
        "select \"a b\" from t",
        "select \"!a\" from t",
        "select a from \"$t\"",
        "select a from \"limit\"",
        "select a as b from other.t",
        "select a from t for update",
        "explain select a from t",
        "",
    ] {
        let refusal = match Query::of(sql, "d") {
            Ok(query) => panic!("{sql} is sent as {}", query.sql()),
            Err(error) => error.to_string(),
        };
        assert!(!refusal.is_empty(), "{sql}");
    }
}

#[test]
fn what_edgelake_computes_wrongly_is_refused() {
    for sql in [
        "select value * 2 from t",
        "select avg(value) * 2 from t",
        "select avg(value * 2) from t",
        "select upper(name) from t",
        "select round(value) from t",
        "select stddev(value) from t",
        "select case when v > 1 then 1 end from t",
        "select 1 from t",
        "select 'x' from t",
        "select row_number() over (order by v) from t",
        "select count(*) filter (where v > 1) from t",
        "select v from t union select v from u",
        "select count(*) from (select v from t) x",
        "select a.v from t a join u b on a.v = b.v",
        "select a.v from t a, u b",
        "with x as (select 1) select * from x",
        "select name, count(*) from t",
        "select count(distinct name), count(*) from t",
        "select name, count(distinct v) from t group by name",
        "select count(distinct name) from t having count(*) > 1",
        "select sum(distinct v) from t",
        "select upper(name), count(*) from t group by upper(name)",
        "select name, count(*) from t group by rollup(name)",
        "select distinct on (name) v from t",
        "select v from t order by name, v desc",
        "select v from t order by v nulls first",
        "select v from t order by v + 1",
        "select v from t having v > 5",
        "select v from t limit 1 + 1",
        "select *, v from t",
        "select from t",
        "select v from t where name like 'a%'",
        "select v from t where v + 1 > 2",
        "select v from t where lower(name) = 'a'",
        "select v from t where v in (select v from u)",
        "select v from t where v = null",
        "select v from t where ok",
        "select v from t where ts = '2026-01-01'",
        "select v from t where ts <= '2026-01-01'",
        "select v from t where ts > '2026-01-01 06:00:00+02:00'",
        "select v from t where ts > '2026-13-01 06:00:00'",
        "select v from t where ts > '2026-01-01 and more'",
        "select v from t where ts > now() - 1 day or v > 2",
        "select v from t where period(hour, 1, now(), ts, and v > 1)",
        "select v from t where not period(hour, 1, now(), ts)",
        "select increments(ts), count(*) from t",
        "select increments(week, 1, ts), count(*) from t",
        "select increments(day, 2, ts), count(*) from t",
        "select increments(hour, 7, ts), count(*) from t",
        "select increments(hour, 1, ts) from t",
        "select increments(hour, 1, ts), name, count(*) from t",
        "select v::ljust(3) from t",
        "select v::int, count(*) from t group by v",
        "select cast(v as int) from t",
        "select name, count(*) from t group by name having count(*) > avg(v)",
        "select name, count(*) from t group by name having count(*) * 2 > 5",
    ] {
        let refusal = why(sql);
        assert!(!refusal.is_empty(), "{sql}");
    }
}

#[test]
fn conditions_that_grow_are_refused() {
    let both = (0..10).map(|n| format!("(a = {n} or b = {n})")).collect::<Vec<_>>().join(" and ");
    assert!(why(&format!("select v from t where {both}")).contains("more than 64"));
    let many = (0..1000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    assert!(why(&format!("select v from t where a in ({many})")).contains("more than 64"));
}

#[test]
fn groups_are_chosen_ordered_and_counted_here() {
    let rows = json!([
        {"name": "a", "count(*)": 5, "sum(v)": 1.5},
        {"name": "b", "count(*)": 7, "sum(v)": 9.5},
        {"name": "c", "count(*)": 10, "sum(v)": ""},
        {"name": "d", "count(*)": 10, "sum(v)": 9.5},
    ]);
    let sql =
        |rest: &str| format!("select name as n, count(*) as k, sum(v) from t group by name {rest}");
    let names = ["n", "k", "sum(v)"].map(String::from).to_vec();
    let cases = [
        (
            "having count(*) > 5 order by k desc, n desc limit 2",
            json!([["d", 10, 9.5], ["c", 10, null]]),
        ),
        ("order by n offset 3", json!([["d", 10, 9.5]])),
        ("having sum(v) is null", json!([["c", 10, null]])),
        ("having not (sum(v) > 2) and n != 'b'", json!([["a", 5, 1.5]])),
        ("order by sum(v) desc nulls last, n limit 1", json!([["b", 7, 9.5]])),
        ("limit 0", json!([])),
    ];
    for (rest, expected) in cases {
        assert_eq!(finished(&sql(rest), rows.clone()), (names.clone(), expected), "{rest}");
    }
}

#[test]
fn rows_get_their_names_and_lose_what_was_only_asked_for_to_order_them() {
    let rows = json!([{"ts": 1, "value": 2}, {"ts": 3, "value": 4}, {"ts": 5, "value": 6}]);
    let (names, rows) = finished("select ts as a from t order by value limit 1 offset 1", rows);
    assert_eq!((names, rows), (vec!["a".to_owned()], json!([[3]])));
    let (names, rows) = finished("select * from t", json!([{"a": 1}, {"b": 2, "a": 3}]));
    assert_eq!((names, rows), (vec!["a".into(), "b".into()], json!([[1, null], [3, 2]])));
    let spans = json!([{"min(ts)": "x", "avg(v)": ""}]);
    let (names, rows) = finished("select increments(day, 1, ts) as s, avg(v) from t", spans);
    assert_eq!((names, rows), (vec!["min(ts)".into(), "avg(v)".into()], json!([["x", null]])));
    let lacking = json!([{"b": 1}]);
    assert_eq!(finished("select a, b as c from t", lacking).1, json!([[null, 1]]));
    let other: Vec<Map<String, Value>> = serde_json::from_value(json!([{"x": 1}])).unwrap();
    assert!(Query::of("select a, b from t", "d").unwrap().finish(other).is_err());
}
