//! Arithmetic at the limits of the types: every answer is exact, or it is an error that says which way
//! leads to a wider type. Asked again, from the plan that was kept, it is the same.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

#[path = "sql_model/chance.rs"]
#[allow(dead_code, reason = "the model has more than is used here")]
mod chance;

use chance::Chance;
use edgemere_query::Engine;
use edgemere_query::sql::{Error, Times};
use edgemere_storage::decode::Input;

const ROWS: &str = r#"[
    {"g": 1, "k": 1, "n": 9223372036854775807, "x": 1.5},
    {"g": 1, "k": 2, "n": 1, "x": 2.5},
    {"g": 2, "k": 3, "n": -9223372036854775808, "x": -1.25},
    {"g": 2, "k": 4, "n": 5, "x": 7.0},
    {"g": 3, "k": 5, "n": null, "x": 0.5}]"#;

/// How often a query is asked until its plan has been kept and used.
const OFTEN: usize = 3;

/// What is exact.
const EXACT: [(&str, &str); 24] = [
    ("select sum(n) from t", "[5]"),
    ("select sum(n) from t where g = 3", "[null]"),
    ("select sum(distinct n), sum(distinct g) from t", "[5,6]"),
    (
        "select sum(n + 1), sum(n + 2) from t where k > 1",
        "[-9223372036854775799,-9223372036854775796]",
    ),
    ("select sum(cast(n as decimal(38,0))) from t where g = 1", "[9223372036854775808]"),
    (
        "select g, sum(n) filter (where k > 2) from t group by g order by g",
        "[1,null] [2,-9223372036854775803] [3,null]",
    ),
    (
        "select sum(n) over (order by k rows between 1 preceding and current row) from t where k > 2",
        "[-9223372036854775808] [-9223372036854775803] [5]",
    ),
    (
        "select sum(distinct g) over (order by k rows between 1 preceding and current row) from t",
        "[1] [1] [3] [2] [5]",
    ),
    ("select -n from t where k = 1", "[-9223372036854775807]"),
    ("select n % -1 from t where k = 3", "[0]"),
    ("select length('abc') + k from t where k = 1", "[4]"),
    ("select k + null, null + n from t where k = 1", "[null,null]"),
    ("select case when k > 100 then n * 2 else k end from t where k < 3", "[1] [2]"),
    (
        "select 18446744073709551616, 99999999999999999999 + 1",
        "[18446744073709551616,100000000000000000000]",
    ),
    (
        "select -99999999999999999999999999999999999999 as m",
        "[-99999999999999999999999999999999999999]",
    ),
    (
        "select cast('9999999999999999999999999999999999999' as decimal(38,0)) * 10",
        "[99999999999999999999999999999999999990]",
    ),
    ("select cast(16777217 as float), cast(16777217 as float(53))", "[16777217.0,16777217.0]"),
    (
        "select * from generate_series(9223372036854775806, 9223372036854775807)",
        "[9223372036854775806] [9223372036854775807]",
    ),
    ("select avg(to_timestamp(9223372036) - to_timestamp(0)) from t", "[\"2562047:47:16.000000\"]"),
    ("select increase(n, to_timestamp(k)) from t where k in (3, 1)", "[-9223372036854775808]"),
    ("select sum(x), avg(n), sum(k) from t", "[10.25,1.5,15]"),
    ("select sum(cast(x as decimal(10,2))) over (order by k) from t where k < 3", "[1.50] [4.00]"),
    ("select median(n) from t where g = 1", "[4.611686018427388e18]"),
    ("select k from t where k + 1 = 3 order by k * 2", "[2]"),
];

