//! What EdgeLake adds to SQL, on the network: every form of `docs/reference/sql.md` gives what one
//! database with all rows gives.

use edgemere_query::sql::{Extended, Extension, QueryOptions, TableName, Zone};

use crate::Cluster;
use crate::rows::{Split, alerts, devices, readings};

/// Rows over several days.
const ROWS: usize = 26_000;

/// Functions of time, in the order of the page.
const TIMES: &[&str] = &[
    "select increments(hour, 6, at), max(at), avg(value) from readings",
    "select increments(hour, 5, at), count(*) from readings where device = 'device-03'",
    "select increments(day, 1, at) as day, count(*) from readings",
    "select increments('minutes', 45, at) as m, min(note), sum(n) from readings where ok",
    "select increments(week, 1, at) as w, count(distinct device) from readings",
    "select increments(month, 1, at) as m, range(value) from readings",
    "select increments(quarter, 1, at) as q, device, count(*) from readings group by device order by device",
    "select increments(year, 10, at) as y, count(*) from readings",
    "select increments(second, 90, at) as s, count(*) from readings where id < 500",
    "select increments(millisecond, 7001, at) as s, count(*) from readings where id < 50",
    "select increments(at), avg(value) from readings",
    "select increments(at, 100), avg(value), count(*) from readings",
    "select increments(7, at) as t, max(note) from readings where n > 500",
    "select increments(at, 20) as t, count(*) from readings where id < 0",
    "select increments(day, 1, at) as day, count(*) from readings order by 1 desc nulls last limit 2",
    "select increments(hour, 12, at), d.site, count(*) from readings r join devices d \
     on r.device = d.name group by d.site order by d.site",
];

/// The same where rows may come in any order.
const ANY_ORDER: &[&str] = &[
    "select * from (select increments(hour, 6, at) as h, count(*) as k from readings) q where k > 10",
    "with q as (select increments(day, 1, at) as d, max(value) as v from readings) select count(*), max(v) from q",
    "select increments(day, 1, at) as t, count(*) as k from readings union all \
     select increments(day, 2, at) as t, count(*) from readings",
    "select avg(value) from readings where period(minute, 10, now(), at)",
    "select id from readings where period(hour, 2, '2026-01-02 10:00:00', at)",
    "select id from readings where period(day, 1, '2026-01-03', at, and device = 'device-05') and n > 3",
    "select count(*), max(at) from readings where id % 2 = 0 and period(second, 700, '2026-01-02 10:00:03.5', at)",
    "select count(*) from readings where period(month, 1, '2020-01-01', at)",
    "select count(*) from (select * from readings where period(week, 1, now(), at)) q",
    "select (select count(*) from readings where period(hour, 1, now(), at)) as k, count(*) from alerts",
    "select r.id from readings r join devices d on r.device = d.name \
     where d.site = 'site-1' and period(hour, 1, '2026-01-01 12:00:00', r.at)",
    "select range(value), range(n) from readings",
    "select device, range(value) from readings group by device",
    "select distinct(device) from readings",
    "select count(distinct(device)) from readings",
    "select count(*) from readings where at > now() - 1 day",
    "select count(*) from readings where at > now() -3d",
    "select count(*) from readings where at < -3d",
    "select count(*) from readings where at between -90d and now()",
    "select count(*) from readings where at + 2 days > '2026-01-04'",
    "select id, at - 1 month, at + 3 hours from readings where id < 20",
];

/// Casts: each as a result, of an aggregate and of a row.
const CASTS: &[&str] = &[
    "value::float(2)",
    "value::float(%1)",
    "value::int",
    "value::str",
    "n::str",
    "note::ljust(9)",
    "device::rjust(12)",
    "device::ljust(12)::rstrip",
    "device::rjust(12)::lstrip",
    "device::replace(device by d)",
    "n::format(':,')",
    "value::format(':.2f')",
    "value::format(':012.3f')",
    "value::format(':e')",
    "value::format(':%')",
    "n::format(':b')",
    "n::format(':o')",
    "n::format(':x')",
    "value::int::format(':,')",
    "at::datetime('%d/%m/%Y')",
    "at::datetime('%d-%b-%Y %H:%M:%S.%f')",
    "at::timezone('Europe/Rome')",
    "at::timezone(pt)",
    "at::timezone('+02:00')",
    "at::timezone(et)::datetime('%H:%M')",
    "at::timediff('2026-01-02 00:00:00')",
    "at::ljust(19)",
    "value::varchar",
    "cast(value as bigint)",
    "ok::str",
];

