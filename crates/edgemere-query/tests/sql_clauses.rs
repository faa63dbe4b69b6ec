//! Clauses of all kinds of SQL that the parser reads: each does what it says, or is refused. None is
//! passed over, as if it were not there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use edgemere_query::Engine;
use edgemere_query::sql::{Error, Times};
use edgemere_storage::decode::Input;

const ROWS: &str = r#"[
    {"g": 1, "k": 1, "s": "a"}, {"g": 1, "k": 2, "s": "b"},
    {"g": 2, "k": 3, "s": "c"}, {"g": 2, "k": 4, "s": "d"}]"#;

/// What works, and what it gives.
const WORKS: [(&str, &str); 34] = [
    ("select k from t order by k fetch first 2 rows only", "[1] [2]"),
    ("select k from t order by k offset 1 rows fetch next row only", "[2]"),
    ("select k from t order by k offset 2 rows", "[3] [4]"),
    ("select k from t order by k limit all", "[1] [2] [3] [4]"),
    ("select k, row_number() over (order by k) as n from t qualify n = 1", "[1,1]"),
    ("select distinct on (g) g, k from t order by g, k desc", "[1,2] [2,4]"),
    ("select count(*) from t natural join t as b", "[4]"),
    (
        "select a.k, l.m from t a, lateral (select max(b.k) as m from t b where b.g = a.g) l order by 1",
        "[1,2] [2,2] [3,4] [4,4]",
    ),
    ("select * exclude (k) from t where k = 1", "[1,\"a\"]"),
    ("select * replace (k + 10 as k) from t where k = 1", "[1,11,\"a\"]"),
    ("select first_value(k) ignore nulls over (order by k) from t where k < 3", "[1] [1]"),
    ("select array_agg(distinct k order by k) from t", "[[1,2,3,4]]"),
    ("select g, count(*) from t group by all order by g", "[1,2] [2,2]"),
    (
        "select g, count(*) from t group by grouping sets ((g), ()) order by g",
        "[1,2] [2,2] [null,4]",
    ),
    ("select k from t where k > all (select 2) order by k", "[3] [4]"),
    ("select k from t where k = any ([1, 2]) order by k", "[1] [2]"),
    ("select a.k from t a left anti join t b on a.k = b.k + 1", "[1]"),
    ("select a.k from t a left semi join t b on a.k = b.k + 3", "[4]"),
    ("with x as materialized (select k from t) select max(k) from x", "[4]"),
    ("select k from t except all select 1 order by k", "[2] [3] [4]"),
    ("select k from t union by name select k from t order by k", "[1] [2] [3] [4]"),
    ("select k from t where k is distinct from 1 order by k", "[2] [3] [4]"),
    (
        "select sum(k) over (order by g groups between current row and current row) from t",
        "[3] [3] [7] [7]",
    ),
    ("select sum(k) over w from t window w as (order by k) order by k", "[1] [3] [6] [10]"),
    ("select count(*) filter (where k > 1) from t", "[3]"),
    ("select percentile_cont(0.25) within group (order by k desc) from t", "[3.25]"),
    ("select k from t where (k, g) in ((1, 1))", "[1]"),
    (
        "select cast('abcdef' as varchar(3)), 'abcdef'::char(2), 12345::varchar(2)",
        "[\"abc\",\"ab\",\"12\"]",
    ),
    ("select try_cast('abc' as character varying(1))", "[\"a\"]"),
    (
        "select cast('2026-01-01 00:00:00.123456' as timestamp(3))",
        "[\"2026-01-01 00:00:00.123000\"]",
    ),
    ("select cast(1.25 as decimal(3,1))", "[1.3]"),
    ("select lag(k) respect nulls over (order by k) from t where k < 3", "[null] [1]"),
    ("select /*+ hint(t) */ max(k) from t", "[4]"),
    ("select max(k) from t final", "[4]"),
];

