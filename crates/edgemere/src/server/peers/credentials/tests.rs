//! gRPC calls through the guard, over HTTP/2: with headers of a node that has the key, and without.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderName, Request, Response};
use axum::routing::{any, get};
use axum::{Router, middleware};
use edgemere_query::distributed::Credentials;
use futures_util::StreamExt;
use futures_util::stream;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use reqwest::Method;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::super::super::auth::{Guard, NetworkKey, authenticate, prove};
use super::super::super::bodies::{Bodies, Limits};
use super::super::super::hosts::Hosts;
use super::super::super::serve::{Patience, Port, serve};
use super::super::{Call, HttpPeers};

const CALL: &str = "/some.Service/Call";

/// A node's network port, with a service that sends back what it gets.
struct Node {
    address: SocketAddr,
    _shutdown: DropGuard,
}

fn key(digit: &str) -> NetworkKey {
    NetworkKey::parse(&digit.repeat(64)).unwrap()
}

async fn start(key: Option<NetworkKey>, at: &str) -> Node {
    let hosts = Hosts::new(([127, 0, 0, 1], 0).into(), &[]);
    let bodies = Arc::new(Bodies::new(Limits::of(64 << 20)));
    let guard = Arc::new(Guard::new(key, hosts, bodies).unwrap());
    let echo = |request: axum::extract::Request| async {
        let content_type = request.headers().get("content-type").cloned();
        let mut reply = Response::new(request.into_body());
        if let Some(content_type) = content_type {
            reply.headers_mut().insert("content-type", content_type);
        }
        reply
    };
    let router = Router::new()
        .route("/health", get(|| async {}))
        .route(CALL, any(echo))
        .route("/v1/command", any(|| async { "an answer" }))
        .layer(middleware::from_fn_with_state(Arc::clone(&guard), prove))
        .layer(middleware::from_fn_with_state(guard, authenticate));
    let listener = TcpListener::bind(at).await.unwrap();
    let address = listener.local_addr().unwrap();
    let shutdown = CancellationToken::new();
    let port = Port {
        name: "test",
        router,
        connections_max: 10,
        patience: Patience::GUARDED,
        permits: None,
    };
    tokio::spawn(serve(listener, port, shutdown.clone()));
    Node { address, _shutdown: shutdown.drop_guard() }
}

/// Makes a call, whose body has no end before the reply begins.
async fn call(node: &Node, path: &str, headers: Vec<(String, String)>) -> Response<Incoming> {
    let stream = TcpStream::connect(node.address).await.unwrap();
    let connected = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = connected.unwrap();
    tokio::spawn(connection);
    let mut request = Request::post(format!("http://{}{path}", node.address));
    request = request.header("content-type", "application/grpc+proto");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let first = stream::iter([Ok::<_, std::io::Error>(Bytes::from("a plan"))]);
    let body = Body::from_stream(first.chain(stream::pending()));
    sender.send_request(request.body(body).unwrap()).await.unwrap()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers.get(name).map_or("none", |value| value.to_str().unwrap())
}

async fn assert_answered(reply: Response<Incoming>) {
    assert_eq!(text(reply.headers(), "grpc-status"), "none");
    let mut pieces = Body::new(reply.into_body()).into_data_stream();
    assert_eq!(pieces.next().await.unwrap().unwrap(), "a plan");
}

async fn assert_refused(reply: Response<Incoming>) {
    let headers = reply.headers().clone();
    assert_eq!((reply.status().as_u16(), text(&headers, "grpc-status")), (200, "16"));
    assert!(text(&headers, "www-authenticate").starts_with("Edgemere "), "{headers:?}");
    assert!(to_bytes(Body::new(reply.into_body()), 100).await.unwrap().is_empty());
}

#[tokio::test]
async fn who_has_the_key_is_answered_while_it_still_sends() {
    let node = start(Some(key("a")), "127.0.0.1:0").await;
    let peers = HttpPeers::new(Some(key("a"))).unwrap();
    let address = node.address.to_string();
    for _ in 0..2 {
        let headers = peers.call_headers(&address, false).await.unwrap();
        let reply = call(&node, CALL, headers).await;
        assert_eq!(text(reply.headers(), "edgemere-protocol"), "2.0");
        assert_answered(reply).await;
    }
}

#[tokio::test]
async fn an_answer_is_believed_for_its_call_and_no_other() {
    let node = start(Some(key("a")), "127.0.0.1:0").await;
    let peers = HttpPeers::new(Some(key("a"))).unwrap();
    let address = node.address.to_string();
    let headers = peers.call_headers(&address, false).await.unwrap();
    let other = sent(&peers.call_headers(&address, false).await.unwrap());
    let asked = sent(&headers);
    let mut answer = call(&node, CALL, headers).await.headers().clone();
    assert!(peers.trusts(&asked, 200, &answer));
    assert!(!peers.trusts(&other, 200, &answer), "of another call");
    assert!(!peers.trusts(&asked, 500, &answer), "with another status");
    assert!(!HttpPeers::new(Some(key("b"))).unwrap().trusts(&asked, 200, &answer), "another key");
    answer.remove("edgemere-proof");
    assert!(!peers.trusts(&asked, 200, &answer), "without a proof");
    assert!(HttpPeers::new(None).unwrap().trusts(&asked, 200, &answer), "nothing to prove");
}

