//! Sessions under stress: readers that are slow or gone, connections that break, and what is left of
//! them afterwards.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]

mod common;

use std::{sync::Arc, time::Duration};

use axum::{Router, body::Body};
use common::{
    http::{
        Events, ask, ask_as, in_session, initialize, is_json, json_of, open, request, stateless,
    },
    wire::{How, Wire},
};
use mcp_serve::{
    AllowedOrigins, Call, Catalog, Identity, Limits, Outcome, Server, Tool, serve_http,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

fn start(limits: Limits) -> (Server, Router) {
    let server = common::server(limits);
    let router = server.router(AllowedOrigins::loopback());
    (server, router)
}

fn call(id: i64, tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": id } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

fn told(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// A call whose reader has read nothing yet.
async fn begin(router: &Router, session: &str, message: &Value) -> Events {
    let response = ask_as(router, "alice", in_session("/mcp", Some(session), message)).await;
    assert_eq!(response.status(), 200);
    Events::of(response)
}

#[tokio::test]
async fn an_unread_stream_blocks_no_other_call_of_its_session() {
    let (server, router) = start(Limits { unread_messages_max: 4, ..Limits::default() });
    let session = open(&router, "/mcp", "alice").await;
    let mut unread = begin(&router, &session, &call(1, "count", json!({ "to": 1000 }))).await;
    common::until("the call is active", || server.metrics().calls_open == 1).await;
    for id in 2..50 {
        let mut events = begin(&router, &session, &call(id, "echo", json!({ "text": "hi" }))).await;
        assert_eq!(events.message().await["result"]["content"][0]["text"], "hi");
    }
    // It waits for its reader, and loses nothing.
    for number in 1..=1000 {
        assert_eq!(unread.message().await["params"]["progress"], f64::from(number));
    }
    assert_eq!(unread.message().await["result"]["isError"], false);
}

#[tokio::test]
async fn who_never_reads_is_cut_off() {
    let unread_time_max = Duration::from_millis(50);
    let limits = || Limits { unread_messages_max: 4, unread_time_max, ..Limits::default() };
    let (server, router) = start(limits());
    let session = open(&router, "/mcp", "alice").await;
    let _unread = begin(&router, &session, &call(1, "count", json!({ "to": 1000 }))).await;
    common::until("it is cut off", || server.metrics().streams_cut > 0).await;
    common::until("its call has ended", || server.metrics().calls_open == 0).await;
    let mut events = begin(&router, &session, &call(2, "echo", json!({}))).await;
    assert_eq!(events.message().await["result"]["isError"], false);
    // The same without a session.
    let (server, router) = start(limits());
    let _unread = ask(&router, stateless("/mcp", call(1, "count", json!({ "to": 1000 })))).await;
    common::until("it is cut off", || server.metrics().calls_cancelled == 1).await;
    // Over SSE there is one stream for all: the session goes with it.
    let (server, router) = start(limits());
    let get = request("GET", "/sse").body(Body::empty()).unwrap();
    let mut events = Events::of(ask(&router, get).await);
    let address = events.next().await.unwrap().data;
    for message in [initialize("2024-11-05"), call(1, "count", json!({ "to": 1000 }))] {
        assert_eq!(ask(&router, in_session(&address, None, &message)).await.status(), 202);
    }
    common::until("its session has ended", || server.metrics().sessions_open == 0).await;
    assert_eq!(server.metrics().streams_cut, 1);
}

#[tokio::test]
async fn an_answer_with_nothing_before_it_comes_alone() {
    let (_server, router) = start(Limits { stream_after: common::PATIENCE, ..Limits::default() });
    let session = open(&router, "/mcp", "alice").await;
    let ask = |message: Value| {
        let (request, router) = (in_session("/mcp", Some(&session), &message), router.clone());
        async move { ask_as(&router, "alice", request).await }
    };
    let answer = ask(call(1, "echo", json!({ "text": "hi" }))).await;
    assert!(is_json(&answer));
    let (status, answer) = json_of(answer).await;
    assert_eq!((status.as_u16(), &answer["id"]), (200, &json!(1)));
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
    let fault = ask(call(2, "nothing", json!({}))).await;
    assert!(is_json(&fault));
    assert_eq!(json_of(fault).await.1["error"]["code"], -32602);
    assert!(!is_json(&ask(call(3, "count", json!({ "to": 3 }))).await));
    // Of what was answered nothing is left: its id may come again.
    let again = ask(call(1, "echo", json!({}))).await;
    assert_eq!(json_of(again).await.0, 200);
}

#[tokio::test]
async fn without_patience_every_answer_has_a_stream() {
    let stream_after = Duration::ZERO;
    let (_server, router) = start(Limits { stream_after, ..Limits::default() });
    let session = open(&router, "/mcp", "alice").await;
    // One that is there at once would be taken alone now and then, if it were looked for.
    for id in 1..=200 {
        let echo = in_session("/mcp", Some(&session), &call(id, "echo", json!({ "text": "hi" })));
        let response = ask_as(&router, "alice", echo).await;
        assert!(!is_json(&response), "the answer to {id} came alone");
        assert_eq!(Events::of(response).message().await["id"], id);
    }
}

#[tokio::test]
async fn an_answer_that_takes_its_time_has_a_stream() {
    let stream_after = Duration::from_millis(1);
    let (server, router) = start(Limits { stream_after, ..Limits::default() });
    let session = open(&router, "/mcp", "alice").await;
    let wait = in_session("/mcp", Some(&session), &call(1, "wait", json!({})));
    let response = ask_as(&router, "alice", wait).await;
    assert!(!is_json(&response));
    // It begins with the event that says how to come back.
    let first = Events::of(response).next().await.unwrap();
    assert!(first.data.is_empty() && !first.id.is_empty(), "{first:?}");
    common::until("the call is active", || server.metrics().calls_open == 1).await;
}

#[tokio::test]
async fn who_loses_the_connection_goes_on_where_it_was() {
    let (_server, router) = start(Limits::default());
    let session = open(&router, "/mcp", "alice").await;
    let mut events = begin(&router, &session, &call(1, "count", json!({ "to": 10 }))).await;
    let mut last = String::new();
    for _ in 0..4 {
        last = events.next().await.unwrap().id;
    }
    drop(events);
    let resume = |id: String| {
        let get = request("GET", "/mcp").header("mcp-session-id", &session);
        let get = get.header("last-event-id", id).body(Body::empty()).unwrap();
        let router = router.clone();
        async move { Events::of(ask_as(&router, "alice", get).await) }
    };
    let mut events = resume(last).await;
    // The first event was the one that says how to come back: three of the ten have been read.
    for number in 4..=10 {
        assert_eq!(events.message().await["params"]["progress"], f64::from(number));
    }
    assert_eq!(events.message().await["id"], 1);
    assert!(events.try_message().await.is_none());
}

#[tokio::test]
async fn a_call_that_is_cancelled_stops_and_is_not_answered() {
    for how in [How::Pipe, How::Sse, How::EdgeLakeSse, How::Streamable] {
        let server = common::server(Limits::default());
        let mut wire = Wire::connect(&server, how).await;
        wire.send(initialize("2025-06-18")).await;
        wire.receive().await;
        wire.send(call(7, "wait", json!({}))).await;
        common::until("the call is active", || server.metrics().calls_open == 1).await;
        wire.send(told("notifications/cancelled", json!({ "requestId": 7 }))).await;
        common::until("it has stopped", || server.metrics().calls_open == 0).await;
        assert_eq!(server.metrics().calls_cancelled, 1, "{how:?}");
        wire.send(call(8, "echo", json!({}))).await;
        assert_eq!(wire.receive().await["id"], 8, "{how:?}");
    }
}

/// Who goes away has cancelled nothing: what a call changes is changed whole, or not at all.
#[tokio::test]
async fn a_call_whose_connection_is_lost_is_still_carried_out() {
    let (begun, goes_on) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let (tell, wait) = (begun.clone(), goes_on.clone());
    let slow = move |_: Call| {
        let (tell, wait) = (tell.clone(), wait.clone());
        async move {
            tell.notify_one();
            wait.notified().await;
            Ok(Outcome::text("done"))
        }
    };
    let server = Server::new(Identity::new("tested", "1"), Limits::default());
    server.publish(Catalog::new().tool(Tool::new("slow", "Takes its time"), slow));
    let router = server.router(AllowedOrigins::loopback());
    let session = open(&router, "/mcp", "alice").await;
    let message = in_session("/mcp", Some(&session), &call(1, "slow", json!({})));
    let asks = tokio::spawn(async move { ask_as(&router, "alice", message).await });
    common::soon(begun.notified()).await;
    asks.abort();
    assert!(asks.await.unwrap_err().is_cancelled());
    assert_eq!(server.metrics().calls_open, 1);
    goes_on.notify_one();
    common::until("it has ended", || server.metrics().calls_open == 0).await;
    assert_eq!(server.metrics().calls_cancelled, 0);
}

#[tokio::test]
async fn a_call_that_nobody_comes_back_for_is_cancelled() {
    let unread_time_max = Duration::from_millis(50);
    let (server, router) = start(Limits { unread_time_max, ..Limits::default() });
    let session = open(&router, "/mcp", "alice").await;
    let message = in_session("/mcp", Some(&session), &call(1, "wait", json!({})));
    let asks = tokio::spawn(async move { ask_as(&router, "alice", message).await });
    common::until("the call is active", || server.metrics().calls_open == 1).await;
    asks.abort();
    common::until("it has stopped", || server.metrics().calls_open == 0).await;
    assert_eq!((server.metrics().calls_cancelled, server.metrics().streams_cut), (1, 1));
}

#[tokio::test]
async fn the_stream_of_a_call_ends_when_it_is_cancelled() {
    let (server, router) = start(Limits::default());
    let session = open(&router, "/mcp", "alice").await;
    let mut events = begin(&router, &session, &call(1, "wait", json!({}))).await;
    let cancel = told("notifications/cancelled", json!({ "requestId": 1 }));
    let cancel = ask_as(&router, "alice", in_session("/mcp", Some(&session), &cancel)).await;
    assert_eq!(cancel.status(), 202);
    assert!(events.try_message().await.is_none());
    assert_eq!(server.metrics().calls_cancelled, 1);
    // Nothing is left of it: its id may come again.
    let mut again = begin(&router, &session, &call(1, "echo", json!({}))).await;
    assert_eq!(again.message().await["id"], 1);
}

/// What is not plain goes through rmcp, with the same answer.
#[tokio::test]
async fn a_request_that_names_its_revision_is_answered_too() {
    let (_server, router) = start(Limits::default());
    let session = open(&router, "/mcp", "alice").await;
    let mut echo = call(1, "echo", json!({ "text": "hi" }));
    echo["params"]["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2025-11-25" });
    let mut message = in_session("/mcp", Some(&session), &echo);
    message.headers_mut().insert("mcp-protocol-version", "2025-11-25".parse().unwrap());
    let mut events = Events::of(ask_as(&router, "alice", message).await);
    assert_eq!(events.message().await["result"]["content"][0]["text"], "hi");
}

#[tokio::test]
async fn a_request_whose_id_is_under_way_is_refused() {
    let (server, router) = start(Limits::default());
    let session = open(&router, "/mcp", "alice").await;
    let _first = begin(&router, &session, &call(1, "wait", json!({}))).await;
    common::until("the call is active", || server.metrics().calls_open == 1).await;
    let again = in_session("/mcp", Some(&session), &call(1, "echo", json!({})));
    let (status, reply) = json_of(ask_as(&router, "alice", again).await).await;
    assert_eq!((status.as_u16(), &reply["error"]["code"]), (400, &json!(-32600)));
}

#[tokio::test]
async fn sessions_that_nobody_uses_expire() {
    let session_idle_max = Duration::from_secs(1);
    let (server, router) = start(Limits { session_idle_max, ..Limits::default() });
    let session = open(&router, "/mcp", "alice").await;
    let listened = open(&router, "/mcp", "alice").await;
    let listen = request("GET", "/mcp").header("mcp-session-id", &listened);
    let stream = ask_as(&router, "alice", listen.body(Body::empty()).unwrap()).await;
    common::until("one has expired", || server.metrics().sessions_expired == 1).await;
    let late = in_session("/mcp", Some(&session), &call(1, "echo", json!({})));
    assert_eq!(ask_as(&router, "alice", late).await.status(), 404);
    assert_eq!(server.metrics().sessions_open, 1);
    drop(stream);
    common::until("both have expired", || server.metrics().sessions_expired == 2).await;
}

#[tokio::test]
async fn a_pipe_answers_what_is_under_way_when_it_ends() {
    let server = common::server(Limits { body_bytes_max: 2000, ..Limits::default() });
    let mut wire = Wire::connect(&server, How::Pipe).await;
    for (line, code) in [("{", -32700), ("nonsense", -32700), ("{}", -32600)] {
        wire.write_line(line).await;
        let answer = wire.receive().await;
        assert_eq!((&answer["error"]["code"], answer.get("id")), (&json!(code), None), "{line}");
    }
    wire.write_line("").await;
    wire.write_line(&"x".repeat(5000)).await;
    assert_eq!(wire.receive().await["error"]["code"], -32600);
    wire.write_line(r#"{"jsonrpc":"2.0","id":5,"method":7}"#).await;
    assert_eq!(wire.receive().await["id"], 5);
    // A notification before the client has begun means nothing.
    wire.send(told("notifications/cancelled", json!({ "requestId": 1 }))).await;
    wire.send(initialize("2025-11-25")).await;
    assert_eq!(wire.receive().await["id"], 0);
    assert_eq!(server.sessions()[0].transport.name(), "stdio");
    for id in 1..=20 {
        wire.send(call(id, "sum", json!({ "of": [id] }))).await;
    }
    let rest = wire.hang_up().await;
    assert_eq!(rest.iter().filter(|answer| !answer["result"].is_null()).count(), 20);
    assert_eq!(server.metrics().sessions_open, 0);
}

/// Two hundred of each, whose connections are cut without a word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_connections_that_break() {
    let limits = Limits {
        session_idle_max: Duration::from_secs(3),
        unread_time_max: Duration::from_millis(100),
        sessions_per_principal_max: 1000,
        concurrent_calls_max: 1000,
        ..Limits::default()
    };
    let server = common::server(limits);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = server.router(AllowedOrigins::loopback());
    let (serving, host) = (server.clone(), address.to_string());
    let served = tokio::spawn(async move { serve_http(&serving, listener, router).await });
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    // A first connection, so that what the listener needs is there.
    drop(connect(&host, "GET /nowhere", &[], "").await);
    common::until("it has gone", || alive() == 2).await;
    let before = alive();
    let mut streams = Vec::new();
    for _ in 0..200 {
        let mut sse = connect(&host, "GET /sse", &[], "").await;
        read_until(&mut sse, "session_id=").await;
        streams.push(sse);
        let begin = initialize("2025-11-25").to_string();
        let mut post = connect(&host, "POST /mcp", &[], &begin).await;
        let head = read_until(&mut post, "serverInfo").await;
        let id = head.split("mcp-session-id: ").nth(1).unwrap().lines().next().unwrap().to_owned();
        let wait = call(1, "wait", json!({})).to_string();
        let session = [("mcp-session-id", id.as_str())];
        streams.push(connect(&host, "POST /mcp", &session, &wait).await);
        streams.push(connect(&host, "GET /mcp", &session, "").await);
        let mut wait = call(1, "wait", json!({}));
        common::http::add_meta(&mut wait);
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "wait"),
        ];
        streams.push(connect(&host, "POST /mcp", &headers, &wait.to_string()).await);
    }
    common::until("all are there", || {
        let metrics = server.metrics();
        metrics.sessions_open == 400 && metrics.calls_open == 400
    })
    .await;
    for stream in streams {
        // With this the connection is reset, as when a machine loses its power.
        stream.set_zero_linger().unwrap();
        drop(stream);
    }
    common::until("no session is left", || server.metrics().sessions_open == 0).await;
    common::until("no call is left", || server.metrics().calls_open == 0).await;
    common::until("no task is left", || alive() <= before).await;
    assert_eq!(server.metrics().calls_cancelled, 400);
    server.close().await;
    common::soon(served).await.unwrap().unwrap();
}

