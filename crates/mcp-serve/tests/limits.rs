//! Limits on clients, and the replies to refused clients.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]

mod common;

use std::time::Duration;

use axum::Router;
use common::http::{Events, ask, ask_as, in_session, initialize, json_of, open, stateless};
use mcp_serve::{AllowedOrigins, Limits, Server};
use serde_json::{Value, json};

fn start(limits: Limits) -> (Server, Router) {
    let server = common::server(limits);
    let router = server.router(AllowedOrigins::loopback());
    (server, router)
}

fn call(tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
}

async fn called(router: &Router, who: &str, tool: &str, arguments: Value) -> Value {
    json_of(ask_as(router, who, stateless("/mcp", call(tool, arguments))).await).await.1
}

#[tokio::test]
async fn concurrent_calls_of_a_principal_are_limited() {
    let (server, router) = start(Limits { concurrent_calls_max: 2, ..Limits::default() });
    let waiting = |who: &'static str| {
        let router = router.clone();
        tokio::spawn(async move { called(&router, who, "wait", json!({})).await })
    };
    let waits = [waiting("alice"), waiting("alice")];
    common::until("two calls are active", || server.metrics().calls_open == 2).await;
    let refused = called(&router, "alice", "echo", json!({})).await;
    assert_eq!(refused["error"]["code"], -32029);
    assert_eq!(refused["error"]["data"]["retryAfterMs"], 250);
    assert_eq!(called(&router, "bob", "echo", json!({})).await["result"]["isError"], false);
    // A client that disconnects makes room.
    waits.iter().for_each(tokio::task::JoinHandle::abort);
    common::until("no call is active", || server.metrics().calls_open == 0).await;
    assert_eq!(called(&router, "alice", "echo", json!({})).await["result"]["isError"], false);
    assert_eq!(server.metrics().refused_by_limit, 1);
    assert_eq!(server.metrics().calls_cancelled, 2);
}

#[tokio::test]
async fn calls_beyond_the_rate_are_refused() {
    let (server, router) = start(Limits { calls_per_second_max: 1, ..Limits::default() });
    let started = std::time::Instant::now();
    let mut answers = Vec::new();
    for _ in 0..20 {
        answers.push(called(&router, "alice", "echo", json!({})).await);
    }
    let refused: Vec<_> = answers.iter().filter(|answer| !answer["error"].is_null()).collect();
    // The first call, and at most one more for every second that has passed.
    let accepted_max = 1 + started.elapsed().as_secs();
    let accepted = (answers.len() - refused.len()) as u64;
    assert!((1..=accepted_max).contains(&accepted), "{accepted} of at most {accepted_max}");
    assert_eq!(refused[0]["error"]["code"], -32029);
    let wait = refused[0]["error"]["data"]["retryAfterMs"].as_u64().unwrap();
    assert!((1..=1000).contains(&wait), "{wait}");
    assert_eq!(server.metrics().refused_by_limit, refused.len() as u64);
}

