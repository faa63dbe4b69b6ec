//! Queries over REST: the two modes, every format, and what a failure in the middle looks like.

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::support::{Node, parts, run};

/// How many rows the table has.
const ROWS: usize = 100_000;

/// The media type of Arrow streams.
const ARROW: &str = "application/vnd.apache.arrow.stream";

/// Fails on a row near the end, when others have been sent.
const FAILS_LATE: &str = "select 10 / (n - 99990) as x from t";

/// Gives rows at once, and never ends.
const ENDLESS: &str = "select a.n, b.n as m from t a, t b";

/// A node with a table of numbers.
async fn start() -> Node {
    let node = Node::start(&["--name", "q", "--register", "false"]);
    let mut csv = String::from("n,text\n");
    (0..ROWS).for_each(|n| csv.push_str(&format!("{n},row {n}\n")));
    let url = format!("{}/api/v1/ingest/d/t", node.url());
    let put = Client::new().post(url).header("content-type", "text/csv").body(csv);
    assert_eq!(put.send().await.unwrap().status(), 200);
    node
}

fn ask(node: &Node, accept: &str, body: Value) -> RequestBuilder {
    let url = format!("{}/api/v1/sql", node.url());
    Client::new().post(url).header("accept", accept).json(&body)
}

fn query(sql: &str) -> Value {
    json!({ "dbms": "d", "sql": sql })
}