async fn connect(host: &str, line: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(host).await.unwrap();
    let mut text = format!(
        "{line} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{text}\r\n{body}").as_bytes()).await.unwrap();
    stream
}

async fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let mut text = String::new();
    let mut bytes = [0; 4096];
    while !text.contains(wanted) {
        let count = common::soon(stream.read(&mut bytes)).await.unwrap();
        assert!(count > 0, "{text}");
        text.push_str(std::str::from_utf8(&bytes[..count]).unwrap());
    }
    text
}

#[tokio::test]
async fn two_hundred_pipes_leave_nothing() {
    let server = common::server(Limits { sessions_per_principal_max: 500, ..Limits::default() });
    let alive = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = alive();
    let mut wires = Vec::new();
    for _ in 0..200 {
        let mut wire = Wire::connect(&server, How::Pipe).await;
        wire.send(initialize("2025-11-25")).await;
        wire.receive().await;
        wires.push(wire);
    }
    assert_eq!(server.metrics().sessions_open, 200);
    // Half of them end as they should, half are gone in the middle of a call.
    for (index, mut wire) in wires.into_iter().enumerate() {
        match index % 2 {
            0 => assert_eq!(wire.hang_up().await, Vec::<Value>::new()),
            _ => {
                wire.send(call(1, "wait", json!({}))).await;
                drop(wire);
            }
        }
    }
    common::until("no session is left", || server.metrics().sessions_open == 0).await;
    common::until("no task is left", || alive() <= before).await;
}
