//! How many calls a second of the processor serves: `cargo run --release -p mcp-serve --example bench`.
//!
//! The server is a process of its own, so that its processor time is its own. Measured beside it, in the
//! same process: a bare route of axum, as what HTTP itself costs, and rmcp alone, as what the protocol
//! costs without sessions, limits and principals.

use std::{
    io::Write,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use axum::{Router, routing::post};
use mcp_serve::{
    AllowedOrigins, Call, Catalog, Identity, Limits, Outcome, Server, Tool, serve_http,
};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock},
    service::RequestContext,
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
    },
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

const CONNECTIONS: usize = 16;
const SECONDS: u64 = 5;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    match std::env::args().nth(1).as_deref() {
        Some("--serve") => serve().await,
        _ => measure_all().await,
    }
}

async fn serve() -> Result<(), Failure> {
    let limits = Limits { calls_per_second_max: u32::MAX, ..Limits::default() };
    let server = Server::new(Identity::new("bench", "1.0"), limits);
    let echo = |_: Call| async { Ok(Outcome::text("hello")) };
    server.publish(Catalog::new().tool(Tool::new("echo", "Says hello").read_only(), echo));
    let bare = Router::new().route("/bare", post(|_: String| async { "hello" }));
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let sessions = Arc::<LocalSessionManager>::default();
    let alone = StreamableHttpService::new(|| Ok(Alone), sessions, config);
    let alone = Router::new().route_service("/rmcp", alone);
    let router = server.router(AllowedOrigins::loopback()).merge(bare).merge(alone);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{}", listener.local_addr()?)?;
    stdout.flush()?;
    serve_http(&server, listener, router).await?;
    Ok(())
}

/// The same tool on rmcp alone.
#[derive(Clone)]
struct Alone;

impl ServerHandler for Alone {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text("hello")]).into())
    }
}

async fn measure_all() -> Result<(), Failure> {
    let mut server =
        Command::new(std::env::current_exe()?).arg("--serve").stdout(Stdio::piped()).spawn()?;
    let measured = measure_server(&mut server).await;
    server.kill()?;
    server.wait()?;
    measured
}

async fn measure_server(server: &mut Child) -> Result<(), Failure> {
    let mut address = String::new();
    let stdout = server.stdout.take().ok_or("no stdout")?;
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut address)?;
    let address = address.trim();
    let mut stdout = std::io::stdout();
    writeln!(stdout, "{CONNECTIONS} connections, {SECONDS} s each, one thread of the server")?;
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
    let session = begin(address, initialize).await?;
    let call = r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","arguments":{}}}"#;
    let stateless = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers =
        "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\n";
    let loads = [
        ("bare axum", Load::new("/bare", "", "{}")),
        ("rmcp alone, stateless (JSON)", Load::new("/rmcp", headers, stateless)),
        ("tools/call, stateless (JSON)", Load::new("/mcp", headers, stateless)),
        (
            "tools/call, in a session (JSON)",
            Load::new("/mcp", &format!("mcp-session-id: {session}\r\n"), call),
        ),
    ];
    for (name, load) in loads {
        let measured = measure(address, Arc::new(load), server.id()).await?;
        writeln!(stdout, "{name:<32} {measured}")?;
    }
    Ok(())
}

/// Opens a session and gives its id.
async fn begin(address: &str, message: &str) -> Result<String, Failure> {
    let mut connection = Connection::new(address).await?;
    let head = connection.ask(&Load::new("/mcp", "", message), 0).await?;
    let line = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    Ok(line.ok_or("no session")?.to_owned())
}

struct Load {
    path: String,
    headers: String,
    body: String,
}

impl Load {
    fn new(path: &str, headers: &str, body: &str) -> Self {
        Self { path: path.to_owned(), headers: headers.to_owned(), body: body.to_owned() }
    }
}

/// Asks over all connections for a while, and says how it went.
async fn measure(address: &str, load: Arc<Load>, process: u32) -> Result<String, Failure> {
    let (stop, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)));
    let (begin, cpu) = (Instant::now(), cpu_seconds(process));
    let tasks = (0..CONNECTIONS).map(|_| {
        let (load, stop, count) = (load.clone(), stop.clone(), count.clone());
        let address = address.to_owned();
        tokio::spawn(async move {
            let mut connection = Connection::new(&address).await?;
            let mut times = Vec::new();
            while !stop.load(Relaxed) {
                let asked = Instant::now();
                connection.ask(&load, count.fetch_add(1, Relaxed)).await?;
                times.push(asked.elapsed());
            }
            Ok::<_, Failure>(times)
        })
    });
    let tasks: Vec<_> = tasks.collect();
    tokio::time::sleep(Duration::from_secs(SECONDS)).await;
    stop.store(true, Relaxed);
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    let (seconds, cpu) = (begin.elapsed().as_secs_f64(), cpu_seconds(process).zip(cpu));
    times.sort_unstable();
    let p50 = times.get(times.len() / 2).copied().unwrap_or_default();
    let asked = times.len() as f64;
    let per_cpu = cpu.map_or("?".to_owned(), |(now, then)| format!("{:.0}", asked / (now - then)));
    Ok(format!("{:>7.0} /s  {per_cpu:>7} /CPU second  p50 {p50:.1?}", asked / seconds))
}

/// The processor time that a process has used, where the system tells it.
fn cpu_seconds(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse::<f64>().ok());
    // In hundredths of a second, on every Linux there is.
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// A connection that is kept.
struct Connection {
    stream: BufReader<TcpStream>,
    address: String,
    body: Vec<u8>,
}

impl Connection {
    async fn new(address: &str) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (stream, address) = (BufReader::new(stream), address.to_owned());
        Ok(Self { stream, address, body: Vec::new() })
    }

    /// Asks once, reads the whole reply, and gives its head.
    async fn ask(&mut self, load: &Load, id: u64) -> Result<String, Failure> {
        let body = load.body.replace("ID", &id.to_string());
        let request = format!(
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\n{}content-length: {}\r\n\r\n{body}",
            load.path,
            self.address,
            load.headers,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head).await? == 0 {
                return Err("the connection has ended".into());
            }
        }
        if !head.starts_with("HTTP/1.1 200") {
            return Err(head.into());
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        match length {
            Some(length) => self.read(length.trim().parse()?).await?,
            None => while self.chunk().await? > 0 {},
        }
        Ok(head)
    }

    async fn chunk(&mut self) -> Result<usize, Failure> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        let length = usize::from_str_radix(line.trim(), 16)?;
        self.read(length + 2).await?;
        Ok(length)
    }

    async fn read(&mut self, length: usize) -> Result<(), Failure> {
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).await?;
        Ok(())
    }
}
