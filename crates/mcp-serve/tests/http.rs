//! What is refused over HTTP, with which status: before a message reaches the server at all.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]

mod common;

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
};
use common::http::{
    Events, ask, ask_as, in_session, initialize, json_of, open, request, stateless,
};
use mcp_serve::{AllowedOrigins, Call, Limits, Outcome};
use serde_json::{Value, json};

fn router(limits: Limits) -> Router {
    common::server(limits).router(AllowedOrigins::loopback())
}

fn call(id: i64, tool: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } })
}

fn post(body: &'static str) -> Request<Body> {
    request("POST", "/mcp").body(Body::from(body)).unwrap()
}

async fn refused(router: &Router, request: Request<Body>) -> (u16, i64, Value) {
    let (status, reply) = json_of(ask(router, request).await).await;
    (status.as_u16(), reply["error"]["code"].as_i64().unwrap(), reply["id"].clone())
}

#[tokio::test]
async fn what_is_no_message_is_a_bad_request() {
    let router = router(Limits::default());
    for body in ["", "{", "nonsense", "{\"jsonrpc\": \"2.0\", ", "\"text\"", "7", "[1,"] {
        assert_eq!(refused(&router, post(body)).await, (400, -32700, Value::Null), "{body}");
    }
    for body in [
        "{}",
        "{\"id\": 7}",
        "{\"jsonrpc\": \"1.0\", \"method\": \"ping\"}",
        "{\"jsonrpc\": \"2.0\", \"id\": [], \"method\": \"ping\"}",
        "[]",
        "[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}]",
    ] {
        let (status, code, _) = refused(&router, post(body)).await;
        assert_eq!((status, code), (400, -32600), "{body}");
    }
}

#[tokio::test]
async fn headers_must_fit() {
    let router = router(Limits::default());
    let body = || Body::from(initialize("2025-11-25").to_string());
    let plain = Request::post("/mcp").header("host", "localhost");
    let text = plain.header("content-type", "text/plain").body(body()).unwrap();
    assert_eq!(refused(&router, text).await, (415, -32600, Value::Null));
    let picky = Request::post("/mcp").header("host", "localhost").header("accept", "text/html");
    let picky = picky.header("content-type", "application/json").body(body()).unwrap();
    assert_eq!(refused(&router, picky).await, (406, -32600, json!(0)));
    // Who accepts everything, as curl does, is served.
    let curl = Request::post("/mcp").header("host", "localhost").header("accept", "*/*");
    let curl = curl.header("content-type", "application/json; charset=utf-8").body(body()).unwrap();
    assert_eq!(ask(&router, curl).await.status(), StatusCode::OK);
    for method in ["PUT", "PATCH", "HEAD"] {
        let response = ask(&router, request(method, "/mcp").body(Body::empty()).unwrap()).await;
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method}");
        assert_eq!(response.headers()["allow"], "GET, POST, DELETE");
    }
    for method in ["GET", "DELETE"] {
        let modern = request(method, "/mcp").header("mcp-protocol-version", "2026-07-28");
        assert_eq!(refused(&router, modern.body(Body::empty()).unwrap()).await.0, 405);
    }
}

#[tokio::test]
async fn the_headers_of_a_stateless_request_say_what_its_body_says() {
    let router = router(Limits::default());
    let good = || stateless("/mcp", call(3, "echo"));
    assert_eq!(ask(&router, good()).await.status(), StatusCode::OK);
    for (name, value) in [("mcp-method", "tools/list"), ("mcp-name", "sum")] {
        let mut bad = good();
        bad.headers_mut().insert(name, value.parse().unwrap());
        assert_eq!(refused(&router, bad).await, (400, -32020, json!(3)), "{name}");
        let mut bare = good();
        bare.headers_mut().remove(name);
        assert_eq!(refused(&router, bare).await, (400, -32020, json!(3)), "{name}");
    }
    let mut future = good();
    future.headers_mut().insert("mcp-protocol-version", "2099-01-01".parse().unwrap());
    assert_eq!(refused(&router, future).await, (400, -32020, json!(3)));
    let unknown = json!({ "jsonrpc": "2.0", "id": 3, "method": "nobody/knows" });
    assert_eq!(refused(&router, stateless("/mcp", unknown)).await, (404, -32601, json!(3)));
}

#[tokio::test]
async fn long_messages_are_refused() {
    let server = common::server(Limits { body_bytes_max: 1000, ..Limits::default() });
    let router = server.router(AllowedOrigins::loopback());
    let mut message = call(1, "echo");
    message["params"]["arguments"] = json!({ "text": "x".repeat(1000) });
    let long = stateless("/mcp", message.clone());
    assert_eq!(refused(&router, long).await, (413, -32029, Value::Null));
    assert_eq!(server.metrics().refused_by_limit, 1);
    let (_events, id) = open_sse(&router, "/sse").await;
    let long = ask_as(&router, "alice", in_session(&id, None, &message)).await;
    assert_eq!(long.status(), 413);
}

