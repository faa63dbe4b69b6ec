//! The network that the tests ask: a master, two operators with rows of their own, and a query node.

use std::fmt::Write;
use std::time::{Duration, Instant};

use reqwest::{Client, RequestBuilder, Response};
use serde_json::Value;

use crate::member::{Member, own_address};
use crate::support::Node;

/// How long anything may take before it counts as hanging. What is promised is far below.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often something is looked at that is waited for.
const PAUSE: Duration = Duration::from_millis(20);

/// How many rows the table "t" has on each operator.
pub(super) const ROWS: usize = 60_000;

/// How many rows the table "w" has on each operator, and how wide they are, in bytes: three times
/// what is under way at most, which is some blocks of 8192 rows and a few megabytes.
pub(super) const WIDE_ROWS: usize = 240_000;
const WIDTH: usize = 200;

/// How many of them are stored at once.
const STORED_ROWS: usize = 60_000;

/// A query whose rows pass through, and are far too many to be under way all at once: as long as
/// nobody reads them, operators have work to do.
pub(super) const WIDE: &str = "select n, wide from w";

/// The nodes.
pub(super) struct Net {
    pub(super) master: Member,
    pub(super) one: Member,
    pub(super) two: Member,
    pub(super) query: Member,
}

impl Net {
    /// Starts all nodes, without rows.
    pub(super) fn start() -> Self {
        let master = own_address();
        let follower = |name, role| Member::new(name, role, &own_address(), Some(&master));
        let mut net = Self {
            master: Member::new("m", "master", &master, None),
            one: follower("one", "operator"),
            two: follower("two", "operator"),
            query: follower("q", "query"),
        };
        net.members().into_iter().for_each(Member::start);
        net
    }

    /// Starts all nodes, with the rows of the table "t" on the operators.
    pub(super) async fn with_rows() -> Self {
        let net = Self::start();
        store(net.one.up(), "t", &rows(0)).await;
        store(net.two.up(), "t", &rows(ROWS)).await;
        net.knows("t").await;
        net
    }

    /// The same, with the rows of the table "w" too.
    pub(super) async fn with_wide_rows() -> Self {
        let net = Self::with_rows().await;
        for from in (0..WIDE_ROWS).step_by(STORED_ROWS) {
            let mut csv = String::from("n,wide\n");
            for n in from..from + STORED_ROWS {
                // Writing to a text does not fail.
                let _ = writeln!(csv, "{n},x{n:0>WIDTH$}");
            }
            tokio::join!(store(net.one.up(), "w", &csv), store(net.two.up(), "w", &csv));
        }
        net.knows("w").await;
        net
    }

    /// All nodes, in the order in which they start.
    pub(super) fn members(&mut self) -> [&mut Member; 4] {
        [&mut self.master, &mut self.one, &mut self.two, &mut self.query]
    }

    /// Waits until the query node knows that both operators hold a table.
    pub(super) async fn knows(&self, table: &str) {
        let command = format!("query explain sql d select * from {table}");
        until("both operators", async || {
            let (status, text) = text(self.ask(&command)).await;
            let holds = |operator: &Member| text.contains(&operator.network);
            (status == 200 && holds(&self.one) && holds(&self.two)).then_some(())
        })
        .await;
    }

    /// A command for the network, to the query node.
    pub(super) fn ask(&self, command: &str) -> RequestBuilder {
        ask(self.query.up(), command).header("destination", "network")
    }

    /// A query of the network whose rows come in a format.
    pub(super) fn sql(&self, format: &str, sql: &str) -> RequestBuilder {
        self.ask(&format!("sql d format = {format} and stat = false {sql}"))
    }

    /// The rows of a query that must be answered whole.
    pub(super) async fn rows(&self, sql: &str) -> Value {
        let (status, text) = text(self.sql("json:list", sql)).await;
        assert_eq!(status, 200, "{sql}: {text}");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{sql}: {text}"))
    }

    /// What a query fails with, which must name an operator.
    pub(super) async fn error(&self, sql: &str, operator: &Member) -> Value {
        let (status, text) = text(self.sql("json", sql)).await;
        assert_eq!(status, 503, "{text}");
        let error: Value = serde_json::from_str(&text).unwrap();
        names(&error, operator);
        error
    }

    /// The rows and the statistics of a query that does without operators that are away.
    pub(super) async fn subset(&self, sql: &str) -> (Value, Value) {
        let request = self.ask(&format!("sql d format = json {sql}")).header("subset", "true");
        let (status, text) = text(request).await;
        assert_eq!(status, 200, "{text}");
        let reply: Value = serde_json::from_str(&text).unwrap();
        (reply["Query"].clone(), reply["Statistics"][0].clone())
    }

    /// Asserts that the rows of "t" are all there.
    pub(super) async fn is_whole(&self) {
        let sum = (2 * ROWS) * (2 * ROWS - 1) / 2;
        let whole = serde_json::json!([{ "c": 2 * ROWS, "s": sum }]);
        assert_eq!(self.rows("select count(*) as c, sum(n) as s from t").await, whole);
    }

    /// Begins to read rows of which there are more than can be under way.
    pub(super) async fn begin(&self, format: &str) -> Response {
        let mut response = self.sql(format, WIDE).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.chunk().await.unwrap().is_some());
        response
    }
}

/// Asserts that an error names an operator, by its name and its address.
pub(super) fn names(error: &Value, operator: &Member) {
    let told = error.to_string();
    assert!(told.contains(operator.name) && told.contains(&operator.network), "{told}");
}

/// A command, to a node. What is not answered in time fails the test.
pub(super) fn ask(node: &Node, command: &str) -> RequestBuilder {
    Client::new().get(node.url()).timeout(PATIENCE).header("command", command)
}

/// The status of an answer, and the whole of it.
pub(super) async fn text(request: RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Waits until something is so.
pub(super) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited too long for {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Stores CSV in a table of the database "d".
pub(super) async fn store(node: &Node, table: &str, csv: &str) {
    let url = format!("{}/api/v1/ingest/d/{table}", node.url());
    let request = Client::new().post(url).header("content-type", "text/csv");
    let (status, text) = text(request.body(csv.to_owned())).await;
    assert_eq!(status, 200, "{text}");
}

/// Rows of the table "t", from a number on. Their values add up exactly, in any order.
pub(super) fn rows(from: usize) -> String {
    let mut csv = String::from("n,device,value\n");
    for n in from..from + ROWS {
        // Writing to a text does not fail.
        let _ = writeln!(csv, "{n},sensor-{},{}", n % 7, (n * 37 % 1000) as f64 / 4.0 + 0.25);
    }
    csv
}

/// How many queries, or parts of queries of others, run on a node.
pub(super) async fn running(node: &Node) -> u64 {
    let (_, metrics) = text(Client::new().get(format!("{}/metrics", node.url()))).await;
    let line = metrics.lines().find_map(|line| line.strip_prefix("edgemere_queries_running "));
    line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
}
