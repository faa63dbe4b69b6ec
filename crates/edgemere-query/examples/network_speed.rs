//! What the network costs: the same rows in one engine and on two operators, the same queries, and how
//! much longer these take; then how the cost grows with the number of operators, up to 64.
//! `cargo run --release --example network_speed -- ROWS RUNS`, where both have defaults.

#![allow(clippy::print_stdout, reason = "the figures are what it is for")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use edgemere_query::Engine;
use edgemere_query::distributed::{
    ConnectTimeouts, Credentials, Operator, Own, Shard, ShardMap, Table, Worker,
};
use edgemere_query::sql::{Query, Sql};
use edgemere_storage::schema::{Column, Kind, Schema};
use futures_util::future::BoxFuture;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

const DBMS: &str = "d";
const OPERATORS: usize = 2;
const ROWS: usize = 2_000_000;
const RUNS: usize = 9;
const BATCH: usize = 100_000;

/// How many operators the growth is measured with, and how many rows each of them has.
const GROWTH: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const GROWTH_ROWS: usize = 10_000;

const QUERIES: [&str; 9] = [
    "select count(*) from t",
    "select count(*), avg(value), min(value), max(value) from t",
    "select device, count(*), avg(value) from t group by device",
    "select date_trunc('hour', at), avg(value) from t group by 1",
    "select stddev(value), count(distinct device) from t",
    "select id, value from t order by value desc limit 10",
    "select * from t where device = 'device-17' limit 100",
    "select count(*) from t where value > (select avg(value) from t)",
    "select id, device, at, value from t",
];

type Anything<T> = Result<T, Box<dyn Error>>;

/// Proves nothing to anybody.
#[derive(Debug)]
struct Nothing;

impl Credentials for Nothing {
    fn headers<'a>(
        &'a self,
        _: &'a Operator,
        _: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>> {
        Box::pin(async { Ok(vec![]) })
    }
}

#[derive(Debug)]
struct Places(Table);

impl ShardMap for Places {
    fn databases(&self) -> Vec<String> {
        vec![DBMS.into()]
    }

    fn tables(&self, _: &str) -> Vec<String> {
        vec!["t".into()]
    }

    fn table(&self, _: &str, table: &str) -> Option<Table> {
        (table == "t").then(|| self.0.clone())
    }
}

