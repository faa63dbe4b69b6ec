//! SHOW, DESCRIBE, EXPLAIN, `information_schema` and `* EXCLUDE`, as SQL; and `*` without the internal
//! columns.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on should stop"
)]

use std::path::Path;

use edgemere_query::Engine;
use edgemere_query::sql::{Error, QueryOptions, TableName};
use edgemere_storage::decode::Input;

async fn engine(folder: &Path) -> Engine {
    let (engine, _) = Engine::open(folder).unwrap();
    let rows = br#"[{"time": "2026-01-01T00:00:00Z", "n": 1, "s": "a"}, {"n": 2, "s": null}]"#;
    engine.put("d", "t", Input::Json, rows).await.unwrap();
    engine.put("d", "u", Input::Json, br#"[{"n": 1, "w": 7}]"#).await.unwrap();
    engine.put("e", "odd_name", Input::Json, br#"[{"x": true}]"#).await.unwrap();
    engine.create_view("d", "v", "select * from t").await.unwrap();
    engine.create_view("d", "w", "select row_id, n from t").await.unwrap();
    engine
}

/// The columns and the rows of an answer.
async fn answer(
    engine: &Engine,
    sql: &str,
    scope: &QueryOptions,
) -> Result<(String, String), Error> {
    let mut query = engine.sql().ask("d", sql, scope).await?;
    let columns = query.columns().join(" ");
    let mut rows = Vec::new();
    while let Some(batch) = query.next().await {
        rows.extend(batch?.cells(Default::default())?.into_iter().map(|row| row.join(" ")));
    }
    Ok((columns, rows.join("\n")))
}

async fn ask(engine: &Engine, sql: &str) -> (String, String) {
    let answered = answer(engine, sql, &QueryOptions::default()).await;
    answered.unwrap_or_else(|error| panic!("{sql}: {error}"))
}

async fn columns(engine: &Engine, sql: &str) -> String {
    ask(engine, sql).await.0
}

#[tokio::test]
async fn what_there_is_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path()).await;
    let told = [
        ("show databases", "database_name", "d\ne"),
        ("SHOW SCHEMAS", "database_name", "d\ne"),
        ("show databases like 'E'", "database_name", ""),
        ("show databases ilike 'E'", "database_name", "e"),
        ("show tables", "table_name table_type", "t BASE TABLE\nu BASE TABLE\nv VIEW\nw VIEW"),
        ("show tables from e;", "table_name table_type", "odd_name BASE TABLE"),
        ("show tables in \"e\"", "table_name table_type", "odd_name BASE TABLE"),
        ("show tables like 'u%'", "table_name table_type", "u BASE TABLE"),
        ("show views", "table_name table_type", "v VIEW\nw VIEW"),
        (
            "describe T",
            "column_name data_type is_nullable",
            "time timestamp without time zone YES\nn bigint YES\ns character varying YES",
        ),
        ("desc d.u", "column_name data_type is_nullable", "n bigint YES\nw bigint YES"),
        ("describe table \"u\"", "column_name data_type is_nullable", "n bigint YES\nw bigint YES"),
        ("explain u", "column_name data_type is_nullable", "n bigint YES\nw bigint YES"),
        (
            "show columns from u from d",
            "column_name data_type is_nullable",
            "n bigint YES\nw bigint YES",
        ),
        (
            "show columns from t like 's'",
            "column_name data_type is_nullable",
            "s character varying YES",
        ),
        ("describe w", "column_name data_type is_nullable", "row_id bigint YES\nn bigint YES"),
        (
            "describe select count(*) as c, max(s) as m from t",
            "column_name data_type is_nullable",
            "c bigint NO\nm character varying YES",
        ),
        (
            "select * from information_schema.schemata",
            "catalog_name schema_name",
            "edgemere d\nedgemere e",
        ),
        (
            "select * from information_schema.tables where table_schema = 'e'",
            "table_catalog table_schema table_name table_type",
            "edgemere e odd_name BASE TABLE",
        ),
        (
            "select * from information_schema.columns where table_name in ('u', 'w')",
            "table_catalog table_schema table_name column_name ordinal_position is_nullable data_type \
             original_name",
            "edgemere d u n 1 YES bigint null\nedgemere d u w 2 YES bigint null\n\
             edgemere d w row_id 1 YES bigint null\nedgemere d w n 2 YES bigint null",
        ),
        (
            "select table_name, view_definition from information_schema.views order by 1 limit 1",
            "table_name view_definition",
            "v select * from t",
        ),
    ];
    for (sql, columns, rows) in told {
        assert_eq!(ask(&engine, sql).await, (columns.to_owned(), rows.to_owned()), "{sql}");
    }
}