#[tokio::test]
async fn foreign_hosts_and_pages_are_refused_on_every_route() {
    let server = common::server(Limits::default());
    let router = server.router(AllowedOrigins::loopback().origin("https://app.example.com"));
    let routes = [
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("POST", "/mcp/few"),
        ("GET", "/sse"),
        ("GET", "/mcp/sse"),
        ("POST", "/messages/?session_id=1"),
        ("POST", "/mcp/messages/1"),
        ("OPTIONS", "/mcp"),
    ];
    // What a request has instead of, or beside, the host of all requests here, and the status.
    let cases: [(&[(&str, &str)], u16); 10] = [
        (&[("host", "evil.example.com")], 403),
        (&[("host", "user@localhost")], 400),
        (&[("host", "")], 400),
        (&[("origin", "http://evil.example.com")], 403),
        (&[("origin", "http://127.0.0.1:2")], 403),
        (&[("origin", "null")], 403),
        (&[("sec-fetch-site", "cross-site")], 403),
        (&[("sec-fetch-site", "same-site")], 403),
        (&[("host", "evil.example.com"), ("origin", "http://evil.example.com")], 403),
        (&[("origin", "http://127.0.0.1:1"), ("sec-fetch-site", "cross-site")], 403),
    ];
    for (method, path) in routes {
        for (headers, expected) in cases {
            let mut foreign = request(method, path).body(Body::from("{}")).unwrap();
            for (name, value) in headers {
                foreign.headers_mut().insert(*name, value.parse().unwrap());
            }
            let (status, ..) = refused(&router, foreign).await;
            assert_eq!(status, expected, "{method} {path} {headers:?}");
        }
        let nowhere = Request::builder().method(method).uri(path).body(Body::from("{}")).unwrap();
        assert_eq!(refused(&router, nowhere).await.0, 400, "{method} {path} without a host");
        let two = request(method, path).header("host", "127.0.0.1:1").body(Body::empty()).unwrap();
        assert_eq!(refused(&router, two).await.0, 400, "{method} {path} with two hosts");
        let other = request(method, &format!("http://evil.example.com{path}"));
        let other = other.body(Body::empty()).unwrap();
        assert_eq!(refused(&router, other).await.0, 400, "{method} {path} of another authority");
    }
    assert_eq!(server.metrics().refused_by_origin, 9 * 13);
    let own = request("OPTIONS", "/mcp").header("origin", "http://127.0.0.1:1");
    let own = own.header("sec-fetch-site", "same-origin").body(Body::empty()).unwrap();
    assert_eq!(ask(&router, own).await.status(), StatusCode::NO_CONTENT);
    let page = request("OPTIONS", "/mcp").header("origin", "https://app.example.com");
    let page = page.header("sec-fetch-site", "cross-site");
    let response = ask(&router, page.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    assert_eq!(response.headers()["access-control-allow-origin"], "https://app.example.com");
    let allowed = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(allowed("access-control-allow-methods"), "GET,POST,DELETE");
    for header in ["authorization", "content-type", "last-event-id", "mcp-session-id"] {
        assert!(allowed("access-control-allow-headers").contains(header), "{header}");
    }
    let get = request("GET", "/mcp").header("origin", "https://app.example.com");
    let response = ask(&router, get.body(Body::empty()).unwrap()).await;
    assert_eq!(response.headers()["access-control-allow-origin"], "https://app.example.com");
    assert_eq!(response.headers()["access-control-expose-headers"], "mcp-session-id");
    let program = ask(&router, request("GET", "/mcp").body(Body::empty()).unwrap()).await;
    assert!(!program.headers().contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn a_host_that_checks_origins_itself_can_do_without_the_check() {
    let server = common::server(Limits::default());
    let router = server.router_without_origin_check();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let mut foreign = stateless("/mcp", list);
    foreign.headers_mut().insert("host", "evil.example.com".parse().unwrap());
    foreign.headers_mut().insert("origin", "http://evil.example.com".parse().unwrap());
    assert_eq!(ask(&router, foreign).await.status(), 200);
    assert_eq!(server.metrics().refused_by_origin, 0);
}

#[tokio::test]
async fn toolsets_offer_what_they_list() {
    let router = router(Limits::default());
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let (_, few) = json_of(ask(&router, stateless("/mcp/few", list.clone())).await).await;
    let names = few["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]);
    assert_eq!(names.collect::<Vec<_>>(), ["echo"]);
    // What is not in it is as if it were not there.
    let (_, hidden) = json_of(ask(&router, stateless("/mcp/few", call(1, "sum"))).await).await;
    let (_, absent) = json_of(ask(&router, stateless("/mcp/few", call(1, "suM"))).await).await;
    assert_eq!(hidden["error"]["code"], -32602);
    let hidden = hidden["error"]["message"].as_str().unwrap().replace("sum", "suM");
    assert_eq!(hidden, absent["error"]["message"]);
    assert_eq!(refused(&router, stateless("/mcp/many", list)).await.0, 404);
    let session = open(&router, "/mcp/few", "alice").await;
    let called = ask_as(&router, "alice", in_session("/mcp/few", Some(&session), &call(1, "sum")));
    assert_eq!(Events::of(called.await).message().await["error"]["code"], -32602);
}

#[tokio::test]
async fn tools_have_other_names_and_those_that_are_not_there_an_answer() {
    let missing = |call: Call| async move { Ok(Outcome::error(format!("no {}", call.tool))) };
    let server = common::server(Limits::default());
    server.publish(
        common::catalog::catalog().alias("say again", "echo").alias("sum", "echo").missing(missing),
    );
    let router = server.router(AllowedOrigins::loopback());
    let texts = async |path: &str, tool: &str| {
        let (_, reply) = json_of(ask(&router, stateless(path, call(1, tool))).await).await;
        (reply["result"]["isError"] == true, reply["result"]["content"][0]["text"].clone())
    };
    assert_eq!(texts("/mcp", "say again").await, texts("/mcp", "echo").await);
    assert_ne!(texts("/mcp", "sum").await, texts("/mcp", "echo").await);
    assert_eq!(texts("/mcp", "Echo").await, (true, json!("no Echo")));
    // A toolset has the other names of its tools, and no others.
    assert_eq!(texts("/mcp/few", "say again").await, texts("/mcp", "echo").await);
    assert_eq!(texts("/mcp/few", "sum").await, (true, json!("no sum")));
    assert_eq!(server.metrics().calls_failed, 2);
}

#[tokio::test]
async fn a_session_is_known_to_its_principal_alone() {
    let server = common::server(Limits::default());
    let router = server.router(AllowedOrigins::loopback());
    let session = open(&router, "/mcp", "alice").await;
    assert!(session.len() >= 32 && session.bytes().all(|byte| byte.is_ascii_hexdigit()));
    for (who, id) in [("bob", session.as_str()), ("alice", "unknown"), ("alice", "\u{e4}")] {
        let message = in_session("/mcp", Some(id), &call(1, "echo"));
        let (status, reply) = json_of(ask_as(&router, who, message).await).await;
        assert_eq!((status.as_u16(), &reply["error"]["code"]), (404, &json!(-32001)), "{who} {id}");
        for method in ["GET", "DELETE"] {
            let other = request(method, "/mcp").header("mcp-session-id", id.as_bytes());
            let response = ask_as(&router, who, other.body(Body::empty()).unwrap()).await;
            assert_eq!(response.status(), 404, "{method} {who} {id}");
        }
    }
    let shown = &server.sessions()[0];
    assert!(session.starts_with(&shown.id) && shown.id.len() == 8, "{}", shown.id);
    assert_eq!(shown.principal.name(), "alice");
    assert_eq!(shown.client.as_ref().unwrap().name, "test");
    assert_eq!(shown.protocol.as_deref(), Some("2025-11-25"));
    assert!(!format!("{server:?}").contains(&session));
    let end = request("DELETE", "/mcp").header("mcp-session-id", &session);
    let response = ask_as(&router, "alice", end.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    let message = in_session("/mcp", Some(&session), &call(1, "echo"));
    assert_eq!(ask_as(&router, "alice", message).await.status(), 404);
    let bare = in_session("/mcp", None, &call(1, "echo"));
    assert_eq!(refused(&router, bare).await, (400, -32600, json!(1)));
}

async fn open_sse(router: &Router, path: &str) -> (Events, String) {
    let get = request("GET", path).body(Body::empty()).unwrap();
    let response = ask_as(router, "alice", get).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events = Events::of(response);
    let address = events.next().await.unwrap().data;
    (events, address)
}

#[tokio::test]
async fn messages_for_an_sse_session_come_from_its_principal() {
    let server = common::server(Limits::default());
    let router = server.router(AllowedOrigins::loopback());
    for path in ["/sse", "/mcp/sse"] {
        let (mut events, address) = open_sse(&router, path).await;
        let begin = || in_session(&address, None, &initialize("2024-11-05"));
        assert_eq!(ask_as(&router, "bob", begin()).await.status(), 404);
        assert_eq!(ask_as(&router, "alice", begin()).await.status(), 202);
        assert_eq!(events.message().await["result"]["protocolVersion"], "2024-11-05");
        let bad = request("POST", &address).body(Body::from("{")).unwrap();
        let (status, reply) = json_of(ask_as(&router, "alice", bad).await).await;
        assert_eq!((status.as_u16(), &reply["error"]["code"]), (400, &json!(-32700)));
        let bad = request("POST", &address).body(Body::from("{}")).unwrap();
        let (status, reply) = json_of(ask_as(&router, "alice", bad).await).await;
        assert_eq!((status.as_u16(), &reply["error"]["code"]), (400, &json!(-32600)));
        drop(events);
        common::until("the session has ended", || server.metrics().sessions_open == 0).await;
    }
    let bare = request("POST", "/messages/").body(Body::from("{}")).unwrap();
    assert_eq!(refused(&router, bare).await.0, 400);
    let unknown = request("POST", "/messages/?session_id=7").body(Body::from("{}")).unwrap();
    assert_eq!(refused(&router, unknown).await.0, 404);
    // An id of the one transport is none of the other.
    let session = open(&router, "/mcp", "alice").await;
    let other = in_session(&format!("/mcp/messages/{session}"), None, &call(1, "echo"));
    assert_eq!(ask_as(&router, "alice", other).await.status(), 404);
}
