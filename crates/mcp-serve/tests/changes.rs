//! How clients are notified of changes, in both eras.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]

mod common;

use axum::{Router, body::Body};
use common::{
    catalog::catalog,
    http::{Events, ask_as, in_session, open, request, stateless},
    wire::{How, Wire},
};
use mcp_serve::{
    AllowedOrigins, Call, Catalog, Limits, Outcome, Prompt, PromptCall, PromptText, Tool,
};
use serde_json::{Value, json};

/// The methods of the next so many messages.
async fn methods(events: &mut Events, count: usize) -> Vec<String> {
    let mut methods = Vec::new();
    for _ in 0..count {
        methods.push(events.message().await["method"].as_str().unwrap().to_owned());
    }
    methods
}

async fn listen(router: &Router, session: &str) -> Events {
    let get = request("GET", "/mcp").header("mcp-session-id", session);
    let response = ask_as(router, "alice", get.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), 200);
    Events::of(response)
}

async fn subscribe(router: &Router, notifications: Value) -> Events {
    let params = json!({ "notifications": notifications });
    let message = json!({
        "jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": params
    });
    let response = ask_as(router, "alice", stateless("/mcp", message)).await;
    assert_eq!(response.status(), 200);
    Events::of(response)
}

fn more_tools() -> Catalog {
    catalog().tool(Tool::new("new", "New"), |_: Call| async { Ok(Outcome::text("new")) })
}

fn more_prompts() -> Catalog {
    let prompt = Prompt { name: "new".to_owned(), ..Prompt::default() };
    more_tools().prompt(prompt, |_: PromptCall| async { Ok(PromptText::user("new")) })
}

#[tokio::test]
async fn a_session_is_told_exactly_which_lists_differ() {
    let server = common::server(Limits::default());
    let router = server.router(AllowedOrigins::loopback());
    let session = open(&router, "/mcp", "alice").await;
    let mut events = listen(&router, &session).await;
    // The sources of resources are other ones in each catalog, so their list may differ too.
    server.publish(more_tools());
    let tools = ["notifications/tools/list_changed", "notifications/resources/list_changed"];
    assert_eq!(methods(&mut events, 2).await, tools);
    server.publish(more_prompts());
    let prompts = ["notifications/prompts/list_changed", "notifications/resources/list_changed"];
    assert_eq!(methods(&mut events, 2).await, prompts);
    server.resources_changed();
    assert_eq!(methods(&mut events, 1).await, ["notifications/resources/list_changed"]);
}

#[tokio::test]
async fn what_changed_before_somebody_listens_is_told_once() {
    let server = common::server(Limits::default());
    let router = server.router(AllowedOrigins::loopback());
    let session = open(&router, "/mcp", "alice").await;
    for _ in 0..50 {
        server.publish(more_tools());
        server.publish(catalog());
    }
    server.resources_changed();
    let mut events = listen(&router, &session).await;
    let told = methods(&mut events, 2).await;
    assert_eq!(told, ["notifications/tools/list_changed", "notifications/resources/list_changed"]);
    // Nothing else waits: the next change is the next message. One may have been on its way.
    server.resource_updated("shelf://book/1");
    server.publish(more_prompts());
    let mut next = methods(&mut events, 1).await;
    while next[0] != "notifications/prompts/list_changed" {
        next = methods(&mut events, 1).await;
    }
}

#[tokio::test]
async fn subscribers_alone_are_told_of_a_resource() {
    let server = common::server(Limits::default());
    let router = server.router(AllowedOrigins::loopback());
    let session = open(&router, "/mcp", "alice").await;
    let mut events = listen(&router, &session).await;
    let message = |method: &str| {
        json!({
            "jsonrpc": "2.0", "id": 1, "method": method, "params": { "uri": "shelf://book/1" }
        })
    };
    let subscribe = in_session("/mcp", Some(&session), &message("resources/subscribe"));
    Events::of(ask_as(&router, "alice", subscribe).await).message().await;
    server.resource_updated("shelf://book/2");
    server.resource_updated("shelf://book/1");
    let told = events.message().await;
    assert_eq!(told["method"], "notifications/resources/updated");
    assert_eq!(told["params"]["uri"], "shelf://book/1");
    let unsubscribe = in_session("/mcp", Some(&session), &message("resources/unsubscribe"));
    Events::of(ask_as(&router, "alice", unsubscribe).await).message().await;
    server.resource_updated("shelf://book/1");
    server.resources_changed();
    assert_eq!(methods(&mut events, 1).await, ["notifications/resources/list_changed"]);
}

#[tokio::test]
async fn a_stateless_client_is_told_what_it_listens_to() {
    let server = common::server(Limits::default());
    let router = server.router(AllowedOrigins::loopback());
    let wanted = json!({
        "toolsListChanged": true,
        "resourceSubscriptions": ["shelf://book/1", "shelf://lamp"]
    });
    let mut events = subscribe(&router, wanted).await;
    let accepted = events.message().await;
    assert_eq!(accepted["method"], "notifications/subscriptions/acknowledged");
    let filter = &accepted["params"]["notifications"];
    assert_eq!(filter["resourceSubscriptions"], json!(["shelf://book/1"]));
    assert_eq!(server.metrics().listeners_open, 1);
    server.publish(more_prompts());
    server.resource_updated("shelf://book/2");
    server.resource_updated("shelf://book/1");
    let told = [events.message().await, events.message().await];
    assert_eq!(told[0]["method"], "notifications/tools/list_changed");
    assert_eq!(told[1]["params"]["uri"], "shelf://book/1");
    for message in told {
        assert_eq!(message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
    }
    drop(events);
    common::until("nobody listens", || server.metrics().listeners_open == 0).await;
}

#[tokio::test]
async fn a_listener_is_told_that_the_server_ends() {
    let server = common::server(Limits::default());
    let router = server.router(AllowedOrigins::loopback());
    let mut events = subscribe(&router, json!({ "promptsListChanged": true })).await;
    events.message().await;
    server.close().await;
    common::until("nobody listens", || server.metrics().listeners_open == 0).await;
    // The stream ends, with or without the last word: rmcp cuts it off when the server ends.
    while let Some(last) = events.try_message().await {
        assert_eq!(last["result"]["resultType"], "complete");
    }
}

#[tokio::test]
async fn pipes_and_sse_are_told_too() {
    for how in [How::Pipe, How::Sse, How::EdgeLakeSse] {
        let server = common::server(Limits::default());
        let mut wire = Wire::connect(&server, how).await;
        wire.send(common::http::initialize("2024-11-05")).await;
        wire.receive().await;
        wire.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        server.publish(more_tools());
        assert_eq!(wire.receive().await["method"], "notifications/tools/list_changed", "{how:?}");
    }
}
