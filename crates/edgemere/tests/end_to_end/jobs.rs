//! Jobs over REST: made, looked at, read while they run and afterwards, cancelled and forgotten.

use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::support::Node;

/// How many rows the table has.
const ROWS: usize = 20_000;

/// Gives rows at once, and more of them than anybody reads.
const MANY: &str = "select a.n, b.n as m, a.text from t a, t b, t c";

/// Gives no row for longer than anybody waits.
const SILENT: &str = "select sum(a.n * b.n + c.n) from t a, t b, t c";

/// The media type of Arrow streams.
const ARROW: &str = "application/vnd.apache.arrow.stream";

async fn start(args: &[&str]) -> Node {
    let node = Node::start(&[&["--name", "q", "--register", "false"], args].concat());
    fill(&node).await;
    node
}

async fn fill(node: &Node) {
    let mut csv = String::from("n,text\n");
    (0..ROWS).for_each(|n| csv.push_str(&format!("{n},row {n}\n")));
    let url = format!("{}/api/v1/ingest/d/t", node.url());
    let put = Client::new().post(url).header("content-type", "text/csv").body(csv);
    assert_eq!(put.send().await.unwrap().status(), 200);
}

fn url(node: &Node, rest: &str) -> String {
    format!("{}/api/v1/jobs{rest}", node.url())
}

async fn post(node: &Node, body: &Value) -> Response {
    Client::new().post(url(node, "")).json(body).send().await.unwrap()
}

/// Makes a job, and gives its id.
async fn made(node: &Node, sql: &str) -> String {
    let reply = post(node, &json!({ "dbms": "d", "sql": sql })).await;
    assert_eq!(reply.status(), 202);
    let location = reply.headers()["location"].to_str().unwrap().to_owned();
    let job: Value = reply.json().await.unwrap();
    let id = job["id"].as_str().unwrap().to_owned();
    assert_eq!(location, format!("/api/v1/jobs/{id}"));
    assert_eq!(id.len(), 32);
    id
}

async fn get(node: &Node, rest: &str, accept: &str) -> Response {
    Client::new().get(url(node, rest)).header("accept", accept).send().await.unwrap()
}

async fn value(response: Response) -> (u16, Value) {
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

async fn told(node: &Node, id: &str) -> Value {
    value(get(node, &format!("/{id}"), "*/*").await).await.1
}

/// Waits until a job has ended, and gives what is reported of it.
async fn ended(node: &Node, id: &str) -> Value {
    loop {
        let job = told(node, id).await;
        if job["state"] != "running" {
            return job;
        }
        tokio::task::yield_now().await;
    }
}

async fn delete(node: &Node, id: &str) -> Response {
    Client::new().delete(url(node, &format!("/{id}"))).send().await.unwrap()
}

/// Waits until no query runs on the node.
async fn wait_until_idle(node: &Node) {
    while !metrics(node).await.contains("edgemere_queries_running 0") {
        tokio::task::yield_now().await;
    }
}

async fn metrics(node: &Node) -> String {
    let metrics = Client::new().get(format!("{}/metrics", node.url())).send().await.unwrap();
    metrics.text().await.unwrap()
}

/// How many files of rows the node has.
fn files(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder.join("edgemere-data/rows/jobs")).unwrap().count()
}

