//! Three operators with the rows split by chance answer what one database with all rows answers:
//! whatever the query, and however the rows are split.

use crate::answer::Answer;
use crate::rows::{Split, alerts, devices, readings, schema, store};
use crate::{Cluster, DBMS};
use edgemere_query::sql::QueryOptions;
use edgemere_storage::schema::Kind;

/// Rows, enough for several batches of each operator.
const ROWS: usize = 30_000;

/// Queries whose rows may come in any order.
const QUERIES: &[&str] = &[
    // Rows as they are.
    "select name, site, rated from devices",
    "select id, device, value from readings where value > 950",
    "select id, value * 2 + n as x, upper(device) from readings where ok and n between 10 and 20",
    "select id from readings where device is null and value is not null",
    "select id, note from readings where note like '%9 of%' and device in ('device-01', 'device-07')",
    "select case when value > 500 then 'high' when value is null then 'none' else 'low' end as c, id \
     from readings where id % 97 = 0",
    "select 1 as one from readings where id < 50",
    "select id, extract(epoch from (at - timestamp '2026-01-01 00:00:00')) as s from readings where id < 900",
    "select id, note ~ '(1|2)+ of' as a, note ilike '%1_ OF%' as b from readings where note !~* 'X$'",
    "select device, count(*) from readings where note not like '%9%of%' and regexp_like(note, 'o.') \
     group by device",
    "select x.name from devices x join devices y on x.name similar to y.name",
    // Aggregates.
    "select count(*) from readings",
    "select count(*), count(value), count(device), sum(n), avg(value), min(value), max(value) from readings",
    "select min(at), max(at), min(device), max(note), bool_and(ok), bool_or(ok) from readings",
    "select stddev(value), var_pop(value), corr(value, n), covar_samp(value, n) from readings",
    "select median(n), approx_distinct(device) from readings",
    "select count(distinct device), count(distinct n) from readings",
    "select count(distinct device), sum(distinct n), count(*) from readings",
    "select sum(value) from readings where id < 0",
    "select count(*) from readings where value > 1e9",
    "select count(*) filter (where ok), avg(value) filter (where n > 500) from readings",
    "select sum(n) + count(*) * 2, avg(value) / max(value) from readings",
    // Groups.
    "select device, count(*), avg(value), max(at) from readings group by device",
    "select device, ok, sum(n) from readings group by device, ok",
    "select n % 10 as bucket, count(*), min(note) from readings group by n % 10",
    "select device, count(distinct n) from readings group by device",
    "select device, avg(value) as a from readings group by device having avg(value) > 500",
    "select device, ok, count(*) from readings group by grouping sets ((device), (ok), ())",
    "select device, ok, count(*) from readings group by rollup (device, ok)",
    "select date_trunc('hour', at) as hour, count(*), avg(value) from readings group by 1",
    "select id, count(*) from readings group by id having count(*) > 1",
    "select array_agg(n order by id) from readings where id < 40",
    "select device, string_agg(note, ',' order by id) from readings where id < 300 group by device",
    "select distinct device from readings",
    "select distinct ok, n % 3 from readings",
    // Joins.
    "select r.id, d.site from readings r join devices d on r.device = d.name where r.value > 900",
    "select d.site, count(*), avg(r.value) from readings r join devices d on r.device = d.name group by d.site",
    "select d.name, count(r.id) from devices d left join readings r on r.device = d.name group by d.name",
    "select a.level, r.value from alerts a join readings r on a.reading = r.id where a.level > 5",
    "select a.device, count(*) from alerts a right join devices d on a.device = d.name group by a.device",
    "select count(*) from alerts a full join devices d on a.device = d.name",
    "select count(*) from readings x join readings y on x.n = y.n and x.id < y.id where x.n < 20",
    "select count(*) from devices x cross join devices y where x.rated < y.rated",
    "select d.name, a.level from devices d join alerts a on d.rated > a.level * 100 and a.level = 7",
    "select d.name from devices d where exists (select 1 from alerts a where a.device = d.name)",
    "select d.name from devices d where not exists (select 1 from readings r where r.device = d.name)",
    "select count(*) from readings where device in (select name from devices where site = 'site-1')",
    "select count(*) from readings where device not in (select name from devices where site = 'site-1')",
    "select r.id, v.t from readings r join (values ('device-01', 'a'), ('device-02', 'b')) v(d, t) \
     on r.device = v.d where r.id < 2000",
    // Subqueries.
    "select count(*) from readings where value > (select avg(value) from readings)",
    "select id from readings where at = (select max(at) from readings)",
    "select device, count(*) from readings where n > (select max(level) from alerts) * 100 group by device",
    "select (select count(*) from alerts) as a, count(*) from readings",
    "select d.name, (select count(*) from alerts a where a.device = d.name) from devices d",
    "select s, count(*) from (select site as s, name from devices) x group by s",
    "with hot as (select device, max(value) as v from readings group by device) \
     select d.site, max(h.v) from hot h join devices d on d.name = h.device group by d.site",
    "with recursive c(i) as (select 1 union all select i + 1 from c where i < 5) \
     select c.i, count(*) from c join alerts a on a.level = c.i group by c.i",
    // Unions.
    "select device from alerts union all select name from devices",
    "select device from alerts union select name from devices",
    "select count(*), sum(x) from (select n as x from readings union all select level from alerts) u",
    "select device from alerts intersect select name from devices where rated > 100",
    "select name from devices except select device from alerts",
    "select 'r' as t, count(*) from readings union all select 'a', count(*) from alerts",
    // Windows.
    "select id, row_number() over (partition by device order by at, id) as k from readings where n < 30",
    "select * from (select device, id, value, rank() over (partition by device order by value desc, id) as k \
     from readings where value is not null) t where k <= 3",
    "select id, sum(n) over (partition by device order by id rows between 2 preceding and current row) \
     from readings where id < 3000",
    "select id, lag(value, 1) over (order by id) from readings where id < 500",
    // Limits that leave no choice.
    "select count(*) from (select id from readings limit 777) t",
    "select count(*) from (select id from readings limit 100 offset 29950) t",
    "select id from readings limit 0",
    // EdgeLake's own.
    "select increments(hour, 1, at), count(*), avg(value) from readings",
    "select count(*), max(value) from readings where period(minute, 30, '2026-01-02 10:00:00', at)",
    "select count(*) from readings where at < now() - 1 day",
    "select count(distinct now()) from readings",
    "select avg(value)::float(2) as a, max(n)::str as m from readings",
];