async fn text(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn value(request: RequestBuilder) -> (u16, Value) {
    let (status, text) = text(request).await;
    (status, serde_json::from_str(&text).unwrap())
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn batch_mode_collects_up_to_a_limit_and_says_when_there_is_more() {
    let node = start().await;
    let first = query("select n from t order by n limit 2");
    let (status, reply) = value(ask(&node, "application/json", first)).await;
    assert_eq!(
        (status, reply),
        (200, json!({ "rows": [{ "n": 0 }, { "n": 1 }], "total_rows": 2 }))
    );
    let (_, none) = value(ask(&node, "*/*", {
        let mut none = query("select n from t where n < 0");
        none["mode"] = json!("batch");
        none
    }))
    .await;
    assert_eq!(none, json!({ "rows": [], "total_rows": 0 }));
    for (limit, total, truncated) in [(3, 3, true), (20_000, 20_000, true), (ROWS, ROWS, false)] {
        let mut body = query("select n from t order by n");
        body["limit"] = json!(limit);
        let (_, reply) = value(ask(&node, "application/json", body)).await;
        assert_eq!(reply["total_rows"], total);
        assert_eq!(reply["rows"].as_array().unwrap().len(), total);
        assert_eq!(reply.get("truncated"), truncated.then_some(&json!(true)));
    }
    // Without a limit there is one all the same.
    let (_, reply) = value(ask(&node, "application/json", query("select n from t"))).await;
    assert_eq!((&reply["total_rows"], &reply["truncated"]), (&json!(10_000), &json!(true)));
    let fails = query("select 10 / (n - 5) from t where n < 10");
    let (status, reply) = value(ask(&node, "application/json", fails)).await;
    assert_eq!((status, &reply["err_code"]), (400, &json!(165)), "{reply}");
}

#[tokio::test]
async fn streaming_mode_tells_rows_in_events_and_the_end() {
    let node = start().await;
    let mut body = query("select n from t where n < 250 order by n");
    body["mode"] = json!("stream");
    let (status, told) = text(ask(&node, "application/x-ndjson", body.clone())).await;
    assert_eq!(status, 200);
    let events = lines(&told);
    let counts: Vec<_> = events.iter().map(|event| event["row_count"].as_u64()).collect();
    assert_eq!(counts, [Some(100), Some(100), Some(50), None]);
    assert_eq!(events[1]["type"], "data");
    assert_eq!(events[1]["rows"][0], json!({ "n": 100 }));
    assert_eq!(events[3], json!({ "type": "complete", "total_rows": 250 }));
    let response = ask(&node, "text/event-stream", body.clone()).send().await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let sent = response.text().await.unwrap();
    let sent: Vec<Value> = sent
        .split_terminator("\n\n")
        .map(|event| serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap())
        .collect();
    assert_eq!(sent, events);
    body["batch_rows"] = json!(7);
    let (_, told) = text(ask(&node, "*/*", body)).await;
    assert_eq!(lines(&told).len(), 250_usize.div_ceil(7) + 1);
}

#[tokio::test]
async fn a_failure_in_the_middle_never_looks_whole() {
    let node = start().await;
    for accept in ["application/x-ndjson", "text/csv", ARROW] {
        let response = ask(&node, accept, query(FAILS_LATE)).send().await.unwrap();
        assert_eq!(response.status(), 200, "{accept}");
        assert_eq!(response.headers()["transfer-encoding"], "chunked");
        assert!(response.bytes().await.is_err(), "{accept} looks whole");
    }
    let list = Client::new()
        .get(node.url())
        .header("command", format!("sql d format = json {FAILS_LATE}"));
    assert!(list.send().await.unwrap().text().await.is_err());
    let (stdout, stderr, code) = parts(&run(
        node.folder.path(),
        &["sql", "d", FAILS_LATE, "--format", "csv", "--node", &node.http],
    ));
    assert_eq!(code, 6, "{stderr}");
    assert!(!stdout.is_empty() && stderr.contains("cut off"), "{stderr}");
    // Events say what it was.
    let mut body = query(FAILS_LATE);
    body["mode"] = json!("stream");
    let (status, told) = text(ask(&node, "*/*", body)).await;
    assert_eq!(status, 200);
    let events = lines(&told);
    let (last, others) = events.split_last().unwrap();
    assert!(!others.is_empty() && others.iter().all(|event| event["type"] == "data"));
    assert_eq!(
        (&last["type"], &last["error"]["err_code"]),
        (&json!("error"), &json!(165)),
        "{last}"
    );
}

#[tokio::test]
async fn time_that_is_over_ends_a_reply_in_the_middle_too() {
    let node = start().await;
    let mut body = query(ENDLESS);
    body["max_time"] = json!(1);
    let cut = ask(&node, "text/csv", body.clone()).send().await.unwrap();
    assert_eq!(cut.status(), 200);
    assert!(cut.bytes().await.is_err());
    body["mode"] = json!("stream");
    body["batch_rows"] = json!(5000);
    let (_, told) = text(ask(&node, "*/*", body.clone())).await;
    let events = lines(&told);
    let last = events.last().unwrap();
    assert_eq!(last["error"]["err_code"], 76, "{last}");
    assert!(last["error"]["hint"].as_str().unwrap().contains("max_time"));
    // Before the first row it is an error as any other.
    body["sql"] = json!("select sum(a.n * b.n) from t a, t b");
    let (status, reply) = value(ask(&node, "*/*", body)).await;
    assert_eq!((status, &reply["err_code"]), (503, &json!(76)), "{reply}");
}

#[tokio::test]
async fn formats_have_their_columns_also_without_rows() {
    let node = start().await;
    let none = query("select n, text from t where n < 0");
    assert_eq!(text(ask(&node, "text/csv", none.clone())).await, (200, "n,text\n".into()));
    assert_eq!(text(ask(&node, "application/x-ndjson", none.clone())).await, (200, String::new()));
    let stream = ask(&node, ARROW, none).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], ARROW);
    let bytes = stream.bytes().await.unwrap();
    // A stream begins with its columns and ends with a mark.
    assert_eq!(bytes[..4], [0xff; 4]);
    assert!(bytes.windows(4).any(|window| window == b"text"));
    assert_eq!(bytes[bytes.len() - 8..], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    // What a node gives, a node takes.
    let some = query("select n, text from t where n < 20000");
    let bytes = ask(&node, ARROW, some).send().await.unwrap().bytes().await.unwrap();
    let url = format!("{}/api/v1/ingest/d/copy", node.url());
    let copied = value(Client::new().post(url).header("content-type", ARROW).body(bytes)).await;
    assert_eq!((copied.0, &copied.1["stored"]), (200, &json!(20_000)));
    let both = "select count(*) as same from t join copy c on t.n = c.n and t.text = c.text";
    let (_, same) = value(ask(&node, "application/json", query(both))).await;
    assert_eq!(same["rows"], json!([{ "same": 20_000 }]));
}

#[tokio::test]
async fn what_cannot_be_is_refused() {
    let node = start().await;
    let with = |key: &str, given: Value| {
        let mut body = query("select n from t");
        body[key] = given;
        body
    };
    let refused = [
        ("text/csv", with("mode", json!("batch"))),
        ("application/json", with("mode", json!("stream"))),
        ("text/csv", with("limit", json!(5))),
        ("application/json", with("limit", json!(0))),
        ("application/json", with("limit", json!(-1))),
        ("*/*", with("batch_rows", json!(0))),
        ("*/*", with("max_time", json!(0))),
        ("*/*", with("mode", json!("both"))),
        ("*/*", with("other", json!(1))),
    ];
    for (accept, body) in refused {
        let (status, reply) = value(ask(&node, accept, body.clone())).await;
        assert_eq!(status, 400, "{body} {reply}");
    }
}