#[tokio::test]
async fn a_job_is_read_in_every_form_as_often_as_wanted() {
    let node = start(&[]).await;
    let id = made(&node, "select n, text from t order by n").await;
    let job = ended(&node, &id).await;
    assert_eq!((&job["state"], &job["rows"]), (&json!("completed"), &json!(ROWS)), "{job}");
    assert_eq!((&job["dbms"], &job["operators"]), (&json!("d"), &json!([])));
    assert!(job["bytes"].as_u64().unwrap() > 0 && job["kept_until"].is_string(), "{job}");
    let (_, all) = value(get(&node, "", "*/*").await).await;
    assert_eq!(all[0]["id"], id);
    let rows = format!("/{id}/rows");
    for accept in ["application/x-ndjson", "text/csv", ARROW] {
        let body = json!({ "dbms": "d", "sql": "select n, text from t order by n" });
        let direct = Client::new().post(format!("{}/api/v1/sql", node.url())).json(&body);
        let direct = direct.header("accept", accept).send().await.unwrap();
        let direct_type = direct.headers()["content-type"].clone();
        let direct = direct.bytes().await.unwrap();
        for _ in 0..2 {
            let kept = get(&node, &rows, accept).await;
            assert_eq!(kept.headers()["content-type"], direct_type);
            let kept = kept.bytes().await.unwrap();
            assert!(kept == direct, "{accept}: {} and {} bytes", kept.len(), direct.len());
        }
    }
    let some = format!("{rows}?limit=2");
    let (_, batch) = value(get(&node, &some, "application/json").await).await;
    assert_eq!((&batch["total_rows"], &batch["truncated"]), (&json!(2), &json!(true)));
    let events = get(&node, &format!("{rows}?mode=stream&batch_rows=5000"), "*/*").await;
    let events = events.text().await.unwrap();
    assert_eq!(events.lines().count(), ROWS / 5000 + 1);
    assert!(events.trim_end().ends_with(r#"{"type":"complete","total_rows":20000}"#));
    let sse = get(&node, &rows, "text/event-stream").await.text().await.unwrap();
    assert!(sse.starts_with("data: {\"type\":\"data\""));
    assert_eq!(delete(&node, &id).await.status(), 204);
    let (status, gone) = value(get(&node, &rows, "*/*").await).await;
    assert_eq!((status, &gone["err_code"]), (404, &json!(23)), "{gone}");
    assert!(gone["hint"].as_str().unwrap().contains("GET /api/v1/jobs"));
    assert_eq!(files(node.folder.path()), 0);
    assert!(metrics(&node).await.contains("edgemere_job_disk_bytes 0"));
}

#[tokio::test]
async fn two_readers_follow_a_job_and_deleting_it_stops_the_work() {
    let node = start(&[]).await;
    let id = made(&node, MANY).await;
    let rows = format!("/{id}/rows");
    let mut first = get(&node, &rows, "text/csv").await;
    let mut second = get(&node, &rows, "application/x-ndjson").await;
    for reader in [&mut first, &mut second] {
        assert_eq!(reader.status(), 200);
        assert!(!reader.chunk().await.unwrap().unwrap().is_empty());
    }
    let job = told(&node, &id).await;
    assert_eq!(job["state"], "running");
    assert!(job["rows"].as_u64().unwrap() > 0 && job.get("kept_until").is_none(), "{job}");
    let events = get(&node, &format!("{rows}?mode=stream&batch_rows=10000"), "*/*").await;
    let (status, cancelled) = value(delete(&node, &id).await).await;
    assert_eq!((status, &cancelled["state"]), (200, &json!("cancelled")));
    wait_until_idle(&node).await;
    // No reply looks whole, and the one that can says why.
    assert!(first.text().await.is_err() && second.text().await.is_err());
    let events = events.text().await.unwrap();
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert_eq!(last["error"]["err_code"], 168, "{last}");
    let (status, gone) = value(get(&node, &rows, "*/*").await).await;
    assert_eq!((status, &gone["err_code"]), (410, &json!(168)), "{gone}");
    assert_eq!(told(&node, &id).await["state"], "cancelled");
    assert_eq!(delete(&node, &id).await.status(), 204);
    assert_eq!(delete(&node, &id).await.status(), 404);
}

#[tokio::test]
async fn a_job_runs_on_without_its_readers_and_is_stopped_by_its_number() {
    let node = start(&["--access", "write"]).await;
    let id = made(&node, SILENT).await;
    let waiting = Client::new().get(url(&node, &format!("/{id}/rows"))).send();
    let reader = tokio::spawn(waiting);
    reader.abort();
    assert!(reader.await.is_err());
    let job = told(&node, &id).await;
    assert_eq!(job["state"], "running");
    let (said, stderr, code) = node.run(&["job", "status", "all"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(said.contains(SILENT) && said.contains("Running"), "{said}");
    let (said, stderr, code) = node.run(&["job", "stop", &job["job"].to_string()]);
    assert_eq!(
        (said.trim(), code),
        (&*format!("query {} is cancelled", job["job"]), 0),
        "{stderr}"
    );
    wait_until_idle(&node).await;
    assert_eq!(ended(&node, &id).await["state"], "cancelled");
}

#[tokio::test]
async fn limits_end_jobs_with_the_next_step() {
    let args = ["--job-disk", "1MiB", "--job-disk-total", "2MiB", "--access", "read"];
    let node = Node::start(&["--name", "q", "--register", "false"]);
    fill(&node).await;
    let node = Node::start_in(node.kill(), &[&["--name", "q"], &args[..]].concat());
    // Who may only read may make jobs.
    let id = made(&node, MANY).await;
    let job = ended(&node, &id).await;
    assert_eq!((&job["state"], &job["error"]["err_code"]), (&json!("failed"), &json!(77)), "{job}");
    assert!(job["error"]["hint"].as_str().unwrap().contains("--job-disk"), "{job}");
    let (status, reply) = value(get(&node, &format!("/{id}/rows"), "*/*").await).await;
    assert_eq!((status, &reply["err_code"]), (503, &json!(77)), "{reply}");
    // The first that ended go when there is no more room.
    let mut made_before = Vec::new();
    for _ in 0..4 {
        let id = made(&node, "select n, n as a, n as b, n as c, n as d from t").await;
        assert_eq!(ended(&node, &id).await["state"], "completed");
        made_before.push(id);
    }
    assert_eq!(told(&node, &made_before[0]).await["err_code"], 23);
    assert_eq!(told(&node, &made_before[3]).await["state"], "completed");
    assert!(files(node.folder.path()) <= 2);
}

#[tokio::test]
async fn what_is_wrong_with_a_query_is_told_at_once() {
    let node = start(&[]).await;
    let cases = [
        (json!({ "dbms": "d", "sql": "select nothing from t" }), 404),
        (json!({ "dbms": "d", "sql": "drop table t" }), 403),
        (json!({ "dbms": "d", "sql": "select n from t", "max_time": 0 }), 400),
        (json!({ "dbms": "d", "sql": "select n from t", "mode": "batch" }), 400),
        (json!({ "dbms": "d" }), 400),
    ];
    for (body, expected) in cases {
        let (status, reply) = value(post(&node, &body).await).await;
        assert_eq!(status, expected, "{body} {reply}");
    }
    let (_, all) = value(get(&node, "", "*/*").await).await;
    assert_eq!(all, json!([]));
    let id = made(&node, "select n from t limit 1").await;
    for (query, accept) in
        [("?mode=batch", "text/csv"), ("?limit=0", "application/json"), ("?x=1", "*/*")]
    {
        let reply = get(&node, &format!("/{id}/rows{query}"), accept).await;
        assert_eq!(reply.status(), 400, "{query}");
    }
    let late = made(&node, "select 10 / (n - 19990) as x from t").await;
    let job = ended(&node, &late).await;
    assert_eq!((&job["state"], &job["error"]["err_code"]), (&json!("failed"), &json!(165)));
    assert_eq!(get(&node, &format!("/{late}/rows"), "*/*").await.status(), 400);
    let over = json!({ "dbms": "d", "sql": SILENT, "max_time": 1 });
    let (_, over) = value(post(&node, &over).await).await;
    let over = ended(&node, over["id"].as_str().unwrap()).await;
    assert_eq!(over["error"]["err_code"], 76, "{over}");
}

#[tokio::test]
async fn a_node_that_was_killed_starts_without_jobs_and_their_rows() {
    let node = start(&[]).await;
    let whole = made(&node, "select n from t").await;
    assert_eq!(ended(&node, &whole).await["state"], "completed");
    let running = made(&node, MANY).await;
    assert!(get(&node, &format!("/{running}/rows"), "text/csv").await.chunk().await.is_ok());
    assert_eq!(files(node.folder.path()), 2);
    let node = Node::start_in(node.kill(), &["--register", "false"]);
    assert_eq!(files(node.folder.path()), 0);
    for id in [whole, running] {
        assert_eq!(get(&node, &format!("/{id}"), "*/*").await.status(), 404);
    }
    let mut node = node;
    let again = made(&node, "select count(*) as n from t").await;
    let rows = get(&node, &format!("/{again}/rows"), "*/*").await.text().await.unwrap();
    assert_eq!(rows.trim(), format!("{{\"n\":{ROWS}}}"));
    // One that is stopped leaves nothing at all.
    made(&node, SILENT).await;
    assert!(node.stop("TERM").success());
    assert_eq!(files(node.folder.path()), 0);
}