async fn cluster() -> Cluster {
    let cluster = Cluster::start(3).await;
    cluster.fill("readings", readings(ROWS), Split(&[50, 0, 50])).await;
    cluster.fill("devices", devices(), Split(&[34, 33, 33])).await;
    cluster.fill("alerts", alerts(3000), Split(&[1, 98, 1])).await;
    cluster.fill("more", readings(700), Split(&[0, 40, 60])).await;
    cluster
}

async fn check(cluster: &Cluster, queries: &[(String, bool)], scope: &QueryOptions) {
    let mut wrong = Vec::new();
    for (sql, ordered) in queries {
        let difference = cluster.difference_in(sql, *ordered, scope).await;
        wrong.extend(difference.map(|difference| format!("{sql}\n    {difference}")));
    }
    assert!(wrong.is_empty(), "{} of the answers differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_of_time_are_equal() {
    let cluster = cluster().await;
    let queries: Vec<_> = TIMES.iter().map(|sql| ((*sql).to_owned(), true)).collect();
    check(&cluster, &queries, &QueryOptions::default()).await;
    let queries: Vec<_> = ANY_ORDER.iter().map(|sql| ((*sql).to_owned(), false)).collect();
    check(&cluster, &queries, &QueryOptions::default()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn casts_are_equal() {
    let cluster = cluster().await;
    let mut queries = Vec::new();
    let few = "from readings where id % 37 = 0";
    for cast in CASTS {
        queries.push((format!("select id, {cast} {few}"), false));
        queries.push((format!("select max({cast}) as m, count({cast}) as c {few}"), false));
        queries.push((format!("select {cast} {few} order by id desc limit 9"), true));
        if let Some((column, rest)) = cast.split_once("::")
            && column != "ok"
        {
            queries.push((format!("select min({column})::{rest} as m {few}"), false));
        }
    }
    queries.push(("select max(at)::timediff(max(at)) from readings".into(), false));
    queries.push(("select sum(n)::int::format(':,') from readings".into(), false));
    check(&cluster, &queries, &QueryOptions::default()).await;
}

fn named(table: &str, dbms: Option<&str>) -> TableName {
    TableName { dbms: dbms.map(ToOwned::to_owned), table: table.to_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_are_equal() {
    let cluster = cluster().await;
    let include = vec![named("more", None), named("alerts", Some(crate::DBMS))];
    let text = |value: &str| Extended::Text(Some(value.to_owned()));
    let column = |name: &str, value| Extension { name: name.into(), value };
    let extend = vec![
        column("node", text("asks")),
        column("nothing", Extended::Text(None)),
        column("of", Extended::TableName),
    ];
    let zone = |name: &str| Some(Zone::named(name).unwrap());
    let scopes = [
        QueryOptions { include: include.clone(), ..QueryOptions::default() },
        QueryOptions { extend: extend.clone(), ..QueryOptions::default() },
        QueryOptions { zone: zone("Europe/Rome"), ..QueryOptions::default() },
        QueryOptions { zone: zone("utc"), extend, ..QueryOptions::default() },
        QueryOptions { zone: zone("pt"), include, ..QueryOptions::default() },
    ];
    let queries = [
        ("select count(*), count(device), max(at), min(id), sum(n) from readings", false),
        ("select device, count(*), max(at) from readings group by device", false),
        ("select id, device, at from readings where n = 5", false),
        ("select increments(day, 1, at) as day, count(*), max(value) from readings", true),
        ("select increments(at, 10), count(*), min(at) from readings", true),
        ("select at::timezone(et), at, id from readings where n < 9 order by id limit 7", true),
        ("select count(*) from readings where period(hour, 3, '2026-01-02', at)", false),
        ("select distinct device from readings where value > 990 order by device", true),
        (
            "select r.device, d.site, r.at from readings r join devices d on r.device = d.name where r.n = 1",
            false,
        ),
    ];
    let queries: Vec<_> = queries.map(|(sql, ordered)| (sql.to_owned(), ordered)).into();
    for scope in scopes {
        check(&cluster, &queries, &scope).await;
    }
    let few = QueryOptions { rows_max: Some(11), ..QueryOptions::default() };
    check(&cluster, &[("select id, at from readings order by at, id".into(), true)], &few).await;
}