/// What has no room, and which type has none.
const OUT_OF_RANGE: [(&str, &str); 36] = [
    ("select 9223372036854775807 + 1", "bigint"),
    ("select -9223372036854775808 - 1", "bigint"),
    ("select 1 + 2 * 9223372036854775807", "bigint"),
    ("select n + 1 from t", "bigint"),
    ("select n * 2 from t where k = 1", "bigint"),
    ("select n - 2 from t where k = 3", "bigint"),
    ("select -n from t", "bigint"),
    ("select sum(n) from t where g = 1", "bigint"),
    ("select g, sum(n) from t group by g", "bigint"),
    ("select sum(distinct n) from t where g = 1", "bigint"),
    ("select sum(distinct n), sum(distinct k) from t where g = 1", "bigint"),
    ("select k, sum(n) over (order by k) from t", "bigint"),
    ("select sum(n) over (order by k rows between 1 preceding and current row) from t", "bigint"),
    ("select count(*) * 9223372036854775807 from t", "bigint"),
    ("select length('abc') + 9223372036854775807", "bigint"),
    ("select k from t where n + 1 > 5", "bigint"),
    ("select k from t order by n * 2", "bigint"),
    ("select a.k from t a join t b on a.n + 1 = b.n", "bigint"),
    ("select (select sum(n) from t where g = 1)", "bigint"),
    ("select count(*) from t group by n + 1", "bigint"),
    ("select count(*) from t having sum(n) + max(n) > 5", "bigint"),
    ("select lag(n) over (order by k) + 1 from t", "bigint"),
    ("with x as (select n + 1 as m from t) select m from x", "bigint"),
    (
        "with recursive r as (select 9223372036854775806 as n union all select n + 1 from r) select * from r",
        "bigint",
    ),
    ("values (9223372036854775807 + 1)", "bigint"),
    ("select more from bigger", "bigint"),
    ("select cast(127 as tinyint) + cast(1 as tinyint)", "tinyint"),
    ("select cast(32767 as smallint) * cast(2 as smallint)", "smallint"),
    ("select cast(2147483647 as int) + cast(1 as int)", "integer"),
    ("select 18446744073709551615 + arrow_cast(1, 'UInt64')", "bigint unsigned"),
    ("select arrow_cast(k, 'UInt64') - arrow_cast(5, 'UInt64') from t", "bigint unsigned"),
    ("select sum(18446744073709551615) from t", "bigint unsigned"),
    ("select 99999999999999999999999999999999999999 + 1", "numeric(38,0)"),
    ("select sum(99999999999999999999999999999999999999) from t", "numeric(38,0)"),
    ("select 99999999999999999999999999999999999999 * k from t", "numeric(38,0)"),
    ("select sum(to_timestamp(9223372036) - to_timestamp(0)) from t", "interval"),
];

/// What was an error before, in other words.
const OTHER_ERRORS: [&str; 12] = [
    "select abs(n) from t",
    "select n / -1 from t",
    "select factorial(21)",
    "select lcm(9223372036854775807, 2)",
    "select cast(1e30 as bigint)",
    "select cast(n as int) from t",
    "select timestamp '2026-01-01' + interval '1000000000 days'",
    "select date '2026-01-01' + interval '100000000 days'",
    "select interval '2147483647 months' + interval '1 month'",
    "select to_timestamp(9223372036854775807)",
    "select avg(99999999999999999999999999999999999999) from t",
    "select 5 limit 9223372036854775807 + 1",
];

async fn engine(folder: &std::path::Path) -> Engine {
    let (engine, _) = Engine::open(folder).unwrap();
    engine.put("d", "t", Input::Json, ROWS.as_bytes()).await.unwrap();
    engine
}

async fn ask(engine: &Engine, sql: &str) -> Result<String, Error> {
    let mut query = engine.sql().query("d", sql, None).await?;
    let mut rows = String::new();
    while let Some(batch) = query.next().await {
        rows.push_str(&batch?.json_lists(Times::Plain)?);
    }
    Ok(rows.trim().replace('\n', " "))
}

#[tokio::test]
async fn what_has_room_is_exact() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    for (sql, expected) in EXACT {
        for _ in 0..OFTEN {
            let found = ask(&engine, sql).await.unwrap_or_else(|error| format!("error: {error}"));
            assert_eq!(found, expected, "{sql}");
        }
    }
}

#[tokio::test]
async fn what_has_no_room_is_an_error_that_names_the_type_and_a_wider_one() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    let view = "select k, n + 1 as more from t";
    engine.create_view("d", "bigger", view).await.unwrap();
    for (sql, data_type) in OUT_OF_RANGE {
        for _ in 0..OFTEN {
            let error = ask(&engine, sql).await.expect_err(sql);
            // The rows of VALUES are computed while the query is planned.
            let is_callers = matches!(error, Error::Plan(_) | Error::Execution(_));
            assert!(is_callers, "{sql}: {error:?}");
            let told = error.to_string();
            assert!(told.starts_with(&format!("{data_type} out of range: ")), "{sql}: {told}");
            assert!(
                ["; cast one side to ", "; write sum(", "; sum the "]
                    .iter()
                    .any(|way| told.contains(way)),
                "{told}"
            );
        }
        match ask(&engine, &format!("explain {sql}")).await {
            Ok(plan) => assert!(!plan.is_empty(), "{sql}"),
            Err(error) => assert!(error.to_string().contains(" out of range: "), "{sql}: {error}"),
        }
    }
    for sql in OTHER_ERRORS {
        let told = ask(&engine, sql).await.expect_err(sql).to_string();
        assert!(!told.contains("(q-"), "{sql}: {told}");
    }
}

