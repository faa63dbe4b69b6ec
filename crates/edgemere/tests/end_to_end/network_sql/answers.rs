//! The network answers what one node with all rows answers.

use reqwest::Client;
use serde_json::{Value, json};

use super::net::{Net, ROWS, ask, rows, store, text};
use crate::support::Node;

/// The media type of Arrow streams.
const ARROW: &str = "application/vnd.apache.arrow.stream";

/// Where the devices are, on two operators.
const PLACES: [&str; 2] = [
    "device,place\nsensor-0,hall\nsensor-1,hall\nsensor-2,yard\n",
    "device,place\nsensor-3,yard\nsensor-4,roof\nsensor-9,roof\n",
];

/// Pumps, which tell something else on each operator.
const PUMPS: [&str; 2] = ["id,flow\n1,1.5\n2,2.5\n", "id,pressure,flow\n3,10,4.0\n4,20,\n"];

const QUERIES: &[&str] = &[
    "select count(*) as c, sum(n) as s, avg(value) as a, min(value) as l, max(value) as h from t",
    "select device, count(*) as c, sum(value) as s, avg(n) as a from t group by device",
    "select device, count(distinct value) as c from t group by device having count(*) > 17100",
    "select n, device, value from t order by value desc, n limit 25",
    "select n from t order by n limit 10 offset 59995",
    "select distinct device from t",
    "select count(*) as c from t where n between 59000 and 61000 and device like 'sensor-_'",
    "select t.n, places.place from t join places on t.device = places.device where t.n % 977 = 0",
    "select place, count(*) as c, sum(value) as s from t join places using (device) group by place",
    "select p.device, count(t.n) as c from places p left join t on t.device = p.device group by 1",
    "select a.n, b.n as m from t a join t b on a.n = b.n + 60000 where a.n % 1009 = 0",
    "select count(*) as c from t where value > (select avg(value) from t)",
    "select count(*) as c from t where device not in (select device from places)",
    "select id, flow, pressure from pumps",
    "select count(*) as c, count(flow) as f, sum(pressure) as p from pumps",
    "select id from pumps where pressure is null",
    "select device, n from (select device, n, row_number() over (partition by device order by n desc) as r from t) x where r < 3",
    "select n from t where n < 0",
];

/// One node with all rows.
async fn reference() -> Node {
    let node = Node::start(&["--name", "all", "--register", "false"]);
    store(&node, "t", &rows(0)).await;
    store(&node, "t", &rows(ROWS)).await;
    for (table, parts) in [("places", PLACES), ("pumps", PUMPS)] {
        for csv in parts {
            store(&node, table, csv).await;
        }
    }
    node
}

async fn network() -> Net {
    let net = Net::with_rows().await;
    for (table, [first, second]) in [("places", PLACES), ("pumps", PUMPS)] {
        store(net.one.up(), table, first).await;
        store(net.two.up(), table, second).await;
        net.knows(table).await;
    }
    net
}

/// Rows in an order of their own.
fn sorted(rows: Value) -> Vec<String> {
    let Value::Array(rows) = rows else { panic!("{rows}") };
    let mut rows: Vec<_> = rows.iter().map(Value::to_string).collect();
    rows.sort_unstable();
    rows
}

fn sorted_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_network_answers_as_one_node_with_all_rows() {
    let (net, all) = (network().await, reference().await);
    let mut asked = 0;
    for sql in QUERIES {
        let command = format!("sql d format = json:list and stat = false {sql}");
        let (status, expected) = text(ask(&all, &command)).await;
        assert_eq!(status, 200, "{sql}: {expected}");
        let expected: Value = serde_json::from_str(&expected).unwrap();
        let answer = net.rows(sql).await;
        if sql.contains("order by") && sql.contains("limit") {
            assert_eq!(answer, expected, "{sql}");
        }
        assert_eq!(sorted(answer), sorted(expected), "{sql}");
        asked += 1;
    }
    assert_eq!(asked, QUERIES.len());
    // A body is a query of the network, where the node has no rows.
    let body = json!({ "dbms": "d", "sql": "select count(*) as c from t" });
    let (status, count) = text(Client::new().post(net.query.up().url()).json(&body)).await;
    assert_eq!((status, count.contains(&format!("\"c\":{}", 2 * ROWS))), (200, true), "{count}");
    // The query node has no rows of its own.
    let own = ask(net.query.up(), "sql d select count(*) from t").header("destination", "local");
    let (status, own) = text(own).await;
    assert_ne!(status, 200, "{own}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_rows_pass_through_in_every_format() {
    let (net, all) = (network().await, reference().await);
    let sql = "select n, device, value from t";
    for format in ["ndjson", "csv"] {
        let (_, answer) = text(net.sql(format, sql)).await;
        let command = format!("sql d format = {format} {sql}");
        let (_, expected) = text(ask(&all, &command)).await;
        let expected = sorted_lines(&expected);
        assert_eq!(expected.len(), 2 * ROWS + usize::from(format == "csv"));
        assert!(sorted_lines(&answer) == expected, "{format} differs");
    }
    // What the network gives as Arrow, a node takes.
    let bytes = net.sql("arrow", sql).send().await.unwrap().bytes().await.unwrap();
    let url = format!("{}/api/v1/ingest/d/copy", all.url());
    let copied = text(Client::new().post(url).header("content-type", ARROW).body(bytes)).await;
    assert_eq!(copied.0, 200, "{}", copied.1);
    let same = "sql d format = json:list and stat = false select count(*) as same from t join copy c \
                on t.n = c.n and t.device = c.device and t.value = c.value";
    let (_, same) = text(ask(&all, same)).await;
    let same: Value = serde_json::from_str(&same).unwrap();
    assert_eq!(same, json!([{ "same": 2 * ROWS }]));
    // Events say that it was all.
    let (_, events) = text(net.sql("events", sql)).await;
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(last, json!({ "type": "complete", "total_rows": 2 * ROWS }));
}