#[tokio::test]
async fn a_name_that_is_not_there_is_told_with_what_is() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path()).await;
    let told = [
        ("describe x", "no table \"x\" in database \"d\"", "the tables are t, u, v, w"),
        (
            "describe d.tt",
            "no table \"tt\" in database \"d\"",
            "did you mean \"t\"? the tables are t, u, v, w",
        ),
        ("describe \"T\"", "no table \"T\" in database \"d\"", "the tables are t, u, v, w"),
        ("show tables from nosuch", "no database \"nosuch\"", "the databases are d, e"),
        ("show columns from nosuch.t", "no database \"nosuch\"", "the databases are d, e"),
        (
            "select * from information_schema.column",
            "no table \"column\" in database \"information_schema\"",
            "did you mean \"columns\"? the tables are columns, schemata, tables, views",
        ),
    ];
    for (sql, message, hint) in told {
        let error = answer(&engine, sql, &QueryOptions::default()).await.unwrap_err();
        assert_eq!(
            (error.to_string().as_str(), error.hint().as_deref()),
            (message, Some(hint)),
            "{sql}"
        );
    }
    // What lists databases needs none.
    let mut query = engine.sql().query("nosuch", "show databases", None).await.unwrap();
    assert_eq!(query.next().await.unwrap().unwrap().rows(), 2);
}

#[tokio::test]
async fn a_plan_is_told_step_by_step() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path()).await;
    engine.storage().flush_all().await.unwrap();
    let sql = "select s, count(*) from t where n > 0 group by s";
    let (columns, plan) = ask(&engine, &format!("explain {sql}")).await;
    assert_eq!(columns, "node plan");
    let steps: Vec<_> = plan.lines().collect();
    assert!(steps.iter().all(|step| step.starts_with("this node ")), "{plan}");
    assert!(steps.last().unwrap().contains("DataSourceExec"), "{plan}");
    let (columns, plan) = ask(&engine, &format!("explain analyze {sql}")).await;
    assert_eq!(columns, "node plan rows time_ms");
    assert!(plan.starts_with("this node Result 2 "), "{plan}");
    let folder = scratch.path().display().to_string();
    assert!(!plan.contains(folder.trim_start_matches('/')), "it tells where the files are: {plan}");
    let (_, plan) = ask(&engine, &format!("explain verbose {sql}")).await;
    assert!(plan.starts_with("logical plan Projection: "), "{plan}");
    // Neither is kept as the plan of a query.
    for _ in 0..3 {
        assert_eq!(ask(&engine, &format!("explain {sql}")).await.0, "node plan");
        assert_eq!(ask(&engine, sql).await.0, "s count(*)");
    }
    let described = engine.sql().columns("d", "explain analyze select 1").await.unwrap();
    assert_eq!(
        described.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(),
        ["node", "plan", "rows", "time_ms"]
    );
}

#[tokio::test]
async fn a_plan_has_the_limits_of_its_query() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path()).await;
    let wide = (0..11).map(|n| format!("n + {n}")).collect::<Vec<_>>().join(", ");
    for front in ["explain", "explain analyze", "describe"] {
        let sql = format!("{front} select 1 from t group by cube({wide})");
        let error = answer(&engine, &sql, &QueryOptions::default()).await.unwrap_err();
        assert!(matches!(error, Error::TooComplex { limit: 1024, .. }), "{sql}: {error:?}");
    }
    let error = engine.create_view("d", "x", "explain select 1").await.unwrap_err();
    assert!(error.to_string().starts_with("only queries are run: EXPLAIN"), "{error}");
    let error = engine.create_view("d", "x", "show tables").await.unwrap_err();
    assert!(error.to_string().starts_with("only queries are run: SHOW"), "{error}");
}

