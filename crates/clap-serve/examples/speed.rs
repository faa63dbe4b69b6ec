//! How fast calls are: `cargo run --release -p clap-serve --example speed`.
//!
//! A command line of 100 commands is served over HTTP, and asked on one kept-alive connection: for the
//! list of its tools, for a command with a handler, and for one that runs this program again. Beside it,
//! how long it takes to start that program without a server.

#![allow(
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a benchmark prints, and may fail"
)]

use std::{
    error::Error,
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::{Arg, Command, value_parser};
use clap_serve::{CommandExt, Effect, Invocation, Options, Tools};
use mcp_serve::{AllowedOrigins, Catalog, Identity, Limits, Server};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

const PROTOCOL: &str = "2026-07-28";
const GROUPS: [&str; 10] =
    ["component", "worker", "api", "app", "plugin", "cloud", "agent", "deploy", "log", "secret"];
const VERBS: [&str; 10] =
    ["list", "get", "find", "show", "tail", "count", "check", "diff", "plan", "echo"];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    if words.next().is_some() {
        // This is the run of a call.
        println!("{{\"answer\":42}}");
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(measure())?;
    Ok(ExitCode::SUCCESS)
}

fn command() -> Command {
    let verb = |verb: &'static str| {
        Command::new(verb)
            .about("Does something that a model reads a sentence about")
            .arg(Arg::new("name").required(true).help("What it is about"))
            .arg(
                Arg::new("limit")
                    .long("limit")
                    .value_parser(value_parser!(u16))
                    .default_value("20"),
            )
            .arg(Arg::new("format").long("format").value_parser(["json", "text"]))
            .effect(Effect::Read)
    };
    let group = |group: &'static str| Command::new(group).subcommands(VERBS.map(verb));
    Command::new("speed").version("1.0").subcommands(GROUPS.map(group))
}

async fn measure() -> Result<(), Box<dyn Error>> {
    let options = Options::new().handler("component echo", |invocation: Invocation| async move {
        let name = invocation.own_matches().get_one::<String>("name").cloned();
        Ok::<_, std::convert::Infallible>(name)
    });
    let begin = Instant::now();
    let tools = Tools::new(command(), options)?;
    let count = tools.names().count();
    println!("{count} tools generated in {:.1} ms", ms(begin.elapsed()));
    let limits = Limits { page_entries_max: 1000, ..Limits::default() };
    let server = Server::new(Identity::new("speed", "1.0"), limits);
    server.publish(tools.add_to(Catalog::new()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut client = Client::connect(listener.local_addr()?).await?;
    let router = server.router(AllowedOrigins::loopback());
    let serving = server.clone();
    tokio::spawn(async move { mcp_serve::serve_http(&serving, listener, router).await });

    let arguments = json!({ "name": "--not-a-flag", "limit": 3 });
    let call = |name: &str| json!({ "name": name, "arguments": arguments });
    client.measure("tools/list", "tools/list", "", json!({}), 2000).await?;
    client
        .measure(
            "call with a handler",
            "tools/call",
            "component_echo",
            call("component_echo"),
            5000,
        )
        .await?;
    client
        .measure("call that runs a program", "tools/call", "worker_get", call("worker_get"), 500)
        .await?;
    let mut times = Vec::new();
    for _ in 0..500 {
        let begin = Instant::now();
        let program = std::env::current_exe()?;
        tokio::process::Command::new(program).arg("x").output().await?;
        times.push(begin.elapsed());
    }
    tell("the same program without a server", times, 0);
    Ok(())
}

/// A client on one connection.
struct Client(BufReader<TcpStream>);

impl Client {
    async fn connect(address: std::net::SocketAddr) -> Result<Self, Box<dyn Error>> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    async fn measure(
        &mut self,
        what: &str,
        method: &str,
        name: &str,
        params: Value,
        count: usize,
    ) -> Result<(), Box<dyn Error>> {
        let request = request(method, name, params);
        let mut times = Vec::new();
        let mut bytes = 0;
        for _ in 0..count {
            let begin = Instant::now();
            let reply = self.ask(&request).await?;
            times.push(begin.elapsed());
            bytes = reply.len();
            let reply: Value = serde_json::from_slice(&reply)?;
            assert!(reply["result"]["isError"] != true && reply["error"].is_null(), "{reply}");
        }
        tell(what, times, bytes);
        Ok(())
    }

    async fn ask(&mut self, request: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
        self.0.get_mut().write_all(request).await?;
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).await?;
            let line = line.trim_end().to_lowercase();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse()?;
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await?;
        Ok(body)
    }
}

fn request(method: &str, name: &str, mut params: Value) -> Vec<u8> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": PROTOCOL,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "speed", "version": "1" },
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let name = if name.is_empty() { String::new() } else { format!("mcp-name: {name}\r\n") };
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: {PROTOCOL}\r\n\
         mcp-method: {method}\r\n{name}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn tell(what: &str, mut times: Vec<Duration>, bytes: usize) {
    times.sort_unstable();
    let at = |part: f64| ms(times[((times.len() - 1) as f64 * part) as usize]);
    println!("{what:34} p50 {:7.3} ms  p99 {:7.3} ms  {bytes} bytes", at(0.5), at(0.99));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