/// Queries that say in which order their rows come.
const ORDERED: &[&str] = &[
    "select id, value from readings order by value desc nulls last, id limit 10",
    "select id from readings order by id limit 20 offset 14990",
    "select id, device, at from readings order by device nulls first, id",
    "select device, count(*) as c from readings group by device order by c desc, device limit 5",
    "select id, value from readings where n = 7 order by at desc",
    "select * from (select id, n from readings order by n, id limit 50) t order by id",
    "select device, max(value) as m from readings group by device order by m desc limit 3",
    "select d.site, r.id from readings r join devices d on r.device = d.name order by r.id limit 30",
    "select name from devices union all select device from alerts order by 1 limit 25",
    "select id from readings where id >= 100 order by id limit 1",
    "select distinct n from readings order by n desc limit 12",
    "select t, id from (select 'b' as t, id from readings union all select 'a', id from readings) q \
     order by t, id limit 500 offset 40",
    // DataFusion cannot prove that this is in order.
    "select id, device, n from readings where lower(device) = device \
     order by n, device nulls first, id limit 7 offset 5",
];

async fn check(split: Split) {
    check_often(split, 1).await;
}

async fn check_often(split: Split, times: usize) {
    let cluster = Cluster::start(3).await;
    cluster.fill_all(ROWS, split).await;
    let mut wrong = Vec::new();
    for (queries, ordered) in [(QUERIES, false), (ORDERED, true)] {
        for sql in queries.iter().flat_map(|sql| std::iter::repeat_n(sql, times)) {
            if let Some(difference) = cluster.difference(sql, ordered).await {
                wrong.push(format!("{sql}\n    {difference}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of the answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_spread_evenly() {
    // Plans are kept at the second time, and used at the third.
    check_often(Split(&[34, 33, 33]), 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_are_nearly_all_in_one_place() {
    check(Split(&[2, 97, 1])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_without_rows() {
    check(Split(&[0, 50, 50])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_of_one_operator_only() {
    check(Split(&[0, 0, 1])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_that_not_all_operators_have() {
    let cluster = Cluster::start(3).await;
    let (readings, devices) = (readings(2000), devices());
    let (_, alerts) = alerts(0);
    assert_eq!(alerts.num_rows(), 0);
    for (table, rows, at) in [("readings", readings, 0), ("devices", devices, 2)] {
        let node = &cluster.nodes[at];
        store(&cluster.whole, table, &rows.0, &rows.1).await;
        store(&node.engine, table, &rows.0, &rows.1).await;
        cluster.places.set(table, rows.0, vec![node.part(None)]);
    }
    for sql in [
        "select count(*) from readings",
        "select device, avg(value) from readings group by device",
        "select d.site, count(*) from readings r join devices d on r.device = d.name group by d.site",
        "select device from readings union all select name from devices",
        "select count(*) from (select device from readings union all select name from devices) u",
        "select id, rank() over (order by value, id) from readings",
        "select max(id) from readings where value > (select avg(rated) from devices)",
    ] {
        assert_eq!(cluster.difference(sql, false).await, None, "{sql}");
    }
    // The ledger says that it has the table, and it has had no rows of it yet.
    let parts = cluster.nodes.iter().map(|node| node.part(None)).collect();
    cluster.places.set("devices", devices_schema(), parts);
    for sql in ["select count(*), max(site) from devices", "select site, name from devices"] {
        assert_eq!(cluster.difference(sql, false).await, None, "{sql}");
    }
    // Nobody has it at all.
    cluster.places.set("devices", devices_schema(), vec![]);
    let asked = cluster.try_ask("select count(*) from devices", QueryOptions::default()).await;
    let error = asked.unwrap_err();
    assert_eq!(error.to_string(), "no operator holds the table \"d.devices\"");
}

fn devices_schema() -> edgemere_storage::schema::Schema {
    devices().0
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_with_other_columns_and_types() {
    let cluster = Cluster::start(3).await;
    let all = schema(&[
        ("k", Kind::Int),
        ("v", Kind::Decimal),
        ("t", Kind::Varchar),
        ("w", Kind::Timestamp),
    ]);
    let parts: [&[u8]; 3] = [
        br#"[{"k":1,"v":1.5,"t":"a","w":"2026-01-01 00:00:00"},{"k":2,"v":2.5,"t":"b","w":"2026-01-02 00:00:00"}]"#,
        // No "t" and no "w", the others in another order, "v" without a fraction.
        br#"[{"v":10,"k":3},{"v":20,"k":4}]"#,
        // "t" is a number here.
        br#"[{"t":7,"k":5,"v":0.25}]"#,
    ];
    let input = edgemere_storage::decode::Input::Json;
    for (node, bytes) in cluster.nodes.iter().zip(parts) {
        let put = node.engine.put(DBMS, "mixed", input, bytes).await.unwrap();
        assert_eq!(put.rejected_total, 0);
    }
    let whole = br#"[{"k":1,"v":1.5,"t":"a","w":"2026-01-01 00:00:00"},{"k":2,"v":2.5,"t":"b","w":"2026-01-02 00:00:00"},
        {"k":3,"v":10.0},{"k":4,"v":20.0},{"k":5,"v":0.25,"t":"7"}]"#;
    cluster.whole.put(DBMS, "mixed", input, whole).await.unwrap();
    let parts = cluster.nodes.iter().map(|node| node.part(None)).collect();
    cluster.places.set("mixed", all, parts);
    for sql in [
        "select k, v, t, w from mixed",
        "select count(*), count(t), count(w), sum(v), max(w) from mixed",
        "select t, count(*) from mixed group by t",
        "select k from mixed where t is null",
        // Columns twice, and columns that an operator has not.
        "select t as a, v as b, t as c from mixed union all \
         select t as a, abs(v) as b, t as c from mixed",
        "select k from mixed where w > '2026-01-01'",
        "select max(v) from mixed where t = '7'",
        "select a.k, b.k from mixed a join mixed b on a.v = b.v",
    ] {
        assert_eq!(cluster.difference(sql, false).await, None, "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_does_not_fit_its_type_is_an_error_with_the_operator() {
    let cluster = Cluster::start(2).await;
    let input = edgemere_storage::decode::Input::Json;
    cluster.nodes[0].engine.put(DBMS, "t", input, br#"[{"v":1}]"#).await.unwrap();
    cluster.nodes[1].engine.put(DBMS, "t", input, br#"[{"v":"a text"}]"#).await.unwrap();
    let parts = cluster.nodes.iter().map(|node| node.part(None)).collect();
    cluster.places.set("t", schema(&[("v", Kind::Int)]), parts);
    let asked = cluster.ask("select sum(v) from t").await;
    let error = crate::chain(&Answer::of(asked.query).await.unwrap_err());
    assert!(error.contains("operator-1") && error.contains("a text"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_that_comes_again_asks_those_who_hold_the_rows_now() {
    let cluster = Cluster::start(3).await;
    cluster.fill("alerts", alerts(300), Split(&[1, 1, 1])).await;
    let sql = "select count(*) as n, max(level) as m from alerts";
    for _ in 0..4 {
        assert_eq!(cluster.difference(sql, true).await, None);
    }
    let (schema, rows) = alerts(300);
    for held in [2, 1, 3] {
        let parts = cluster.nodes.iter().take(held).map(|node| node.part(None)).collect();
        cluster.places.set("alerts", schema.clone(), parts);
        let asked = cluster.ask(sql).await;
        let operators = asked.progress;
        assert_eq!(Answer::of(asked.query).await.unwrap().rows.len(), 1);
        assert_eq!(operators.shares().len(), held);
    }
    store(&cluster.nodes[2].engine, "alerts", &schema, &rows).await;
    store(&cluster.whole, "alerts", &schema, &rows).await;
    assert_eq!(cluster.difference(sql, true).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_sees_each_operator_at_one_moment() {
    let cluster = Cluster::start(2).await;
    cluster.fill("alerts", alerts(400), Split(&[50, 50])).await;
    let sql = "select (select count(*) from alerts) as a, (select count(*) from alerts) as b, \
               count(*) as c, (select count(*) from alerts x join alerts y on x.reading = y.reading \
               and x.device = y.device and x.level is not distinct from y.level) as d from alerts";
    let writer = async {
        for _ in 0..40 {
            let (schema, rows) = alerts(3);
            store(&cluster.nodes[0].engine, "alerts", &schema, &rows).await;
        }
    };
    let reader = async {
        for _ in 0..15 {
            let asked = cluster.ask(sql).await;
            let answer = Answer::of(asked.query).await.unwrap();
            assert_eq!(answer.rows[0][0], answer.rows[0][1]);
            assert_eq!(answer.rows[0][0], answer.rows[0][2]);
        }
    };
    tokio::join!(writer, reader);
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_are_validated_as_local_ones_are() {
    let cluster = Cluster::start(1).await;
    cluster.fill("devices", devices(), Split(&[1])).await;
    for (sql, message) in [
        ("select * from device", "no table \"device\""),
        ("select nam from devices", "no column \"nam\""),
        ("drop table devices", "only queries are run"),
        ("select 1; select 2", "more than one"),
        ("select * from other.devices", "no database \"other\""),
    ] {
        let error = cluster.try_ask(sql, QueryOptions::default()).await.unwrap_err();
        assert!(error.to_string().contains(message), "{sql}: {error}");
    }
    let asked = cluster.ask("select 1 + 1 as two").await;
    assert_eq!(Answer::of(asked.query).await.unwrap().rows, [[2]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn operators_whose_columns_have_widened() {
    let cluster = Cluster::start(3).await;
    let input = edgemere_storage::decode::Input::Json;
    let parts: [&[&[u8]]; 3] = [
        &[br#"[{"k":1,"v":4},{"k":2,"v":5},{"k":3,"v":null}]"#],
        // Began with whole numbers.
        &[br#"[{"k":4,"v":4}]"#, br#"[{"k":5,"v":4.25},{"k":6,"v":-0.5}]"#],
        &[br#"[{"k":7,"v":4.25}]"#],
    ];
    for (node, parts) in cluster.nodes.iter().zip(parts) {
        for bytes in parts {
            node.engine.put(DBMS, "sensor", input, bytes).await.unwrap();
            node.engine.storage().flush_all().await.unwrap();
        }
    }
    let whole =
        br#"[{"k":1,"v":4.0},{"k":2,"v":5.0},{"k":3,"v":null},{"k":4,"v":4.0},{"k":5,"v":4.25},
        {"k":6,"v":-0.5},{"k":7,"v":4.25}]"#;
    cluster.whole.put(DBMS, "sensor", input, whole).await.unwrap();
    let placed = |kind| {
        let parts = cluster.nodes.iter().map(|node| node.part(None)).collect();
        cluster.places.set("sensor", schema(&[("k", Kind::Int), ("v", kind)]), parts);
    };
    // A query node that has not heard of it must not cut fractions off.
    placed(Kind::Int);
    let asked = cluster.try_ask("select sum(v) from sensor", QueryOptions::default()).await;
    let error = crate::chain(&asked.err().unwrap());
    assert!(
        error.contains("operator-") && error.contains("ahead of this node's ledger"),
        "{error}"
    );
    placed(Kind::Decimal);
    for sql in [
        "select k, v from sensor",
        "select count(*), count(v), sum(v), avg(v), min(v), max(v) from sensor",
        "select v, count(*) from sensor group by v",
        "select k from sensor where v > 4",
        "select k from sensor where v = 4",
        "select k from sensor where v >= 4.25 and v < 4.5",
        "select a.k, b.k from sensor a join sensor b on a.v = b.v",
        "select k, v from sensor order by v desc, k limit 3",
        "select distinct v from sensor",
    ] {
        assert_eq!(cluster.difference(sql, false).await, None, "{sql}");
    }
}
