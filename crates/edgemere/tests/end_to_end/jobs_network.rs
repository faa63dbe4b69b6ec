//! Jobs of a network of real processes: what each operator does is reported while they run and
//! afterwards, and cancelling one stops the work everywhere.

use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::support::{Node, wait_for};

/// How many rows each operator has.
const ROWS: usize = 10_000;

/// Gives rows at once, and more of them than anybody reads.
const MANY: &str = "select a.n, b.n as m from t a, t b";

struct Network {
    _master: Node,
    operators: Vec<Node>,
    query: Node,
}

/// A master, two operators with rows of the same table, and a query node that knows of them.
async fn start() -> Network {
    let master = Node::start(&["--name", "m", "--role", "master"]);
    let node = |name: &str, role: &str| {
        let args = ["--name", name, "--role", role, "--cluster", name, "--master", &master.network];
        Node::start(&args)
    };
    let operators = vec![node("one", "operator"), node("two", "operator")];
    let query = node("q", "query");
    for (index, operator) in operators.iter().enumerate() {
        let mut csv = String::from("n\n");
        (0..ROWS).for_each(|n| csv.push_str(&format!("{}\n", index * ROWS + n)));
        let url = format!("{}/api/v1/ingest/d/t", operator.url());
        let put = Client::new().post(url).header("content-type", "text/csv").body(csv);
        assert_eq!(put.send().await.unwrap().status(), 200);
    }
    let places = "get data nodes where format = json";
    wait_for("both operators in the ledger", || {
        let (said, ..) = query.run(&[places]);
        operators.iter().all(|operator| said.contains(port(operator))).then_some(())
    });
    Network { _master: master, operators, query }
}

fn port(node: &Node) -> &str {
    node.network.rsplit_once(':').unwrap().1
}

fn url(node: &Node, rest: &str) -> String {
    format!("{}/api/v1/jobs{rest}", node.url())
}

async fn post(node: &Node, sql: &str, subset: bool) -> Response {
    let body = json!({ "dbms": "d", "sql": sql, "destination": "network", "subset": subset });
    Client::new().post(url(node, "")).json(&body).send().await.unwrap()
}

async fn made(node: &Node, sql: &str, subset: bool) -> String {
    let reply = post(node, sql, subset).await;
    let (status, job) = (reply.status(), reply.json::<Value>().await.unwrap());
    assert_eq!(status, 202, "{job}");
    job["id"].as_str().unwrap().to_owned()
}

async fn told(node: &Node, id: &str) -> Value {
    let reply = Client::new().get(url(node, &format!("/{id}"))).send().await.unwrap();
    reply.json().await.unwrap()
}

async fn ended(node: &Node, id: &str) -> Value {
    loop {
        let job = told(node, id).await;
        if job["state"] != "running" {
            return job;
        }
        tokio::task::yield_now().await;
    }
}

async fn rows(node: &Node, id: &str) -> Response {
    Client::new().get(url(node, &format!("/{id}/rows"))).send().await.unwrap()
}

/// Waits until no query, or part of one, runs on a node.
async fn wait_until_idle(node: &Node) {
    loop {
        let metrics = Client::new().get(format!("{}/metrics", node.url())).send().await.unwrap();
        let metrics = metrics.text().await.unwrap();
        if metrics.contains("edgemere_queries_running 0") {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_of_the_network_tells_what_each_operator_did() {
    let network = start().await;
    let Network { operators, query, .. } = &network;
    let id = made(query, "select n from t", false).await;
    let job = ended(query, &id).await;
    assert_eq!((&job["state"], &job["rows"]), (&json!("completed"), &json!(2 * ROWS)), "{job}");
    for operator in operators {
        let shares = job["operators"].as_array().unwrap();
        let share = shares.iter().find(|share| share["address"] == operator.network.as_str());
        let share = share.unwrap_or_else(|| panic!("{job}"));
        assert_eq!((&share["state"], &share["rows"]), (&json!("done"), &json!(ROWS)), "{job}");
        assert!(share["bytes"].as_u64().unwrap() > 0 && share["error"].is_null(), "{job}");
    }
    let text = rows(query, &id).await.text().await.unwrap();
    assert_eq!(text.lines().count(), 2 * ROWS);
    for command in ["query status", "job status", "query destination"] {
        let (said, stderr, code) = query.run(&[command]);
        assert_eq!(code, 0, "{stderr}");
        assert!(operators.iter().all(|one| said.contains(&one.network)), "{command}: {said}");
    }
    // The sum is put together of what each of them gives.
    let sum = made(query, "select sum(n) as s, count(*) as c from t", false).await;
    let total = (0..2 * ROWS).sum::<usize>();
    let row = rows(query, &sum).await.text().await.unwrap();
    assert_eq!(row.trim(), format!("{{\"s\":{total},\"c\":{}}}", 2 * ROWS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_a_job_stops_the_work_on_every_operator() {
    let network = start().await;
    let id = made(&network.query, MANY, false).await;
    let mut reader = rows(&network.query, &id).await;
    assert!(!reader.chunk().await.unwrap().unwrap().is_empty());
    let job = told(&network.query, &id).await;
    let operators = job["operators"].as_array().unwrap().len();
    assert_eq!((&job["state"], operators), (&json!("running"), 2), "{job}");
    let (said, stderr, code) = network.query.run(&["job", "stop", &job["job"].to_string()]);
    assert_eq!(code, 0, "{said} {stderr}");
    for node in network.operators.iter().chain([&network.query]) {
        wait_until_idle(node).await;
    }
    assert_eq!(ended(&network.query, &id).await["state"], "cancelled");
    assert!(reader.text().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_that_is_away_fails_the_job_or_is_told() {
    let mut network = start().await;
    let away = network.operators.pop().unwrap();
    let address = away.network.clone();
    drop(away.kill());
    let refused = post(&network.query, "select n from t", false).await;
    let (status, refused) = (refused.status(), refused.json::<Value>().await.unwrap());
    assert_eq!(status, 503, "{refused}");
    assert!(refused["local_msg"].as_str().unwrap().contains(&address), "{refused}");
    let id = made(&network.query, "select n from t", true).await;
    let job = ended(&network.query, &id).await;
    assert_eq!((&job["state"], &job["rows"]), (&json!("completed"), &json!(ROWS)), "{job}");
    let shares = job["operators"].as_array().unwrap();
    let missing = shares.iter().find(|share| share["state"] == "missing").unwrap();
    assert_eq!(missing["address"], address);
    assert!(missing["error"].as_str().unwrap().contains(&address), "{job}");
    // Who reads it is reported, too.
    let url = url(&network.query, &format!("/{id}/rows?mode=stream&batch_rows=100000"));
    let events = Client::new().get(url).send().await.unwrap().text().await.unwrap();
    let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
    assert!(last["missing"][0].as_str().unwrap().contains(&address), "{last}");
}