fn sent(headers: &[(String, String)]) -> HeaderMap {
    let header = |(name, value): &(String, String)| {
        (HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap())
    };
    headers.iter().map(header).collect()
}

#[tokio::test]
async fn a_stranger_and_who_repeats_a_call_are_refused() {
    let node = start(Some(key("a")), "127.0.0.1:0").await;
    let peers = HttpPeers::new(Some(key("a"))).unwrap();
    let headers = peers.call_headers(&node.address.to_string(), false).await.unwrap();
    assert_answered(call(&node, CALL, headers.clone()).await).await;
    assert_refused(call(&node, CALL, headers).await).await;
    assert_refused(call(&node, CALL, vec![]).await).await;
    for wrong in ["", "Bearer x", "Edgemere 0.0.0.0"] {
        let headers = vec![("authorization".to_owned(), wrong.to_owned())];
        assert_refused(call(&node, CALL, headers).await).await;
    }
    // What says that it is a call is one wherever it goes.
    assert_refused(call(&node, "/v1/command", vec![]).await).await;
}

#[tokio::test]
async fn a_proof_of_a_call_is_none_of_a_command() {
    let node = start(Some(key("a")), "127.0.0.1:0").await;
    let peers = HttpPeers::new(Some(key("a"))).unwrap();
    let headers = peers.call_headers(&node.address.to_string(), false).await.unwrap();
    let mut request = reqwest::Client::new().post(format!("http://{}/v1/command", node.address));
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let reply = request.header("edgemere-protocol", "2.0").send().await.unwrap();
    assert_eq!((reply.status().as_u16(), reply.text().await.unwrap()), (401, String::new()));
}

#[tokio::test]
async fn a_node_that_was_started_again_wants_another_proof() {
    let node = start(Some(key("a")), "127.0.0.1:0").await;
    let peers = HttpPeers::new(Some(key("a"))).unwrap();
    let address = node.address.to_string();
    peers.call_headers(&address, false).await.unwrap();
    let mut old = peers.call_headers(&address, false).await.unwrap();
    drop(node);
    let node = loop {
        // The port is free a moment later.
        match TcpListener::bind(&address).await {
            Ok(free) => {
                drop(free);
                break start(Some(key("a")), &address).await;
            }
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert_refused(call(&node, CALL, old).await).await;
    old = peers.call_headers(&address, true).await.unwrap();
    assert_answered(call(&node, CALL, old).await).await;
}

#[tokio::test]
async fn a_long_body_is_sent_with_a_proof_that_is_taken() {
    let peers = HttpPeers::new(Some(key("a"))).unwrap();
    let mut address = "127.0.0.1:0".to_owned();
    // The second node is at the address of the first, and wants another proof.
    for _ in 0..2 {
        let node = loop {
            match TcpListener::bind(&address).await {
                Ok(free) => {
                    address = free.local_addr().unwrap().to_string();
                    drop(free);
                    break start(Some(key("a")), &address).await;
                }
                Err(_) => tokio::task::yield_now().await,
            }
        };
        for _ in 0..3 {
            let call = Call {
                address: &address,
                method: Method::POST,
                path: "/v1/command".into(),
                body: vec![b' '; 8 << 20],
                timeout: Duration::from_secs(60),
                bytes_max: 100,
            };
            assert_eq!(peers.send(&call).await.unwrap().text, "an answer");
        }
        drop(node);
    }
}

#[tokio::test]
async fn a_node_that_cannot_prove_itself_is_not_called() {
    let peers = HttpPeers::new(Some(key("a"))).unwrap();
    for (other, reason) in [
        (None, "does not prove to have the network key"),
        (Some(key("b")), "its network key is another"),
    ] {
        let node = start(other, "127.0.0.1:0").await;
        let error = peers.call_headers(&node.address.to_string(), false).await.unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[tokio::test]
async fn without_a_key_there_is_nothing_to_prove_but_the_version_counts() {
    let node = start(None, "127.0.0.1:0").await;
    let peers = HttpPeers::new(None).unwrap();
    assert!(peers.call_headers(&node.address.to_string(), false).await.unwrap().is_empty());
    let version = |version: &str| vec![("edgemere-protocol".to_owned(), version.to_owned())];
    assert_answered(call(&node, CALL, version("2, DataFusion 55.2.0")).await).await;
    let refused = call(&node, CALL, version("1, DataFusion 60")).await;
    assert_eq!(text(refused.headers(), "grpc-status"), "9");
    let message = text(refused.headers(), "grpc-message");
    assert!(message.contains("2.0") && message.contains("1, DataFusion 60"), "{message}");
}
