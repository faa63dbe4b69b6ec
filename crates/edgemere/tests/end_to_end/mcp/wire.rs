//! One client for all ways to a node: messages in, messages out.

use std::process::Stdio;
use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

use super::stateless;
use crate::support::{Node, edgemere};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a client is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Streamable HTTP in a session.
    Session,
    /// Streamable HTTP, each request alone.
    Stateless,
    /// HTTP+SSE.
    Sse,
    /// HTTP+SSE, where EdgeLake has it.
    EdgeLakeSse,
    /// `edgemere mcp`, with a node inside.
    Stdio,
    /// `edgemere mcp --node`.
    Remote,
}

/// A client that is connected.
pub(super) struct Wire {
    how: How,
    client: Client,
    url: String,
    session: Option<String>,
    process: Option<(Child, ChildStdin)>,
    sender: mpsc::UnboundedSender<Value>,
    received: mpsc::UnboundedReceiver<Value>,
    number: u64,
}

impl Wire {
    /// Connects to a node.
    pub(super) async fn to(node: &Node, tools: &str, how: How) -> Self {
        match how {
            How::Session | How::Stateless => Self::new(how, format!("{}/mcp", node.url())),
            How::Sse => Self::sse(how, &node.url(), "/sse").await,
            How::EdgeLakeSse => Self::sse(how, &node.url(), "/mcp/sse").await,
            How::Remote | How::Stdio => {
                let args = ["mcp", "--tools", tools, "--node", &node.http];
                Self::process(how, edgemere(node.folder.path(), &args))
            }
        }
    }

    /// Starts a process, and talks to it over its stdin and stdout.
    pub(super) fn process(how: How, command: std::process::Command) -> Self {
        let mut command = Command::from(command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let wire = Self { process: Some((child, stdin)), ..Self::new(how, String::new()) };
        let sender = wire.sender.clone();
        tokio::spawn(async move {
            let mut lines = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        wire
    }

    async fn sse(how: How, node: &str, path: &str) -> Self {
        let mut wire = Self::new(how, String::new());
        let reply = wire.client.get(format!("{node}{path}")).send().await.unwrap();
        let (told, mut endpoint) = mpsc::unbounded_channel();
        tokio::spawn(read_events(reply, wire.sender.clone(), told));
        let endpoint = tokio::time::timeout(PATIENCE, endpoint.recv()).await.unwrap().unwrap();
        wire.url = format!("{node}{endpoint}");
        wire
    }

    fn new(how: How, url: String) -> Self {
        let (sender, received) = mpsc::unbounded_channel();
        let (client, session, process) = (Client::new(), None, None);
        Self { how, client, url, session, process, sender, received, number: 0 }
    }

    /// Introduces itself, where that is how it is done.
    pub(super) async fn begin(&mut self) {
        if self.how == How::Stateless {
            return;
        }
        let about = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = self.ask("initialize", about).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "edgemere", "{answer}");
        self.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }

    /// The answer to a request.
    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let number = self.number;
        self.send(json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params }))
            .await;
        loop {
            let message = tokio::time::timeout(PATIENCE, self.received.recv()).await;
            let message = message.unwrap().unwrap();
            if message["id"] == number {
                return message;
            }
        }
    }

    async fn send(&mut self, message: Value) {
        match self.how {
            How::Stdio | How::Remote => {
                let (_, stdin) = self.process.as_mut().unwrap();
                stdin.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            }
            How::Sse | How::EdgeLakeSse => {
                let reply = self.client.post(&self.url).json(&message).send().await.unwrap();
                assert_eq!(reply.status(), 202);
            }
            How::Stateless => {
                let (method, params) = (message["method"].clone(), message["params"].clone());
                let method = method.as_str().unwrap();
                let request = stateless(&self.client, &self.url, method, params, &message["id"]);
                let reply = request.send().await.unwrap();
                let _ = self.sender.send(reply.json().await.unwrap());
            }
            How::Session => self.send_in_session(&message).await,
        }
    }

    async fn send_in_session(&mut self, message: &Value) {
        let mut request = self.client.post(&self.url);
        request = request.header("accept", "application/json, text/event-stream").json(message);
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let reply = request.send().await.unwrap();
        if let Some(session) = reply.headers().get("mcp-session-id") {
            self.session = Some(session.to_str().unwrap().to_owned());
        }
        let kind =
            reply.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
        match kind.as_deref() {
            Some("text/event-stream") => {
                let (told, _) = mpsc::unbounded_channel();
                read_events(reply, self.sender.clone(), told).await;
            }
            Some(_) => _ = self.sender.send(reply.json().await.unwrap()),
            None => assert_eq!(reply.status(), 202),
        }
    }
}

/// Reads events until there are no more: messages, and the address that they say messages go to.
async fn read_events(
    mut reply: Response,
    messages: mpsc::UnboundedSender<Value>,
    endpoint: mpsc::UnboundedSender<String>,
) {
    let mut text = String::new();
    while let Ok(Some(chunk)) = reply.chunk().await {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n") {
            let field = |name: &str| {
                let lines = event.lines().filter_map(|line| line.strip_prefix(name));
                lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
            };
            let data = field("data:");
            match field("event:").as_str() {
                "endpoint" => _ = endpoint.send(data),
                _ if !data.is_empty() => _ = messages.send(serde_json::from_str(&data).unwrap()),
                _ => {}
            }
            text = rest.to_owned();
        }
    }
}
