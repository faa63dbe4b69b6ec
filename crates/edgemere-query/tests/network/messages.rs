//! The messages of bad statements on the network: the same as of one database, with the operator's name
//! where an operator failed. And what tells about tables and plans.

use edgemere_query::sql::{Error, QueryOptions, Sql};

use crate::rows::Split;
use crate::{Cluster, DBMS, OFFICE};

/// Those that are reported before anything runs, and then those that fail on an operator.
const BAD: [&str; 16] = [
    "select avg(device) from readings",
    "select nosuch(value) from readings",
    "select value + device from readings",
    "select at from readings where at > 'never'",
    "select device, count(*) from readings",
    "select id, id from readings",
    "select id from readings where at = 5",
    "select id from readings where device ~ '('",
    "select id from readings order by 9",
    "select rank() over () from readings where rank() over () = 1",
    "select id / 0 from readings",
    "select cast(device as int) from readings where device = 'device-03'",
    "select device::timestamp from readings where device = 'device-03'",
    "select date_trunc('parsec', at) from readings",
    "select regexp_replace(device, '[', 'x') from readings",
    "select at at time zone 'Mars' from readings",
];

async fn failure(sql: &Sql, statement: &str) -> Error {
    let failed = async {
        let mut query = sql.ask(DBMS, statement, &QueryOptions::default()).await?;
        while let Some(batch) = query.next().await {
            batch?;
        }
        Ok::<_, Error>(())
    };
    failed.await.expect_err(statement)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_statement_is_told_as_one_database_tells_it() {
    let cluster = Cluster::start(2).await;
    cluster.fill_all(100, Split(&[50, 50])).await;
    let mut of_operators = 0;
    for statement in BAD {
        let one = failure(cluster.whole.sql(), statement).await.to_string();
        let all = failure(&cluster.network, statement).await;
        assert!(std::error::Error::source(&all).is_none(), "{statement}: {all:?}");
        let all = all.to_string();
        let told = match all.split_once(" failed: ") {
            Some((operator, told)) => {
                assert!(operator.starts_with("operator operator-"), "{all}");
                of_operators += 1;
                told
            }
            None => all.as_str(),
        };
        assert_eq!(told, one, "{statement}");
    }
    assert!(of_operators >= 3, "nothing failed on an operator");
}

async fn rows(cluster: &Cluster, sql: &str) -> Vec<String> {
    let mut query = cluster.ask(sql).await.query;
    let mut rows = vec![query.columns().join(" ")];
    while let Some(batch) = query.next().await {
        let cells = batch.unwrap().cells(Default::default()).unwrap();
        rows.extend(cells.into_iter().map(|row| row.join(" ")));
    }
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_is_told_of_all_operators() {
    let cluster = Cluster::start(2).await;
    cluster.fill_all(100, Split(&[50, 50])).await;
    assert_eq!(rows(&cluster, "show databases").await, ["database_name", DBMS, OFFICE]);
    let tables = rows(&cluster, "show tables").await;
    assert_eq!(
        tables,
        ["table_name table_type", "alerts BASE TABLE", "devices BASE TABLE", "readings BASE TABLE"]
    );
    let described = rows(&cluster, "describe readings").await;
    assert_eq!(described[0], "column_name data_type is_nullable");
    assert!(described.iter().all(|column| !column.starts_with("row_id")), "{described:?}");
    let sql = "select count(*) from information_schema.columns c join information_schema.tables t \
               using (table_schema, table_name) where t.table_name = 'readings'";
    let count = rows(&cluster, sql).await[1].parse::<usize>().unwrap();
    assert_eq!(count, described.len() - 1);
    // With rows of operators beside what the query node knows.
    let sql = "select distinct t.table_name from information_schema.tables t, readings r \
               where t.table_name = 'readings' and r.id < 5";
    assert_eq!(rows(&cluster, sql).await, ["table_name", "readings"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_star_is_the_same_on_the_network() {
    let cluster = Cluster::start(2).await;
    cluster.fill_all(100, Split(&[50, 50])).await;
    let scope = QueryOptions { internal_columns: true, ..QueryOptions::default() };
    let all = cluster.try_ask("select * from devices", scope).await.unwrap().query.columns();
    let star = cluster.ask("select * from devices").await.query.columns();
    assert_eq!(all[..4], ["row_id", "insert_timestamp", "tsd_name", "tsd_id"]);
    assert_eq!(all[4..], star);
    let named = cluster.ask("select row_id, * from devices order by tsd_id").await.query.columns();
    assert_eq!(named[0], "row_id");
    assert_eq!(named[1..], star);
    for sql in [
        "select * from readings",
        "select * from readings natural join alerts",
        "select count(*) from readings",
    ] {
        assert_eq!(cluster.difference(sql, false).await, None, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_says_which_node_does_what() {
    let cluster = Cluster::start(2).await;
    cluster.fill_all(100, Split(&[50, 50])).await;
    let sql = "select device, count(*) from readings group by device";
    let plan = rows(&cluster, &format!("explain {sql}")).await;
    assert_eq!(plan[0], "node plan");
    assert!(plan.iter().any(|row| row.starts_with("query node ")), "{plan:?}");
    assert!(plan.iter().any(|row| row.starts_with("operator-0, operator-1 ")), "{plan:?}");
    let plan = rows(&cluster, &format!("explain analyze {sql}")).await;
    assert_eq!(plan[0], "node plan rows time_ms");
    assert!(plan[1].starts_with("query node Result "), "{plan:?}");
    for operator in ["operator-0", "operator-1"] {
        let answer = format!("{operator} Answer: 50 rows read");
        assert!(plan.iter().any(|row| row.starts_with(&answer)), "{plan:?}");
    }
}
