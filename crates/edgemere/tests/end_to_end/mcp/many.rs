//! Many agents at once, of which most are rude: they do not read, they go away in the middle, they send
//! what is no message. When they are gone, nothing is left of them.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::store;
use crate::support::{Node, wait_for};

/// How many are there at once.
const AGENTS: usize = 200;

/// How often they come. The first times show what a node needs for so many.
const ROUNDS: usize = 8;
const FIRST_ROUNDS: usize = 2;

/// How many of them call at once: a node lets nobody have more than 64 calls under way.
static CALLS: Semaphore = Semaphore::const_new(50);

/// How long an agent waits that gives up.
const GIVES_UP_AFTER: Duration = Duration::from_millis(20);

/// How much more memory may be in use after the other rounds: less than 14 KB for each of their sessions.
const MORE_KB_MAX: u64 = 16 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_many_agents() {
    let node = Node::start(&[]);
    store(&node, "t", 2000).await;
    let mut after_first = 0;
    for round in 1..=ROUNDS {
        let agents = (0..AGENTS).map(|number| rude(node.url(), number));
        join_all(agents).await;
        tokio::task::block_in_place(|| {
            wait_for("the end of all", || is_quiet(&node).then_some(()));
        });
        if round == FIRST_ROUNDS {
            after_first = memory_kb(&node);
        }
    }
    let at_the_end = memory_kb(&node);
    assert!(
        at_the_end < after_first + MORE_KB_MAX,
        "{after_first} KB after {FIRST_ROUNDS} rounds, {at_the_end} KB after {ROUNDS}"
    );
}

/// What an agent does until it ends its session.
async fn rude(node: String, number: usize) {
    let agent = Rude::begin(node).await;
    let _turn = CALLS.acquire().await.unwrap();
    match number % 5 {
        // It calls a tool, and reads the answer.
        0 => {
            let answer = agent.call("node_status", json!({}), None).await;
            assert!(answer.text().await.unwrap().contains("running"));
        }
        // It asks for a stream, reads its beginning, and goes.
        1 => {
            let sql = json!({ "database": "d", "sql": "select n from t", "stream": true });
            let mut answer = agent.call("sql", sql, Some(number)).await;
            assert!(answer.chunk().await.unwrap().is_some());
        }
        // It does not wait for the answer of a query that takes long.
        2 => {
            let sql = "select count(*) from t a, t b, t c, t d where a.n + b.n + c.n + d.n = 5";
            let call = agent.call("sql", json!({ "database": "d", "sql": sql }), None);
            // On a busy machine the head of a stream may have come by then; the answer has not.
            if let Ok(answer) = tokio::time::timeout(GIVES_UP_AFTER, call).await {
                assert_eq!(answer.headers()["content-type"], "text/event-stream");
            }
        }
        // It keeps a stream open that it never reads.
        3 => {
            let stream = agent.listen().await;
            let sql = json!({ "database": "d", "sql": "select count(*) from t" });
            let answer = agent.call("sql", sql, None).await;
            assert!(answer.text().await.unwrap().contains("[[2000]]"));
            drop(stream);
        }
        // It sends what is no message.
        _ => {
            let request = agent.client.post(&agent.url).header("mcp-session-id", &agent.session);
            let answer = request.header("content-type", "application/json").body("{").send();
            assert_eq!(answer.await.unwrap().status(), 400);
        }
    }
    agent.end().await;
}

struct Rude {
    client: Client,
    url: String,
    session: String,
}

impl Rude {
    async fn begin(node: String) -> Self {
        let (client, url) = (Client::new(), format!("{node}/mcp"));
        let mut agent = Self { client, url, session: String::new() };
        let about = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "rude", "version": "1" },
        });
        let answer = agent.send("initialize", about).await;
        answer.headers()["mcp-session-id"].to_str().unwrap().clone_into(&mut agent.session);
        agent
    }

    async fn call(&self, tool: &str, arguments: Value, progress: Option<usize>) -> Response {
        let mut params = json!({ "name": tool, "arguments": arguments });
        if let Some(token) = progress {
            params["_meta"] = json!({ "progressToken": token });
        }
        self.send("tools/call", params).await
    }

    async fn send(&self, method: &str, params: Value) -> Response {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut request = self.client.post(&self.url).json(&message);
        request = request.header("accept", "application/json, text/event-stream");
        if !self.session.is_empty() {
            request = request.header("mcp-session-id", &self.session);
        }
        request.send().await.unwrap()
    }

    async fn listen(&self) -> Response {
        let request = self.client.get(&self.url).header("mcp-session-id", &self.session);
        request.header("accept", "text/event-stream").send().await.unwrap()
    }

    async fn end(self) {
        let request = self.client.delete(&self.url).header("mcp-session-id", &self.session);
        assert!(request.send().await.unwrap().status().is_success());
    }
}

/// Whether no call is under way, and there are no sessions.
fn is_quiet(node: &Node) -> bool {
    let metrics = tokio::runtime::Handle::current().block_on(async {
        reqwest::get(format!("{}/metrics", node.url())).await.unwrap().text().await.unwrap()
    });
    let figure = |name: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("{name} in {metrics}")).parse::<u64>().unwrap()
    };
    figure("edgemere_mcp_calls_open") == 0 && figure("edgemere_mcp_sessions") == 0
}

/// The memory that is the process's own.
fn memory_kb(node: &Node) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", node.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