#[tokio::main]
async fn main() -> Anything<()> {
    let mut arguments = std::env::args().skip(1);
    let rows = arguments.next().map_or(Ok(ROWS), |text| text.parse())?;
    let runs = arguments.next().map_or(Ok(RUNS), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let (whole, _) = Engine::open(&folder.path().join("whole"))?;
    fill(&whole, 0..rows).await?;
    let network = network(&folder.path().join("two"), OPERATORS, rows / OPERATORS).await?;
    println!("{rows} rows, {OPERATORS} operators, the fastest and the middle of {runs} runs");
    for sql in QUERIES {
        compare(sql, &whole, &network, runs).await?;
    }
    println!("{GROWTH_ROWS} rows on each operator, the middle of {runs} runs: planned, answered");
    for operators in GROWTH {
        let network =
            self::network(&folder.path().join(format!("of-{operators}")), operators, GROWTH_ROWS)
                .await?;
        growth(&network, operators, runs).await?;
    }
    Ok(())
}

/// A network of operators that have so many rows each.
async fn network(folder: &Path, operators: usize, rows: usize) -> Anything<Sql> {
    let (asking, _) = Engine::open(&folder.join("asking"))?;
    let mut parts = Vec::new();
    for number in 0..operators {
        let (engine, _) = Engine::open(&folder.join(number.to_string()))?;
        fill(&engine, number * rows..(number + 1) * rows).await?;
        let operator = serve(number, &engine).await?;
        parts.push(Shard { operators: vec![operator], rows: Some(rows as u64) });
    }
    let placement = Arc::new(Places(Table { schema: schema(), parts }));
    Ok(asking.sql().on_network(placement, Arc::new(Nothing), ConnectTimeouts::default()))
}

/// What a few queries cost with so many operators.
async fn growth(network: &Sql, operators: usize, runs: usize) -> Anything<()> {
    for sql in QUERIES.into_iter().skip(1).take(2) {
        let (mut planned, mut answered) = (Vec::new(), Vec::new());
        for _ in 0..runs.max(1) {
            let began = Instant::now();
            network.explain(DBMS, sql).await?;
            planned.push(began.elapsed());
            let began = Instant::now();
            drain(network.query(DBMS, sql, None).await?).await?;
            answered.push(began.elapsed());
        }
        let ((_, planned), (_, answered)) = (times(&mut planned), times(&mut answered));
        println!("{operators:3} operators  {planned:8.2} ms {answered:8.2} ms  {sql}");
    }
    Ok(())
}

async fn compare(sql: &str, whole: &Engine, network: &Sql, runs: usize) -> Anything<()> {
    let (mut here, mut there) = (Vec::new(), Vec::new());
    let (mut rows, mut bytes) = (0, 0);
    for _ in 0..runs.max(1) {
        let began = Instant::now();
        drain(whole.sql().query(DBMS, sql, None).await?).await?;
        here.push(began.elapsed());
        let began = Instant::now();
        rows = drain(network.query(DBMS, sql, None).await?).await?;
        there.push(began.elapsed());
        let operators = network.queries().last().map_or_else(Vec::new, |query| query.operators);
        bytes = operators.iter().map(|share| share.bytes).sum::<u64>();
    }
    let (fast, middle) = times(&mut here);
    let (network_fast, network_middle) = times(&mut there);
    println!(
        "{:6.2} ×  one engine {fast:8.2} {middle:8.2} ms  network {network_fast:8.2} \
         {network_middle:8.2} ms  {rows:8} rows {bytes:10} bytes  {sql}",
        network_middle / middle,
    );
    Ok(())
}

fn times(times: &mut [Duration]) -> (f64, f64) {
    times.sort_unstable();
    let ms = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    (ms(times.first()), ms(times.get(times.len() / 2)))
}

async fn drain(mut query: Query) -> Anything<usize> {
    let mut rows = 0;
    while let Some(batch) = query.next().await {
        rows += batch?.rows();
    }
    Ok(rows)
}

async fn serve(number: usize, engine: &Engine) -> Anything<Operator> {
    let id = number.to_string();
    let known = id.clone();
    let storage = engine.storage().clone();
    let known = Arc::new(move || {
        let (id, node) = (known.clone(), known.clone());
        Some(Own { id, node, history: storage.history() })
    });
    let worker = Worker::new(known, engine.sql(), Arc::new(|_: &_| Ok(())));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::spawn(Server::builder().add_routes(worker.service()).serve_with_incoming(incoming));
    Ok(Operator { name: format!("operator-{id}"), id, address, ..Operator::default() })
}

fn schema() -> Schema {
    let column = |name: &str, kind| Column::new(name, kind);
    let columns = vec![
        column("id", Kind::Int),
        column("device", Kind::Varchar),
        column("at", Kind::Timestamp),
        column("value", Kind::Decimal),
    ];
    Schema { columns }
}

async fn fill(engine: &Engine, rows: std::ops::Range<usize>) -> Anything<()> {
    let table = engine.storage().create_table(DBMS, "t", schema()).await?;
    let mut from = rows.start;
    while from < rows.end {
        let to = (from + BATCH).min(rows.end);
        table.append(batch(from as i64..to as i64)?).await?;
        from = to;
    }
    engine.storage().flush(&table).await?;
    Ok(())
}

fn batch(ids: std::ops::Range<i64>) -> Anything<RecordBatch> {
    let mixed = |id: i64| id.wrapping_mul(0x9e37_79b9).rem_euclid(1_000_003);
    let device = ids.clone().map(|id| format!("device-{}", mixed(id) % 1000));
    let at = ids.clone().map(|id| 1_767_225_600_000_000 + id * 1_000_000);
    let value = ids.clone().map(|id| mixed(id) as f64 / 7.0);
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        ("device", Arc::new(StringViewArray::from_iter_values(device))),
        ("at", Arc::new(TimestampMicrosecondArray::from_iter_values(at))),
        ("value", Arc::new(Float64Array::from_iter_values(value))),
    ];
    Ok(RecordBatch::try_from_iter(columns)?)
}
