//! A client of MCP servers that costs as little as possible: one connection that is kept, messages that
//! are made once. It understands the answers of all servers that are measured: JSON or events, with a
//! length or in chunks.

use std::{
    io::{BufRead, BufReader, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The revision that all servers speak.
const PROTOCOL: &str = "2025-06-18";

/// A session with a server.
pub(super) struct Client {
    address: SocketAddr,
    stream: BufReader<TcpStream>,
    session: Option<String>,
}

/// A message that is ready to be sent.
pub(super) struct Message(Vec<u8>);

/// What was answered.
struct Answer {
    status: String,
    session: Option<String>,
    body: Vec<u8>,
}

impl Client {
    /// Opens a session.
    pub(super) fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let stream = BufReader::with_capacity(1 << 16, stream);
        let mut client = Self { address, stream, session: None };
        let hello = client.message(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": {
                "protocolVersion": PROTOCOL, "capabilities": {},
                "clientInfo": { "name": "bench", "version": "1" },
            },
        }));
        let answer = client.send(&hello)?;
        client.session = answer.session;
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let ready = client.message(&ready);
        client.send(&ready)?;
        Ok(client)
    }

    /// How many tools there are.
    pub(super) fn tools(&mut self) -> Result<usize> {
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
        let list = self.message(&list);
        let answer = reply(&self.send(&list)?.body)?;
        let tools = answer.pointer("/result/tools").and_then(Value::as_array);
        Ok(tools.with_context(|| format!("no tools in {answer}"))?.len())
    }

    /// The message that calls a tool.
    pub(super) fn call(&self, tool: &str, arguments: &Value) -> Message {
        self.message(&json!({
            "jsonrpc": "2.0", "id": 3, "method": "tools/call",
            "params": { "name": tool, "arguments": arguments },
        }))
    }

    /// Sends a message, and gives how long the answer is.
    pub(super) fn ask(&mut self, message: &Message) -> Result<usize> {
        Ok(self.send(message)?.body.len())
    }

    /// Sends a message, and gives the result of the tool. A failure of the tool is an error.
    pub(super) fn result(&mut self, message: &Message) -> Result<Value> {
        let mut answer = reply(&self.send(message)?.body)?;
        let failed = answer.pointer("/result/isError").is_some_and(|failed| failed == true);
        match answer.get_mut("result") {
            Some(result) if !failed => Ok(result.take()),
            _ => bail!("answered with {answer}"),
        }
    }

    fn message(&self, message: &Value) -> Message {
        let body = message.to_string();
        let session = match &self.session {
            Some(id) => format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {PROTOCOL}\r\n"),
            None => String::new(),
        };
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        Message([head.into_bytes(), body.into_bytes()].concat())
    }

    fn send(&mut self, message: &Message) -> Result<Answer> {
        self.stream.get_mut().write_all(&message.0)?;
        let answer = read(&mut self.stream)?;
        if !["200", "202", "204"].contains(&answer.status.as_str()) {
            bail!("status {}: {}", answer.status, String::from_utf8_lossy(&answer.body));
        }
        Ok(answer)
    }
}

/// The message in a body: the body itself, or the last event that is an answer.
fn reply(body: &[u8]) -> Result<Value> {
    if let Ok(message) = serde_json::from_slice(body) {
        return Ok(message);
    }
    let text = String::from_utf8_lossy(body);
    let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut messages = events.filter_map(|data| serde_json::from_str::<Value>(data.trim()).ok());
    let answer = messages.rfind(|message| message.get("id").is_some());
    answer.with_context(|| format!("no answer in {text}"))
}

fn read(stream: &mut impl BufRead) -> Result<Answer> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        bail!("the connection was closed");
    }
    let status = line.split_whitespace().nth(1).unwrap_or_default().to_owned();
    let (mut length, mut in_chunks, mut session) = (0, false, None);
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse()?,
            "transfer-encoding" => in_chunks = value.contains("chunked"),
            "mcp-session-id" => session = Some(value.to_owned()),
            _ => {}
        }
    }
    let body = if in_chunks { chunks(stream)? } else { exactly(stream, length)? };
    Ok(Answer { status, session, body })
}

fn chunks(stream: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let size = line.trim().split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size, 16).context("the answer was cut off")?;
        body.extend(exactly(stream, size)?);
        stream.read_line(&mut String::new())?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn exactly(stream: &mut impl BufRead, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes).context("the answer was cut off")?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: &str) -> (String, Option<String>, String) {
        let mut stream = text.as_bytes();
        let Answer { status, session, body } = read(&mut stream).unwrap();
        assert!(stream.is_empty());
        (status, session, String::from_utf8(body).unwrap())
    }

    #[test]
    fn bodies_have_a_length_or_come_in_chunks() {
        let plain = answers("HTTP/1.1 200 OK\r\nMcp-Session-Id: x\r\nContent-Length: 2\r\n\r\n{}");
        assert_eq!(plain, ("200".into(), Some("x".into()), "{}".into()));
        let chunked =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\n\r\n";
        assert_eq!(answers(chunked), ("200".into(), None, "abc".into()));
        let empty = answers("HTTP/1.1 202 Accepted\r\n\r\n");
        assert_eq!(empty, ("202".into(), None, String::new()));
        assert!(read(&mut &b""[..]).is_err());
    }

    #[test]
    fn an_answer_is_found_among_events() {
        let events =
            b"event: message\ndata: {\"method\": \"x\"}\n\ndata: {\"id\": 3, \"result\": {}}\n\n";
        assert_eq!(reply(events).unwrap(), json!({ "id": 3, "result": {} }));
        assert_eq!(reply(b"{\"id\": 1}").unwrap(), json!({ "id": 1 }));
        assert!(reply(b"nothing").is_err());
    }
}