#[tokio::test]
async fn a_star_has_no_internal_columns() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path()).await;
    let told = [
        ("select * from t", "time n s"),
        ("select t.* from t", "time n s"),
        ("select row_id, * from t", "row_id time n s"),
        ("select *, tsd_id, ROW_ID from t", "time n s tsd_id row_id"),
        ("select row_id, d.t.* from d.t", "row_id time n s"),
        ("select * from t order by insert_timestamp, row_id desc", "time n s"),
        ("select * from t where tsd_name = '0'", "time n s"),
        ("select count(*), max(row_id) from t", "count(*) max(row_id)"),
        ("select * from (select * from t) x", "time n s"),
        ("select * from (select row_id, n from t) x", "row_id n"),
        ("select * from v", "time n s"),
        ("select * from w", "row_id n"),
        ("select w.row_id as r, * from w", "r row_id n"),
        ("with x as (select * from t) select * from x union all select * from t", "time n s"),
        ("with t as (select 1 as row_id, 2 as n) select row_id as r, * from t", "r row_id n"),
        ("with t as (select row_id, * from t) select row_id as r, * from t", "r row_id time n s"),
        ("select * from t natural join u", "time n s w"),
        ("select a.row_id, * from t a join u using (n)", "row_id time n s w"),
        ("select a.row_id as r, b.* from t a left join u b on a.n = b.n", "r n w"),
        ("select a.row_id, a.time, * exclude (time, n) from t a", "row_id time s"),
        ("select * EXCLUDE (N) from t", "time s"),
        ("select * except (n, s) from t", "time"),
        ("select * replace (n * 2 as n) from t", "time n s"),
        ("select t.* exclude (n), u.w from t, u", "time s w"),
        ("select row_id from t where exists (select * from u where u.row_id = t.row_id)", "row_id"),
    ];
    for (sql, names) in told {
        for _ in 0..3 {
            assert_eq!(columns(&engine, sql).await, names, "{sql}");
        }
    }
    let sql = "select row_id, * from t natural join u";
    let error = answer(&engine, sql, &QueryOptions::default()).await.unwrap_err();
    assert!(matches!(error, Error::Star { .. }), "{error:?}");
    let error = answer(&engine, "select nn from t", &QueryOptions::default()).await.unwrap_err();
    assert_eq!(error.hint().unwrap(), "did you mean \"n\"? the columns are time, n, s");
}

#[tokio::test]
async fn who_wants_the_internal_columns_has_them_in_a_star() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path()).await;
    let all = QueryOptions { internal_columns: true, ..QueryOptions::default() };
    for _ in 0..3 {
        let (columns, _) = answer(&engine, "select * from t", &all).await.unwrap();
        assert_eq!(columns, "row_id insert_timestamp tsd_name tsd_id time n s");
        assert_eq!(self::columns(&engine, "select * from t").await, "time n s");
    }
    // What a view has does not depend on the caller.
    assert_eq!(answer(&engine, "select * from v", &all).await.unwrap().0, "time n s");
}

#[tokio::test]
async fn included_rows_have_no_internal_columns_either() {
    let scratch = tempfile::tempdir().unwrap();
    let engine = engine(scratch.path()).await;
    let include = vec![TableName { dbms: None, table: "u".into() }];
    let scope = QueryOptions { include, ..QueryOptions::default() };
    let (names, rows) = answer(&engine, "select * from t order by n, s", &scope).await.unwrap();
    assert_eq!((names.as_str(), rows.lines().count()), ("time n s", 3));
    let (names, _) = answer(&engine, "select row_id, * from t", &scope).await.unwrap();
    assert_eq!(names, "row_id time n s");
    let all = QueryOptions { internal_columns: true, ..scope };
    let (names, _) = answer(&engine, "select * from t", &all).await.unwrap();
    assert_eq!(names, "row_id insert_timestamp tsd_name tsd_id time n s");
}