/// An expression over the columns `a`, `b` and `c`, and what it gives for their values: nothing when
/// some of it has no room in 64 bits.
fn expression(c: &mut Chance, values: &[i64; 3], depth: u32) -> (String, Option<i64>) {
    if depth == 0 || c.one_in(4) {
        if c.one_in(3) {
            let number = near_a_limit(c);
            // The smallest number has a sign and one digit too many to be a number itself.
            return (format!("cast('{number}' as bigint)"), Some(number));
        }
        let place = c.between(0, 2) as usize;
        return (["a", "b", "c"][place].to_owned(), Some(values[place]));
    }
    let (left, one) = expression(c, values, depth - 1);
    if c.one_in(5) {
        return (format!("(- {left})"), one.and_then(i64::checked_neg));
    }
    let (right, two) = expression(c, values, depth - 1);
    let sign = c.pick(&["+", "-", "*"]);
    let both = one.zip(two).and_then(|(one, two)| match sign {
        "+" => one.checked_add(two),
        "-" => one.checked_sub(two),
        _ => one.checked_mul(two),
    });
    (format!("({left} {sign} {right})"), both)
}

fn near_a_limit(c: &mut Chance) -> i64 {
    let near = c.pick(&[i64::MAX, i64::MIN, 0, 0, 3_037_000_499, -3_037_000_500, i64::MAX / 2]);
    near.saturating_add(c.between(-3, 3))
}

#[tokio::test]
async fn expressions_by_chance_are_exact_or_fail() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, _) = Engine::open(folder.path()).unwrap();
    let mut c = Chance::new(20_261_118);
    let (mut exact, mut failed) = (0, 0);
    for row in 0..12 {
        let values = [near_a_limit(&mut c), near_a_limit(&mut c), c.between(-5, 5)];
        let [one, two, three] = values;
        let json = format!(r#"[{{"a": {one}, "b": {two}, "c": {three}}}]"#);
        let table = format!("t{row}");
        engine.put("d", &table, Input::Json, json.as_bytes()).await.unwrap();
        for _ in 0..20 {
            let (text, expected) = expression(&mut c, &values, 3);
            let found = ask(&engine, &format!("select {text} as x from {table}")).await;
            match expected {
                Some(expected) => {
                    assert_eq!(found.unwrap(), format!("[{expected}]"), "{text} of {values:?}");
                    exact += 1;
                }
                None => {
                    let told = found.expect_err(&text).to_string();
                    assert!(told.starts_with("bigint out of range: "), "{text}: {told}");
                    failed += 1;
                }
            }
        }
    }
    assert!(exact > 40 && failed > 40, "{exact} and {failed}");
}