#[tokio::test]
async fn a_result_that_is_too_long_is_an_error_that_says_so() {
    let (server, router) = start(Limits { result_bytes_max: 2000, ..Limits::default() });
    assert_eq!(
        called(&router, "a", "big", json!({ "bytes": 1000 })).await["result"]["isError"],
        false
    );
    let long = called(&router, "a", "big", json!({ "bytes": 3000 })).await;
    assert_eq!(long["result"]["isError"], true);
    let text = long["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("at most 2000 are sent: ask for less"), "{text}");
    assert_eq!(server.metrics().results_too_long, 1);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_stopped() {
    let call_time_max = Duration::from_millis(30);
    let (server, router) = start(Limits { call_time_max, ..Limits::default() });
    let late = called(&router, "a", "wait", json!({})).await;
    assert_eq!(late["result"]["isError"], true);
    let text = late["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("the call took longer than 0.03 s"), "{text}");
    let metrics = server.metrics();
    assert_eq!((metrics.calls_timed_out, metrics.calls_failed, metrics.calls_open), (1, 1, 0));
}

#[tokio::test]
async fn sessions_that_nobody_uses_make_room_and_others_do_not() {
    let limits = Limits { sessions_max: 3, sessions_per_principal_max: 2, ..Limits::default() };
    let (server, router) = start(limits);
    let first = open(&router, "/mcp", "alice").await;
    let second = open(&router, "/mcp", "alice").await;
    // The first one is read, so it is the second one that has to go.
    let listen = common::http::request("GET", "/mcp").header("mcp-session-id", &first);
    let listen = ask_as(&router, "alice", listen.body(axum::body::Body::empty()).unwrap()).await;
    assert_eq!(listen.status(), 200);
    let third = open(&router, "/mcp", "alice").await;
    let status = |id: String| {
        let router = router.clone();
        let message = in_session("/mcp", Some(&id), &call("echo", json!({})));
        async move { ask_as(&router, "alice", message).await.status().as_u16() }
    };
    assert_eq!(status(first.clone()).await, 200);
    assert_eq!(status(second).await, 404);
    assert_eq!(status(third).await, 200);
    // All are read: there is no room for another one.
    let _sse = ask_as(&router, "bob", sse()).await;
    let full = ask_as(&router, "carol", in_session("/mcp", None, &initialize("2025-11-25"))).await;
    assert_eq!(full.status(), 503);
    assert_eq!(full.headers()["retry-after"], "30");
    assert_eq!(json_of(full).await.1["id"], 0);
    assert_eq!(ask_as(&router, "carol", sse()).await.status(), 503);
    assert_eq!(server.metrics().sessions_open, 3);
}

#[tokio::test]
async fn a_flood_of_new_sessions_ends_none_that_is_in_use() {
    let limits = Limits {
        sessions_max: 8,
        sessions_per_principal_max: 8,
        session_evict_after: Duration::from_secs(3600),
        ..Limits::default()
    };
    let (server, router) = start(limits);
    let used = |id: &str| {
        let (router, message) = (router.clone(), call("echo", json!({})));
        let message = in_session("/mcp", Some(id), &message);
        async move { ask_as(&router, "alice", message).await.status().as_u16() }
    };
    // Long ago, but used; and one that is only begun.
    let old = open(&router, "/mcp", "alice").await;
    assert_eq!(used(&old).await, 200);
    let idle = open(&router, "/mcp", "alice").await;
    let mut last = String::new();
    for _ in 0..100 {
        last = open(&router, "/mcp", "alice").await;
    }
    assert_eq!(used(&idle).await, 404, "what was never used goes first");
    assert_eq!(used(&last).await, 200);
    assert_eq!(server.metrics().sessions_open, 8);
    // A flood whose sessions are all used: there is no room until a session has been idle for a while.
    let begin = || in_session("/mcp", None, &initialize("2025-11-25"));
    let mut refused = 0;
    for _ in 0..100 {
        assert_eq!(used(&old).await, 200, "it is in use");
        let begun = ask_as(&router, "alice", begin()).await;
        match begun.headers().get("mcp-session-id").cloned() {
            Some(id) => _ = used(id.to_str().unwrap()).await,
            None => {
                assert_eq!(
                    (begun.status().as_u16(), &begun.headers()["retry-after"]),
                    (503, &"30".parse().unwrap())
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

#[tokio::test]
async fn a_session_that_was_idle_for_long_gives_its_room_to_a_new_one() {
    let limits = Limits {
        sessions_max: 2,
        sessions_per_principal_max: 2,
        session_evict_after: Duration::from_millis(1),
        ..Limits::default()
    };
    let (server, router) = start(limits);
    for _ in 0..2 {
        let id = open(&router, "/mcp", "alice").await;
        let message = in_session("/mcp", Some(&id), &call("echo", json!({})));
        assert_eq!(ask_as(&router, "alice", message).await.status(), 200);
    }
    let enough = tokio::time::Instant::now() + Duration::from_secs(120);
    let begin = || in_session("/mcp", None, &initialize("2025-11-25"));
    while ask_as(&router, "alice", begin()).await.status() != 200 {
        assert!(tokio::time::Instant::now() < enough, "there is no room again");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(server.metrics().sessions_open, 2);
}

fn sse() -> axum::http::Request<axum::body::Body> {
    common::http::request("GET", "/sse").body(axum::body::Body::empty()).unwrap()
}

#[tokio::test]
async fn subscriptions_are_bounded() {
    let (_server, router) = start(Limits { subscriptions_max: 2, ..Limits::default() });
    let session = open(&router, "/mcp", "a").await;
    for (book, code) in [(1, None), (2, None), (2, None), (3, Some(-32029))] {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "resources/subscribe",
            "params": { "uri": format!("shelf://book/{book}") }
        });
        let response = ask_as(&router, "a", in_session("/mcp", Some(&session), &message)).await;
        let answer = Events::of(response).message().await;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{book}");
    }
}

#[tokio::test]
async fn a_server_that_ends_takes_no_more() {
    let (server, router) = start(Limits::default());
    let session = open(&router, "/mcp", "alice").await;
    let (task, message) =
        (router.clone(), in_session("/mcp", Some(&session), &call("wait", json!({}))));
    let waits = tokio::spawn(async move {
        let mut events = Events::of(ask_as(&task, "alice", message).await);
        events.try_message().await
    });
    common::until("the call is active", || server.metrics().calls_open == 1).await;
    common::soon(server.close()).await;
    assert_eq!(common::soon(waits).await.unwrap(), None);
    let metrics = server.metrics();
    assert_eq!((metrics.calls_open, metrics.sessions_open), (0, 0));
    let late = ask(&router, stateless("/mcp", call("echo", json!({})))).await;
    assert_eq!(late.status(), 503);
}
