//! What the clients are driven against: a network of four nodes, asked at its query node, and a folder
//! of data in which a client starts a node of its own.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::rows::{self, DATABASE, ROWS, TABLE};
use crate::{
    cargo,
    http::Client,
    interrupt,
    node::{COMPANY, Joining, Node, Plan, Spec},
};

/// The tools that come with the product. Clients get a copy, because they change it.
const TOOLS: &str = "crates/edgemere-tools/tools.yaml";
/// How long the query node has until it sees the rows of the operators.
const KNOWN_MAX: Duration = Duration::from_secs(60);
/// How often it is asked.
const POLL: Duration = Duration::from_millis(50);
/// The name of the node that clients start themselves.
const OWN: &str = "own";

/// The ways to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Transport {
    /// A process of the client's with a node in it.
    Stdio,
    /// A process of the client's that asks a node elsewhere.
    Remote,
    Http,
    Sse,
}

impl Transport {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Remote => "stdio to another node",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }

    /// What clients call it, who know nothing of what is behind stdin and stdout.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Stdio | Self::Remote => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// Everything that clients are driven against.
pub(super) struct Stage {
    pub(super) binary: PathBuf,
    query: Node,
    operators: [Node; 2],
    _master: Node,
    /// Of the query node.
    tools: PathBuf,
    /// The folder of a node that does not run.
    own: TempDir,
    _tools_folder: TempDir,
}

impl Stage {
    pub(super) fn start(binary: &Path) -> Result<Self> {
        let tools_folder = TempDir::new()?;
        let tools = tools_folder.path().join("tools.yaml");
        copy_tools(&tools)?;
        let master = Node::join(binary, Spec { name: "master", role: "master" }, Joining::First)?;
        let of = Joining::Master(master.bound.network);
        let operator = |name| Node::join(binary, Spec { name, role: "operator" }, of);
        let operators = [operator("operator1")?, operator("operator2")?];
        let spec = Spec { name: "query", role: "query" };
        let plan = Plan { spec, joining: of, tools: Some(tools.clone().into()) };
        let query = Node::run(binary, plan)?;
        let halves = [0..ROWS / 2, ROWS / 2..ROWS];
        for (operator, numbers) in operators.iter().zip(halves) {
            rows::store(&operator.url(), numbers)?;
        }
        wait_for_rows(&query)?;
        let (binary, own) = (binary.to_owned(), own(binary)?);
        Ok(Self {
            binary,
            query,
            operators,
            _master: master,
            tools,
            own,
            _tools_folder: tools_folder,
        })
    }

    /// Where a server is over HTTP.
    pub(super) fn url(&self, transport: Transport) -> String {
        let path = if transport == Transport::Sse { "sse" } else { "mcp" };
        format!("{}/{path}", self.query.url())
    }

    /// Where the query node's REST service is.
    pub(super) fn rest_url(&self) -> String {
        self.query.url()
    }

    /// What starts a server on stdin and stdout.
    pub(super) fn args(&self, transport: Transport) -> Vec<String> {
        let (data, node) = (self.own.path().join("data").display().to_string(), self.query.url());
        let tools = self.tools(transport).display().to_string();
        // What clients do wrong on purpose is not worth a line of the log.
        let common = ["mcp", "--log", "error", "--tools", &tools];
        let more = match transport {
            Transport::Remote => vec!["--node", &node],
            _ => vec!["--name", OWN, "--company", COMPANY, "--data", &data],
        };
        common.into_iter().chain(more).map(str::to_owned).collect()
    }

    /// The file of tools that a server has.
    fn tools(&self, transport: Transport) -> PathBuf {
        match transport {
            Transport::Stdio | Transport::Remote => self.own.path().join("tools.yaml"),
            Transport::Http | Transport::Sse => self.tools.clone(),
        }
    }

    /// What a script needs to know to walk over a transport.
    pub(super) fn settings(&self, transport: Transport, protocol: &str) -> Value {
        let own = self.own.path();
        let (rest, nodes) = match transport {
            // The node has its ports once the client has started it, and says so in its data.
            Transport::Stdio => (None, vec![OWN]),
            _ => {
                let [first, _] = &self.operators;
                (Some(first.url()), vec!["operator1", "operator2"])
            }
        };
        json!({
            "transport": transport.kind(),
            "protocol": protocol,
            "url": self.url(transport),
            "command": self.binary,
            "args": self.args(transport),
            "cwd": own,
            "data": own.join("data"),
            "rest": rest,
            "nodes": nodes,
            "tools": self.tools(transport),
            "database": DATABASE,
            "table": TABLE,
            "rows": ROWS,
            "calls": calls(),
        })
    }
}

/// Calls of the tools that nothing else of a walk needs, so that clients see the answer of each.
fn calls() -> Value {
    let table = json!({ "database": DATABASE, "table": TABLE });
    let spans = json!({
        "database": DATABASE, "table": TABLE, "time_column": "timestamp", "unit": "year",
        "select": ["count(*)"],
    });
    let sql = format!("select count(*) from {TABLE}");
    json!([
        ["list_database_schema", {}],
        ["sample", table],
        ["query_with_increments", spans],
        ["explain", { "database": DATABASE, "sql": sql }],
        ["list_nodes", {}],
        ["data_location", table],
        ["monitor_nodes", {}],
        ["list_policies", { "type": "table" }],
        ["node_status", {}],
        ["server_info", {}],
        ["job_status", {}],
        ["help", {}],
    ])
}

/// The folder of a node that has the rows and does not run.
fn own(binary: &Path) -> Result<TempDir> {
    let spec = Spec { name: OWN, role: "master,operator,query" };
    let node = Node::join(binary, spec, Joining::First)?;
    rows::store(&node.url(), 0..ROWS)?;
    let folder = node.end()?;
    copy_tools(&folder.path().join("tools.yaml"))?;
    Ok(folder)
}

fn copy_tools(to: &Path) -> Result<()> {
    let tools = fs::read_to_string(cargo::root().join(TOOLS))?;
    fs::write(to, tools).with_context(|| format!("cannot write {}", to.display()))
}

/// Waits until the query node has heard of both operators and of what they hold.
fn wait_for_rows(query: &Node) -> Result<()> {
    let command = format!("sql {DATABASE} format = mcp select count(*) as n from {TABLE}");
    let headers = [("command".to_owned(), command), ("destination".to_owned(), "network".into())];
    let begin = Instant::now();
    while begin.elapsed() < KNOWN_MAX {
        interrupt::check()?;
        let answer = Client::new().send("GET", &query.url(), &headers, "")?;
        let rows: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        if rows.pointer("/0/n").and_then(Value::as_u64) == u64::try_from(ROWS).ok() {
            return Ok(());
        }
        thread::sleep(POLL);
    }
    bail!("the query node does not see {ROWS} rows after {} s", KNOWN_MAX.as_secs())
}