#[tokio::test]
async fn sums_by_chance_are_exact_or_fail_in_any_order_and_group() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, _) = Engine::open(folder.path()).unwrap();
    let mut c = Chance::new(20_261_119);
    let rows: Vec<(i64, Option<i64>)> = (0..4000)
        .map(|_| (c.between(0, 900), (!c.one_in(7)).then(|| near_a_limit(&mut c))))
        .collect();
    let json: Vec<_> = rows
        .iter()
        .map(|(g, n)| match n {
            Some(n) => format!(r#"{{"g": {g}, "n": {n}}}"#),
            None => format!(r#"{{"g": {g}, "n": null}}"#),
        })
        .collect();
    engine.put("d", "t", Input::Json, format!("[{}]", json.join(",")).as_bytes()).await.unwrap();
    let sum = |group: i64| {
        let values = rows.iter().filter(|(g, _)| *g == group).filter_map(|(_, n)| *n);
        let total = values.clone().map(i128::from).sum::<i128>();
        match values.count() {
            0 => Some("null".to_owned()),
            _ => i64::try_from(total).ok().map(|total| total.to_string()),
        }
    };
    // All groups that have room at once, and then some of all groups, each by itself.
    let groups: std::collections::BTreeSet<i64> = rows.iter().map(|(g, _)| *g).collect();
    let fitting: Vec<_> = groups.iter().filter_map(|g| Some((*g, sum(*g)?))).collect();
    let listed: Vec<_> = fitting.iter().map(|(g, _)| g.to_string()).collect();
    let listed = listed.join(",");
    let sql = format!("select g, sum(n) from t where g in ({listed}) group by g order by g");
    let expected: Vec<_> = fitting.iter().map(|(g, sum)| format!("[{g},{sum}]")).collect();
    assert_eq!(ask(&engine, &sql).await.unwrap(), expected.join(" "));
    let (mut exact, mut failed) = (0, 0);
    for group in 0..60 {
        let expected = sum(group);
        for sql in [
            format!("select sum(n) as s from t where g = {group}"),
            format!("select s from (select g, sum(n) as s from t where g = {group} group by g) q"),
            format!(
                "select max(s) as s from (select sum(n) over () as s from t where g = {group}) q"
            ),
        ] {
            let found = ask(&engine, &sql).await;
            match &expected {
                // A group without rows is not there.
                Some(sum) if found.as_deref().is_ok_and(str::is_empty) => assert_eq!(sum, "null"),
                Some(sum) => {
                    assert_eq!(found.unwrap(), format!("[{sum}]"), "{sql}");
                    exact += 1;
                }
                None => {
                    assert!(found.expect_err(&sql).to_string().contains("out of range: a sum"));
                    failed += 1;
                }
            }
        }
    }
    assert!(exact > 40 && failed > 40, "{exact} and {failed}");
}

/// What has texts become decimals, with `{long}` for a text that is too long, and whether it is an error:
/// TRY_CAST makes NULL of what it cannot cast.
const LONG_TEXTS: [(&str, bool); 27] = [
    ("select cast({long} as decimal(38, 10))", true),
    ("select cast({long} as decimal(76, 10))", true),
    ("select {long}::numeric", true),
    ("select try_cast({long} as decimal(38, 10)) is null", false),
    ("select try_cast({long} || k as decimal(5, 1)) is null from t", false),
    ("select arrow_cast({long}, 'Decimal128(38, 10)')", true),
    ("select arrow_cast({long}, 'Decimal32(5, 1)') from t", true),
    ("select arrow_cast({long}, 'Decimal64(5, 1)') from t", true),
    ("select arrow_cast({long}, 'Decimal256(70, 1)') from t", true),
    ("select arrow_cast({long}, 'Dictionary(Int32, Decimal128(9, 1))') from t", true),
    ("select arrow_try_cast({long}, 'Decimal128(38, 10)') is null", false),
    ("select cast(arrow_cast({long}, 'LargeUtf8') as decimal(9, 1)) from t", true),
    ("select cast(arrow_cast({long}, 'Utf8') as decimal(9, 1)) from t", true),
    ("select cast(arrow_cast({long}, 'Dictionary(Int32, Utf8)') as decimal(9, 1)) from t", true),
    ("select arrow_cast(make_array({long}), 'List(Decimal128(9, 1))') from t", true),
    ("select arrow_cast(struct({long}), 'Struct(\"c0\": Decimal128(9, 1))') from t", true),
    ("select cast(x as decimal(38, 10)) > {long} from t", true),
    ("select k from t where cast(x as decimal(38, 10)) in (1.5, {long})", true),
    ("select k from t where cast(x as decimal(9, 2)) between 1 and {long}", true),
    ("select count(*) from t group by cast({long} || k as decimal(38, 1))", true),
    ("select k from t order by cast({long} || k as decimal(38, 1))", true),
    ("select k from t where cast({long} || k as decimal(38, 1)) > 5", true),
    ("select a.k from t a join t b on cast({long} || a.k as decimal(38, 1)) = b.k", true),
    ("select (select max(cast({long} || k as decimal(38, 1))) from t)", true),
    ("with c as (select {long} || k as s from t) select cast(s as decimal(9, 1)) from c", true),
    ("select number from numbers", true),
    ("select cast(s as decimal(38, 10)) from texts", true),
];

#[tokio::test]
async fn long_texts_become_no_decimals_and_end_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    let digits = "9".repeat(1_500_000);
    let rows = format!(r#"[{{"s": "{digits}"}}]"#);
    engine.put("d", "texts", Input::Json, rows.as_bytes()).await.unwrap();
    let view = "select cast(s as decimal(38, 10)) as number from texts";
    engine.create_view("d", "numbers", view).await.unwrap();
    let literal = format!("'{digits}'");
    let all = ["lpad('9', 1500000, '9')", "lpad('9', 513, '0')", literal.as_str()];
    let zeros_and_others =
        ["lpad('9', 900000, '0')", "lpad('9', 900000)", "lpad('9', 900000, '1.')"];
    let others = zeros_and_others.map(|long| (LONG_TEXTS[0].0, long, true));
    let all = LONG_TEXTS.iter().flat_map(|(sql, is_error)| all.map(|long| (*sql, long, *is_error)));
    for (sql, long, is_error) in all.chain(others) {
        let sql = sql.replace("{long}", long);
        let found = ask(&engine, &sql).await;
        let sql = &sql[..sql.len().min(200)];
        match (found, is_error) {
            (Ok(found), false) => assert!(found.starts_with("[true]"), "{sql}: {found}"),
            (Err(error), true) => {
                let is_callers = matches!(error, Error::Plan(_) | Error::Execution(_));
                assert!(is_callers, "{sql}: {error:?}");
                let told = error.to_string();
                assert!(told.contains(" bytes cannot become a number: 512 "), "{sql}: {told}");
            }
            (found, _) => panic!("{sql}: {:.300}", format!("{found:?}")),
        }
    }
    for (sql, expected) in [
        ("select cast(lpad('9', 512, '0') as decimal(9, 1))", "[9.0]"),
        (
            "select cast(rpad('1.5', 40, '0') as decimal(9, 1)), try_cast('x' as decimal(9, 1))",
            "[1.5,null]",
        ),
        ("select cast('2.5' as decimal(9, 1)) > '1', '7' in (7.0, 8.5)", "[true,true]"),
        ("select length(s) from texts", "[1500000]"),
    ] {
        assert_eq!(ask(&engine, sql).await.unwrap(), expected, "{sql}");
    }
}

/// Other values by whose length or depth something calls itself.
#[tokio::test]
async fn long_and_deep_values_end_no_thread() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path()).await;
    let type_of = |depth: usize| format!("{}Int64{}", "List(".repeat(depth), ")".repeat(depth));
    let deep = format!("select arrow_cast(null, '{}')", type_of(100_000));
    let told = ask(&engine, &deep).await.unwrap_err().to_string();
    assert!(told.contains("32 levels of nesting"), "{told:.300}");
    ask(&engine, &format!("select arrow_cast(null, '{}')", type_of(5))).await.unwrap();
    let digits = "9".repeat(1_500_000);
    let frame = format!(
        "select sum(k) over (order by cast(x as decimal(9, 2)) range '{digits}' preceding) from t"
    );
    let told = ask(&engine, &frame).await.unwrap_err().to_string();
    assert!(told.contains("a window cannot begin or end at a text"), "{told:.300}");
    for sql in [
        format!("values (cast('{digits}' as decimal(38, 10)))"),
        "values (cast(lpad('9', 1500000, '9') as decimal(38, 10)))".to_owned(),
        format!("select interval '{}'", "1 day ".repeat(100_000)),
        "select cast(lpad('1', 1500000, '1 day ') as interval)".to_owned(),
        "select json_get(lpad('1', 1500000, '['), 'a'), json_typeof(lpad('1', 1500000, '['))"
            .to_owned(),
        "select json_contains(lpad('1', 1500000, '{\"a\":'), 'a')".to_owned(),
        "select regexp_like('a', lpad('a', 4000, '('))".to_owned(),
        "select 'a' ~ lpad('a', 1500000, '(')".to_owned(),
        "select cast('1' as decimal(9, -3)), cast('1e999999999' as decimal(38, 10))".to_owned(),
        "select to_timestamp(lpad('1', 1500000, '1')), cast(lpad('1', 1500000, '1') as double)"
            .to_owned(),
    ] {
        // An answer or an error: the node goes on.
        let _ = ask(&engine, &sql).await;
        assert_eq!(ask(&engine, "select 1").await.unwrap(), "[1]", "{sql:.200}");
    }
}

#[tokio::test]
async fn floats_are_read_to_the_last_bit() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, _) = Engine::open(folder.path()).unwrap();
    let mut c = Chance::new(20_261_120);
    let finite = |bits: u64| f64::from_bits(bits & !(1 << 62));
    let floats: Vec<f64> = (0..2000).map(|_| finite(c.number())).collect();
    for float in &floats {
        let read: f64 = serde_json::from_str(&format!("{float:e}")).unwrap();
        assert_eq!(read.to_bits(), float.to_bits(), "{float:e}");
    }
    let rows = floats.iter().enumerate();
    let rows: Vec<_> = rows.map(|(k, f)| format!(r#"{{"k": {k}, "f": {f:e}}}"#)).collect();
    engine.put("d", "t", Input::Json, format!("[{}]", rows.join(",")).as_bytes()).await.unwrap();
    for (k, float) in floats.iter().enumerate().step_by(40) {
        let sql = format!("select k from t where k = {k} and f = {float:e}");
        assert_eq!(ask(&engine, &sql).await.unwrap(), format!("[{k}]"), "{float:e}");
    }
}
