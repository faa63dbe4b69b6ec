//! Web pages and false names on both ports: what a browser on this machine could be made to send, byte
//! by byte, on every kind of route.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::Node;

/// Sends one request as it is written, and gives the status and everything that comes back.
fn send(address: &str, request: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let length = body.len();
    let request = format!("{request}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = Vec::new();
    // What is refused before it is read may end with a reset after the reply.
    let _ = stream.read_to_end(&mut reply);
    let reply = String::from_utf8_lossy(&reply).into_owned();
    let status = reply.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no status: {reply:?}")), reply)
}

/// The headers of a request, what they make of it on the HTTP port, and on the network port. ADDRESS
/// is the one of the port.
const CASES: [(&str, bool, bool); 24] = [
    ("host: ADDRESS", true, true),
    ("host: localhost", true, true),
    ("host: LOCALHOST:1", true, true),
    ("host: [::1]:9", true, true),
    ("host: ADDRESS\r\nsec-fetch-site: none", true, false),
    ("host: ADDRESS\r\nsec-fetch-site: same-origin", true, false),
    ("host: ADDRESS\r\norigin: http://ADDRESS", true, false),
    ("host: ADDRESS\r\norigin: http://ADDRESS\r\nsec-fetch-site: same-origin", true, false),
    ("host: ADDRESS\r\norigin: http://localhost:6274\r\nsec-fetch-site: same-site", true, false),
    ("host: ADDRESS\r\nsec-fetch-site: cross-site\r\nsec-fetch-mode: no-cors", false, false),
    ("host: ADDRESS\r\nsec-fetch-site: same-site", false, false),
    ("host: ADDRESS\r\nsec-fetch-mode: navigate\r\nsec-fetch-site: cross-site", false, false),
    ("host: ADDRESS\r\norigin: http://127.0.0.1:3000", false, false),
    ("host: ADDRESS\r\norigin: http://localhost:3000", false, false),
    ("host: ADDRESS\r\norigin: null", false, false),
    ("host: ADDRESS\r\norigin: http://evil.example", false, false),
    ("host: evil.example:32348\r\norigin: http://evil.example:32348", false, false),
    ("host: evil.example", false, false),
    ("host: 10.9.8.7", false, false),
    ("host: user@localhost", false, false),
    ("host: localhost\r\nhost: localhost", false, false),
    ("host: localhost\r\nhost: evil.example", false, false),
    ("host: ", false, false),
    ("accept: */*", false, false),
];

fn is_refused(status: u16) -> bool {
    status == 400 || status == 403
}

#[test]
fn other_pages_and_false_names_get_nothing_from_the_http_port() {
    let node = Node::start(&["--allow-origin", "http://localhost:6274"]);
    let begin = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n";
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let sql = r#"{"dbms":"d","sql":"select 1"}"#;
    // The last is what a request is answered with that is let in.
    let routes = [
        ("GET /?command=get%20status", "", "", 200),
        ("POST /", "", r#"{"command":"get status"}"#, 200),
        ("PUT /", "dbms: d\r\ntable: t\r\n", "[{\"a\":1}]", 200),
        ("GET /health", "", "", 200),
        ("GET /metrics", "", "", 200),
        ("POST /api/v1/sql", begin, sql, 200),
        ("POST /api/v1/ingest/d/t", begin, "[{\"a\":1}]", 200),
        ("POST /api/v1/answers", begin, r#"{"command":"get status","rows":1}"#, 200),
        ("POST /api/v1/jobs", begin, sql, 202),
        ("POST /mcp", begin, initialize, 200),
        ("GET /nothing", "", "", 404),
    ];
    for (line, more, body, expected) in routes {
        for (headers, is_served, _) in CASES {
            let headers = headers.replace("ADDRESS", &node.http);
            let head = format!("{line} HTTP/1.1\r\n{headers}\r\n{more}");
            let (status, reply) = send(&node.http, &head, body);
            match is_served {
                true => assert_eq!(status, expected, "{head} {reply}"),
                false => assert!(is_refused(status), "{head} {reply}"),
            }
            let lower = reply.to_ascii_lowercase();
            assert!(lower.contains("x-content-type-options: nosniff"), "{reply}");
            assert!(lower.contains("cache-control: no-store"), "{reply}");
        }
    }
    let foreign = "GET http://evil.example/?command=get%20status HTTP/1.1\r\n";
    for host in ["host: localhost\r\n", "host: evil.example\r\n", ""] {
        let (status, reply) = send(&node.http, &format!("{foreign}{host}"), "");
        assert!(is_refused(status), "{host} {reply}");
    }
    let own = format!("GET http://{0}/?command=get%20status HTTP/1.1\r\nhost: {0}\r\n", node.http);
    assert_eq!(send(&node.http, &own, "").0, 200);
}

#[test]
fn a_listed_page_may_ask_and_read_and_others_are_not_told_that_they_may() {
    let node = Node::start(&["--allow-origin", "http://localhost:6274,https://app.example.com"]);
    let preflight = |path: &str, origin: &str| {
        let head = format!(
            "OPTIONS {path} HTTP/1.1\r\nhost: {}\r\norigin: {origin}\r\nsec-fetch-site: cross-site\r\n\
             access-control-request-method: POST\r\n",
            node.http
        );
        let (status, reply) = send(&node.http, &head, "");
        (status, reply.contains(&format!("access-control-allow-origin: {origin}")))
    };
    for path in ["/", "/api/v1/sql", "/mcp"] {
        assert_eq!(preflight(path, "http://localhost:6274"), (204, true), "{path}");
        assert_eq!(preflight(path, "https://app.example.com"), (204, true), "{path}");
        assert_eq!(preflight(path, "http://localhost:6275"), (403, false), "{path}");
        assert_eq!(preflight(path, "https://evil.example"), (403, false), "{path}");
    }
}

#[test]
fn other_pages_and_false_names_get_nothing_from_the_network_port() {
    let node = Node::start(&["--access", "admin", "--name", "mine"]);
    let more = "edgemere-protocol: 1.0\r\ncontent-type: application/json\r\n";
    let more = &more.replace("1.0", crate::network_port::PROTOCOL);
    let rename = r#"{"command":"set node name owned"}"#;
    let policies = r#"{"policies":[{"device":{"name":"evil"}}]}"#;
    let grpc = "content-type: application/grpc\r\n";
    for (line, more, body) in [
        ("POST /v1/command", more.as_str(), rename),
        ("POST /v1/ledger", more, policies),
        ("GET /v1/ledger?entries=0&head=&wait_ms=0", more, ""),
        ("GET /health", more, ""),
        ("POST /worker.WorkerService/ExecuteTask", grpc, ""),
    ] {
        for (headers, _, is_served) in CASES.iter().filter(|(.., is_served)| !is_served) {
            let headers = headers.replace("ADDRESS", &node.network);
            let head = format!("{line} HTTP/1.1\r\n{headers}\r\n{more}");
            let (status, reply) = send(&node.network, &head, body);
            assert!(is_refused(status), "{is_served} {head} {reply}");
        }
    }
    assert!(node.run(&["get node name"]).0.starts_with("mine@"));
    assert_eq!(node.run(&["blockchain get device"]).0.trim(), "[]");
    for (headers, ..) in CASES.iter().filter(|(.., is_served)| *is_served) {
        let headers = headers.replace("ADDRESS", &node.network);
        let head = format!("GET /health HTTP/1.1\r\n{headers}\r\n{more}");
        assert_eq!(send(&node.network, &head, "").0, 200, "{head}");
    }
}

#[test]
fn without_a_key_a_peer_may_do_what_the_node_lets_everybody_do() {
    let ask = |node: &Node, path: &str, body: &str| {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nedgemere-protocol: {}\r\n\
             content-type: application/json\r\n",
            node.network,
            crate::network_port::PROTOCOL
        );
        send(&node.network, &head, body).0
    };
    // A peer says for whom it asks, and gets no more than both may do.
    let rename = r#"{"command":"set node name owned","caller":{"name":"x","access":"admin"}}"#;
    let exit = r#"{"command":"exit node","caller":{"name":"x","access":"admin"}}"#;
    let policies = r#"{"policies":[{"device":{"name":"evil"}}]}"#;
    for (access, expected) in [("read", [403, 403, 403]), ("write", [200, 403, 200])] {
        let node = Node::start(&["--access", access, "--name", "mine"]);
        let write = ask(&node, "/v1/command", rename);
        let exit = ask(&node, "/v1/command", exit);
        let publish = ask(&node, "/v1/ledger", policies);
        assert_eq!([write, exit, publish], expected, "{access}");
        assert_eq!(ask(&node, "/v1/command", r#"{"command":"get status"}"#), 200);
        assert_eq!(node.run(&["get node name"]).0.starts_with("mine@"), access == "read");
    }
}