/// What is refused.
const REFUSED: [&str; 71] = [
    "select k from t tablesample bernoulli (10)",
    "select k from t tablesample system (10) repeatable (5)",
    "select k from (select k from t) tablesample system (10)",
    "select k from t where k in (select k from t sample 0.5)",
    "select k from t sample 0.5",
    "select k from t for update",
    "select k from t for share nowait",
    "select k from t for update of t skip locked",
    "select k from t order by g fetch first 1 rows with ties",
    "select k from t order by g fetch first 50 percent rows only",
    "select k from t limit 2 fetch first 1 row only",
    "select * from unnest([3, 4]) with ordinality",
    "select * from unnest([3, 4]) with offset as o",
    "select * from generate_series(1, 3) with ordinality",
    "select k from t prewhere k = 1",
    "select top 2 k from t",
    "select k from t settings max_threads = 1",
    "select k from t format JSON",
    "select k from t cluster by k",
    "select k from t distribute by k",
    "select k from t sort by k desc",
    "select k from t limit 2 by g",
    "select k from t limit 1, 2",
    "select k from t with (nolock)",
    "select k from t use index (x)",
    "select k into u from t",
    "select k from t lateral view explode([1, 2]) e as c",
    "select k from t connect by prior k = g",
    "select k from t start with k = 1 connect by prior k = g",
    "select k from t for system_time as of '2026-01-01'",
    "select k from t version as of 1",
    "select k from t partition (p0)",
    "select k from t for json auto",
    "select k from t for xml path",
    "select * rename (k as kk) from t",
    "select * ilike 'k%' from t",
    "select sum(k) within group (order by k) from t",
    "select array_agg(k order by k desc limit 2) from t",
    "select group_concat(s separator ',') from t",
    "select listagg(s, ',' on overflow error) within group (order by s) from t",
    "select g, count(*) from t group by g with rollup",
    "select g, count(*) from t group by g with totals",
    "select * from t pivot (sum(k) for g in (1, 2))",
    "select * from t unpivot (v for c in (k, g))",
    "select * from t match_recognize (order by k measures k as m pattern (a) define a as k > 1)",
    "select k from t order by k using >",
    "select k from t order by all",
    "select k from t order by k with fill",
    "select a.k from t a asof join t b match_condition (a.k >= b.k) on a.g = b.g",
    "select a.k from t a straight_join t b",
    "select a.k from t a cross apply (select b.k as m from t b where b.g = a.g) l",
    "select a.k from t a array join [1, 2] as x",
    "with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) search depth first by n set o select * from r",
    "select k from only t",
    "select k from t where s like any ('a', 'b')",
    "select k from t where s like 'xa' escape 'x'",
    "select k from t where s similar to 'a' escape 'x'",
    "select k from t where s collate \"de\" = 'a'",
    "select k from t order by s collate \"C\"",
    "select sum(k) over (order by k rows between 1 preceding and current row exclude current row) from t",
    "select cast('10:00:00.5' as time(0))",
    "select cast('2026' as date format 'YYYY')",
    "select ceil(1.5 to day)",
    "select k from t option (label = 'x')",
    "select count(distinct k, g) from t",
    "select nth_value(k, 2) from last over (order by k) from t",
    "select quantile(0.5)(k) from t",
    "select high_priority k from t",
    "select as struct k from t",
    "select k from t |> where k = 1",
    "select interval '1-2' year to month",
];

async fn ask(engine: &Engine, sql: &str) -> Result<String, Error> {
    let mut query = engine.sql().query("d", sql, None).await?;
    let mut rows = String::new();
    while let Some(batch) = query.next().await {
        rows.push_str(&batch?.json_lists(Times::Plain)?);
    }
    Ok(rows.trim().replace('\n', " "))
}

#[tokio::test]
async fn every_clause_works_or_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, _) = Engine::open(folder.path()).unwrap();
    engine.put("d", "t", Input::Json, ROWS.as_bytes()).await.unwrap();
    let mut wrong = Vec::new();
    for (sql, expected) in WORKS {
        match ask(&engine, sql).await {
            Ok(found) if found == expected => {}
            other => wrong.push(format!("{sql}\n  {other:?}")),
        }
    }
    for sql in REFUSED {
        if let Ok(found) = ask(&engine, sql).await {
            wrong.push(format!("{sql}\n  is answered: {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let told = ask(&engine, "select k from t tablesample bernoulli (10)").await.unwrap_err();
    assert!(told.to_string().contains("TABLESAMPLE is not supported"), "{told}");
}
