//! Rows over REST at their edges: what comes in comes out, and what cannot come in is refused with
//! the reason and leaves nothing behind.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};

use crate::support::Node;

async fn reply(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}")))
}

fn put(node: &Node, table: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
    let put = Client::new().put(node.url()).header("dbms", "d").header("table", table);
    put.header("type", "json").header("mode", "streaming").body(body)
}

fn ingest(node: &Node, table: &str, kind: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
    let url = format!("{}/api/v1/ingest/d/{table}", node.url());
    Client::new().post(url).header("content-type", kind).body(body)
}

async fn select(node: &Node, sql: &str) -> Value {
    let url = format!("{}/api/v1/sql", node.url());
    let request = Client::new().post(url).header("accept", "application/json");
    let (status, mut answer) = reply(request.json(&json!({ "dbms": "d", "sql": sql }))).await;
    assert_eq!(status, 200, "{answer}");
    answer["rows"].take()
}

#[tokio::test]
async fn values_come_back_as_they_were() {
    let node = Node::start(&[]);
    let rows = json!([
        {
            "n": 1, "text": "it's \"quoted\", 日本 🚰 \\ \u{0} \n", "nothing": null,
            "nested": { "a": [1, { "b": "it's" }], "z": null }, "big": 9_007_199_254_740_993_i64,
            "flag": true, "empty": "",
        },
        { "n": 2, "text": "'; drop table t; --", "nested": [], "big": -1, "flag": false },
    ]);
    assert_eq!(reply(put(&node, "t", rows.to_string())).await.0, 200);
    let columns = "n, text, nested, big, flag, empty";
    assert_eq!(
        select(&node, &format!("select {columns} from t order by n")).await,
        json!([
            {
                "n": 1, "text": "it's \"quoted\", 日本 🚰 \\ \u{0} \n",
                "nested": "{\"a\":[1,{\"b\":\"it's\"}],\"z\":null}",
                "big": 9_007_199_254_740_993_i64, "flag": true, "empty": "",
            },
            {
                "n": 2, "text": "'; drop table t; --", "nested": "[]", "big": -1, "flag": false,
                "empty": null,
            },
        ])
    );
    let huge = r#"[{"n": 123456789012345678901234567890}, {"n": -5}]"#;
    assert_eq!(reply(put(&node, "huge", huge)).await.0, 200);
    let sql = "select cast(sum(n) as varchar) as n from huge";
    assert_eq!(select(&node, sql).await, json!([{ "n": "123456789012345678901234567885" }]));
    let times = json!([
        { "t": "2026-02-01T12:00:00+02:00" }, { "t": "2026-02-01 10:00:00.000001" },
        { "t": "2026-02-01T04:30:00-05:30" },
    ]);
    assert_eq!(reply(put(&node, "times", times.to_string())).await.0, 200);
    let sql = "select count(*) as n, min(t) = timestamp '2026-02-01 10:00:00' as same from times";
    assert_eq!(select(&node, sql).await, json!([{ "n": 3, "same": true }]));
    // The last of two equal keys holds, as it does for everybody who reads JSON.
    assert_eq!(reply(put(&node, "twice", r#"{"a": 1, "a": 2}"#)).await.0, 200);
    assert_eq!(select(&node, "select a from twice").await, json!([{ "a": 2 }]));
    // Numbers and texts together are texts; what a column cannot hold later is rejected.
    assert_eq!(reply(put(&node, "mixed", r#"[{"a": 1}, {"a": "x"}, {"a": true}]"#)).await.0, 200);
    assert_eq!(
        select(&node, "select a from mixed order by a").await,
        json!([{ "a": "1" }, { "a": "true" }, { "a": "x" }])
    );
    let (status, body) = reply(put(&node, "t", r#"[{"n": "x"}, {"n": 3}]"#)).await;
    assert_eq!((status, &body["AnyLog.status"]), (207, &json!("Partial")));
    let bad = json!([{ "row": 1, "column": "n", "value": "x", "reason": "not a number" }]);
    assert_eq!((&body["stored"], &body["rows"]), (&json!(1), &bad));
}

#[tokio::test]
async fn what_cannot_be_stored_is_refused_and_leaves_nothing() {
    let node = Node::start(&[]);
    for (body, part) in [
        ("", "empty"),
        (" \n", "empty"),
        ("[{\"a\": 1}, {\"a\": ", "not JSON"),
        ("[{\"a\": 1}", "not JSON"),
        ("nonsense", "not JSON"),
        ("[{}]", "no columns"),
    ] {
        let (status, body) = reply(put(&node, "t", body)).await;
        assert_eq!(status, 400, "{body}");
        let message = body["local_msg"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    }
    let (status, body) = reply(put(&node, "t", "[]")).await;
    assert_eq!((status, &body["stored"]), (200, &json!(0)), "nothing to store is no failure");
    let (status, body) = reply(put(&node, "t", "[1, \"x\", null]")).await;
    assert_eq!((status, &body["stored"], &body["rejected"]), (400, &json!(0), &json!(3)));
    for (name, value) in [("type", "xml"), ("mode", "carefully")] {
        let put = Client::new().put(node.url()).header("dbms", "d").header("table", "t");
        let (status, body) = reply(put.header(name, value).body("[{\"a\": 1}]")).await;
        assert_eq!(status, 400, "{body}");
        assert!(body["local_msg"].as_str().unwrap().contains(value), "{body}");
    }
    let (status, body) = reply(ingest(&node, "t", "image/png", "x")).await;
    assert_eq!(status, 415, "{body}");
    assert!(body["hint"].as_str().unwrap().contains("text/csv"), "{body}");
    // A line that is torn is a row; the others are stored.
    let lines = "{\"a\": 1}\n{\"a\": 2";
    let (status, body) = reply(ingest(&node, "lines", "application/x-ndjson", lines)).await;
    assert_eq!((status, &body["stored"], &body["rows"][0]["row"]), (207, &json!(1), &json!(2)));
    let (status, body) =
        reply(ingest(&node, "lines", "application/x-ndjson", "[{\"a\": 1}]")).await;
    assert_eq!((status, &body["rejected"]), (400, &json!(1)), "a list is no line with an object");
    let (status, body) = reply(ingest(&node, "t", "text/csv", "a,b\n1,\"2")).await;
    assert_eq!(status, 400, "{body}");
    let (_, counts) = reply(
        Client::new().get(node.url()).header("command", "get rows count where format = json"),
    )
    .await;
    assert_eq!(counts, json!({ "d.lines": 1 }));
}

#[tokio::test]
async fn a_body_is_limited_and_may_be_compressed() {
    let node = Node::start(&[]);
    let gzip = |text: &[u8]| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(text).unwrap();
        gzip.finish().unwrap()
    };
    let rows = gzip(b"[{\"a\": 1}, {\"a\": 2}]");
    let torn = rows[..rows.len() - 10].to_vec();
    let compressed = |request: RequestBuilder| request.header("content-encoding", "gzip");
    let (status, body) = reply(compressed(put(&node, "t", rows))).await;
    assert_eq!((status, &body["stored"]), (200, &json!(2)), "{body}");
    let (status, body) = reply(compressed(put(&node, "t", torn))).await;
    assert_eq!(status, 400, "{body}");
    let (status, body) = reply(put(&node, "t", "x").header("content-encoding", "br")).await;
    assert_eq!(status, 415, "{body}");
    assert!(body["local_msg"].as_str().unwrap().contains("\"br\""), "{body}");

    let too_large = vec![b' '; (64 << 20) + 1];
    // What is small when it is sent is large when it is stored.
    let bomb = [gzip(&[b' '; 1 << 20]).repeat(64), gzip(b" ")].concat();
    for request in [
        put(&node, "t", too_large.clone()),
        ingest(&node, "t", "application/json", too_large),
        compressed(put(&node, "t", bomb)),
    ] {
        let (status, body) = reply(request).await;
        assert_eq!(status, 413, "{body}");
        let message = body["local_msg"].as_str().unwrap();
        assert!(message.contains("64 MiB") && message.ends_with("nothing was stored"), "{message}");
    }
    assert_eq!(select(&node, "select count(*) as n from t").await, json!([{ "n": 2 }]));
}

#[tokio::test]
async fn content_put_as_a_file_is_stored_once_and_has_edgelakes_hash() {
    let mut node = Node::start(&["--name", "n"]);
    let content =
        r#"[{"timestamp": "2026-02-01T00:00:05Z", "value": 9.5, "device_name": "filemode"}]"#;
    let put_file = |node: &Node, table: &str, content: &'static str| {
        let put = Client::new().put(node.url()).header("dbms", "new_company");
        put.header("table", table.to_owned())
            .header("type", "json")
            .header("mode", "file")
            .body(content)
    };
    let (status, body) = reply(put_file(&node, "rand_small", content)).await;
    let hash = "4d444298b4ba5dcbe02bfede2a4c1375";
    assert_eq!(
        (status, body),
        (200, json!({ "AnyLog.status": "Success", "AnyLog.hash": hash, "stored": 1 }))
    );
    for round in 0..2 {
        let (status, body) = reply(put_file(&node, "Rand_Small", content)).await;
        assert_eq!((status, &body["err_code"]), (409, &json!(86)), "{body}");
        let message = body["local_msg"].as_str().unwrap();
        assert!(message.contains("before") && message.contains(hash), "{message}");
        // It is remembered over a crash.
        if round == 0 {
            node = Node::start_in(node.kill(), &["--name", "n"]);
        }
    }
    // Another table, another content, and a stream have nothing to do with it.
    assert_eq!(reply(put_file(&node, "other", content)).await.0, 200);
    assert_eq!(reply(put_file(&node, "rand_small", "[{\"value\": 1}]")).await.0, 200);
    let put = Client::new().put(node.url()).header("dbms", "new_company");
    let streamed = put.header("table", "rand_small").header("mode", "streaming").body(content);
    assert_eq!(reply(streamed).await.1["AnyLog.hash"], "0");
    let (_, counts) = reply(
        Client::new().get(node.url()).header("command", "get rows count where format = json"),
    )
    .await;
    assert_eq!(counts, json!({ "new_company.other": 1, "new_company.rand_small": 3 }));
}

#[tokio::test]
async fn rows_with_a_key_are_stored_once_and_answered_the_same_again() {
    let node = Node::start(&[]);
    let keyed = |key: &str, body: &'static str| {
        ingest(&node, "t", "application/json", body).header("idempotency-key", key)
    };
    let body = r#"[{"n": 1}, {"n": 2}]"#;
    let created = json!([{ "name": "n", "type": "int" }]);
    let first = (200, json!({ "stored": 2, "created": created }));
    assert_eq!(reply(keyed("a", body)).await, first);
    let again = (200, json!({ "stored": 2, "repeated": true }));
    assert_eq!(reply(keyed("a", body)).await, again);
    assert_eq!(reply(keyed("b", body)).await, (200, json!({ "stored": 2 })));
    let partly = r#"[{"n": "x"}, {"n": 3}]"#;
    let (status, first) = reply(keyed("c", partly)).await;
    let (status_again, second) = reply(keyed("c", partly)).await;
    assert_eq!((status, status_again, &second["repeated"]), (207, 207, &json!(true)));
    assert_eq!((&first["stored"], &first["rows"]), (&second["stored"], &second["rows"]));
    for key in [String::new(), "k".repeat(201)] {
        assert_eq!(reply(keyed(&key, body)).await.0, 400, "{key}");
    }
    assert_eq!(select(&node, "select count(*) as n from t").await, json!([{ "n": 5 }]));
}

/// Every writer sees its own row in the very next query, whatever the others do meanwhile.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_put_followed_by_a_select_gives_the_row_back_every_time() {
    const WRITERS: u64 = 8;
    const ROUNDS: u64 = 25;
    let node = std::sync::Arc::new(Node::start(&[]));
    let writer = |writer: u64| {
        let node = std::sync::Arc::clone(&node);
        tokio::spawn(async move {
            for round in 0..ROUNDS {
                let id = writer * 1000 + round;
                // Now and then a writer brings a column of its own.
                let row = match round % 10 {
                    5 => json!({ "id": id, format!("extra_{writer}"): "it's new" }),
                    _ => json!({ "id": id, "text": format!("row {id}") }),
                };
                let (status, body) = reply(put(&node, "t", row.to_string())).await;
                assert_eq!((status, &body["stored"]), (200, &json!(1)), "{body}");
                let found = select(&node, &format!("select id from t where id = {id}")).await;
                assert_eq!(found, json!([{ "id": id }]));
            }
        })
    };
    for writer in (0..WRITERS).map(writer).collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let sql = "select count(*) as n, count(distinct id) as d from t";
    let all = WRITERS * ROUNDS;
    assert_eq!(select(&node, sql).await, json!([{ "n": all, "d": all }]));
}
