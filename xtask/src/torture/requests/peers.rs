//! The network port: commands, the ledger and tasks from a client that is no node of the network.

use serde_json::json;

use super::{Attack, Door, Places};
use crate::torture::{dice::Dice, wire::request};

pub(super) fn attacks(places: &Places, dice: &mut Dice) -> Vec<Attack> {
    let mut all = pages(places);
    all.extend(ledger(places, dice));
    all.extend(tasks(places, dice));
    all
}

/// More headers of a request.
type Headers<'a> = &'a [(&'a str, &'a str)];

/// A web page that reaches the port by a name that points to this machine.
fn pages(places: &Places) -> Vec<Attack> {
    let commands =
        ["get status", "set node name owned", "drop dbms d", "exit node", "sql d select 1"];
    let mut all = Vec::new();
    for (door, host) in
        [(Door::OperatorPeers, places.operator_peers), (Door::MasterPeers, places.master_peers)]
    {
        let host = host.to_string();
        for command in commands {
            let body = json!({ "command": command }).to_string();
            let kinds: [(&str, &str, Headers<'_>); 4] = [
                ("a foreign host", "evil.example:32348", &[]),
                ("a foreign origin", &host, &[("origin", "http://evil.example")]),
                ("a page elsewhere", &host, &[("sec-fetch-site", "cross-site")]),
                ("another protocol", &host, &[("edgemere-protocol", "99.0")]),
            ];
            for (name, host, extra) in kinds {
                let own = [("content-type", "application/json"), ("edgemere-protocol", "1.0")];
                let is_other = extra.iter().any(|(name, _)| *name == "edgemere-protocol");
                let own = own.get(..if is_other { 1 } else { 2 }).unwrap_or_default();
                let headers = [own, extra].concat();
                let bytes = request("POST /v1/command", host, &headers, body.as_bytes());
                all.push(
                    Attack::new(format!("{command:?} of {name}, at {door:?}"), door, bytes)
                        .forbidden(),
                );
            }
        }
    }
    all
}

/// Pages of the ledger that nobody can have, and policies that are none.
fn ledger(places: &Places, dice: &mut Dice) -> Vec<Attack> {
    let host = places.master_peers.to_string();
    let headers = [("content-type", "application/json"), ("edgemere-protocol", "1.0")];
    let mut all = Vec::new();
    let paths = [
        "/v1/ledger?entries=18446744073709551615&head=x&wait_ms=0",
        "/v1/ledger?entries=-1&head=&wait_ms=0",
        "/v1/ledger?entries=0&head=%00&wait_ms=0",
        "/v1/ledger",
        "/v1/ledger?entries=1e9",
        "/v1/health",
        "/v1/no_such",
        "/v1/command",
    ];
    for path in paths {
        let bytes = request(&format!("GET {path}"), &host, &headers, b"");
        all.push(Attack::new(format!("GET {path}, of a peer"), Door::MasterPeers, bytes));
    }
    let deep = format!("{{\"policies\":[{}1{}]}}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies = [
        ("no policies", "{}".to_owned()),
        ("policies of numbers", r#"{"policies":[1,null,"x",[]]}"#.to_owned()),
        (
            "100,000 policies of nothing",
            format!(r#"{{"policies":[{}{{}}]}}"#, "{},".repeat(100_000)),
        ),
        ("two roots", r#"{"policies":[{"a":{},"b":{}}]}"#.to_owned()),
        (
            "a policy of 2 MB",
            format!(r#"{{"policies":[{{"x":{{"v":"{}"}}}}]}}"#, "v".repeat(2 << 20)),
        ),
        ("deep policies", deep),
        (
            "an id of others",
            r#"{"policies":[{"operator":{"id":"0","ip":"evil.example","port":-1}}]}"#.to_owned(),
        ),
    ];
    for (name, body) in bodies {
        let bytes = request("POST /v1/ledger", &host, &headers, body.as_bytes());
        all.push(Attack::new(format!("{name}, of a peer"), Door::MasterPeers, bytes));
    }
    for index in 0..10 {
        let bytes = dice.bytes(500);
        let bytes = request("POST /v1/ledger", &host, &headers, &bytes);
        all.push(Attack::new(format!("random policies {index}"), Door::MasterPeers, bytes));
    }
    // More than a stranger should make a node keep before it knows who that is.
    let large = vec![b'a'; 15 << 20];
    let forged = [
        ("authorization", "x"),
        ("edgemere-protocol", "1.0"),
        ("content-type", "application/json"),
    ];
    let bytes = request("POST /v1/command", &host, &forged, &large);
    all.push(
        Attack::new("16 bodies of 15 MB with a forged proof", Door::MasterPeers, bytes).times(16),
    );
    all
}

/// gRPC over HTTP/1 and over HTTP/2, with messages of no meaning and lengths that lie.
fn tasks(places: &Places, dice: &mut Dice) -> Vec<Attack> {
    let host = places.operator_peers.to_string();
    let methods = [
        "/worker.WorkerService/ExecuteTask",
        "/worker.WorkerService/SetPlan",
        "/worker.WorkerService/CoordinatorChannel",
        "/arrow.flight.protocol.FlightService/DoGet",
        "/no.such/Method",
    ];
    let mut all = Vec::new();
    for method in methods {
        for (name, body) in messages(dice) {
            let headers = [
                ("content-type", "application/grpc"),
                ("te", "trailers"),
                ("edgemere-protocol", "1.0"),
            ];
            let plain = request(&format!("POST {method}"), &host, &headers, &body);
            all.push(Attack::new(format!("gRPC {method}: {name}"), Door::OperatorPeers, plain));
            let framed = http2(&host, method, &body);
            all.push(Attack::new(
                format!("gRPC {method} over HTTP/2: {name}"),
                Door::OperatorPeers,
                framed,
            ));
        }
    }
    all
}

fn messages(dice: &mut Dice) -> Vec<(&'static str, Vec<u8>)> {
    let with_length =
        |length: u32, body: &[u8]| [&[0], length.to_be_bytes().as_slice(), body].concat();
    let random = dice.bytes(400);
    vec![
        ("nothing", Vec::new()),
        ("an empty message", with_length(0, b"")),
        ("a length of 4 GB", with_length(u32::MAX, b"x")),
        ("a message that is compressed", [&[1], 3_u32.to_be_bytes().as_slice(), b"abc"].concat()),
        ("random bytes", with_length(400, &random)),
        // A field of 2^63 bytes, and partitions 0 to 2^34.
        (
            "a field beyond all",
            with_length(10, &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        ),
        (
            "numbers beyond all",
            with_length(
                14,
                &[0x08, 0, 0x10, 0x80, 0x80, 0x80, 0x80, 0x40, 0x18, 0x80, 0x80, 0x80, 0x80, 0x40],
            ),
        ),
    ]
}

/// One request of HTTP/2, with headers that are not compressed, and the end of the connection.
fn http2(host: &str, path: &str, body: &[u8]) -> Vec<u8> {
    let mut block = Vec::new();
    let headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", host),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("edgemere-protocol", "1.0"),
    ];
    for (name, value) in headers {
        block.push(0);
        for text in [name, value] {
            // Texts of 127 bytes and more have a longer form, which none of these needs.
            block.push(u8::try_from(text.len()).unwrap_or(126).min(126));
            block.extend_from_slice(text.as_bytes());
        }
    }
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[]));
    bytes.extend(frame(1, 4, 1, &block));
    bytes.extend(frame(0, 1, 1, body));
    // Nobody waits for the answer: the connection says that it ends.
    bytes.extend(frame(7, 0, 0, &[0; 8]));
    bytes
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(0).to_be_bytes();
    let [_, a, b, c] = length;
    [&[a, b, c, kind, flags, 0, 0, 0, stream], payload].concat()
}
