//! Commands, headers, paths and messages of MCP that no honest client sends.

use serde_json::{Value, json};

use super::{Attack, Door, Places};
use crate::torture::{ask::DBMS, dice::Dice, wire::request};

pub(super) fn attacks(places: &Places, dice: &mut Dice) -> Vec<Attack> {
    let mut all = commands(places);
    all.extend(strangers(places));
    all.extend(numbers(places));
    all.extend(messages(places));
    all.extend(garbage(places, dice));
    all
}

#[allow(clippy::too_many_lines, reason = "a list, which is read line by line")]
fn commands(places: &Places) -> Vec<Attack> {
    let host = places.operator.to_string();
    let long = "x".repeat(200_000);
    let deep = format!("{}{}", "{\"a\":".repeat(20_000), "1");
    let listed = format!("blockchain push {{\"x\": {}}}", "[".repeat(100_000));
    let texts = [
        "",
        " ",
        "\u{feff}get status",
        "get",
        "get status where format = ",
        "help help help",
        "run client () run client () run client () get status",
        "process ../../etc/passwd",
        "process /etc/passwd",
        "print !!!!!",
        "a = !a",
        "set node name",
        "!no_such_name",
        "get tables where dbms = * and format = no_such",
        "blockchain get * where",
        "blockchain drop policy where id = ''",
        "blockchain update to master",
        "drop dbms no_such",
        "drop table no_such where dbms = d",
        "drop partition 99999999999999999999 where dbms = d",
        "create view w0 where dbms = d as select 1",
        "create view v where dbms = d as select * from v",
        "job stop 18446744073709551615",
        "query fetch ''",
        "query status all where id = -1",
        "set retention where dbms = d and age = \"99999999999999999999 years\"",
        "set retention where dbms = d and size = \"-1 GB\"",
        "flush buffers where dbms = no_such",
        "test network with \"\u{0}\"",
        "run client (127.0.0.1:1) get status",
        "run client (256.256.256.256:99999) get status",
        "connect dbms ../x where type = edgemere",
        "connect dbms d where type = psql",
        "get columns where dbms = d and table = '../../x'",
        "sql d",
        "sql",
        "sql d format = table and format = json select 1",
    ];
    let mut all: Vec<Attack> = Vec::new();
    let mut add = |name: String, command: &str| {
        let body = json!({ "command": command }).to_string();
        let json = [("content-type", "application/json")];
        all.push(Attack::new(
            format!("POST {name}"),
            Door::Operator,
            request("POST /", &host, &json, body.as_bytes()),
        ));
    };
    texts
        .iter()
        .enumerate()
        .for_each(|(index, text)| add(format!("command {index}, {text:?}"), text));
    for (name, text) in
        [("a long command", &long), ("deep JSON", &deep), ("a deep policy", &listed)]
    {
        add(name.to_owned(), text);
    }
    // The same over GET, whose commands stand in headers and addresses.
    for (index, text) in
        texts.iter().enumerate().filter(|(_, text)| !text.contains(['\u{0}', '\u{feff}']))
    {
        let in_header = request("GET /", &host, &[("command", text)], b"");
        all.push(Attack::new(format!("GET command {index}"), Door::Operator, in_header));
        let escaped: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let in_address = request(&format!("GET /?command={escaped}"), &host, &[], b"");
        all.push(Attack::new(format!("GET ?command {index}"), Door::Operator, in_address));
    }
    all
}

/// Requests that a foreign web page makes a browser send.
fn strangers(places: &Places) -> Vec<Attack> {
    let host = places.query.to_string();
    let command = ("command", "get status");
    let get = |name: &str, host: &str, headers: &[(&str, &str)]| {
        Attack::new(name, Door::Query, request("GET /", host, headers, b"")).forbidden()
    };
    let own = format!("http://{host}.evil.example");
    vec![
        get("a GET of a foreign page", &host, &[command, ("sec-fetch-site", "cross-site")]),
        get("a GET of a page beside", &host, &[command, ("sec-fetch-site", "same-site")]),
        get("a foreign origin", &host, &[command, ("origin", "http://evil.example")]),
        get("an origin that begins like ours", &host, &[command, ("origin", &own)]),
        get("an origin of nobody", &host, &[command, ("origin", "null")]),
        get("a foreign host", "evil.example", &[command]),
        get("a host with a name before it", "evil@127.0.0.1", &[command]),
        get("two hosts", &host, &[command, ("host", "evil.example")]),
    ]
}

/// Numbers that are too large, too small, or none.
fn numbers(places: &Places) -> Vec<Attack> {
    let json = [("content-type", "application/json")];
    let texts = [
        "1e19",
        "1e308",
        "-1",
        "0",
        "18446744073709551616",
        "null",
        "\"x\"",
        "1e-320",
        "[]",
        "0.1",
    ];
    let mut all = Vec::new();
    for text in texts {
        let bodies = [
            (
                "/api/v1/answers",
                format!(r#"{{"command":"sql d select 1","rows":10,"timeout_s":{text}}}"#),
            ),
            (
                "/api/v1/answers",
                format!(
                    r#"{{"command":"sql d select count(*) from w0","destination":"network","rows":10,"timeout_s":{text}}}"#
                ),
            ),
            ("/api/v1/answers", format!(r#"{{"command":"sql d select 1","rows":{text}}}"#)),
            (
                "/api/v1/answers",
                format!(r#"{{"command":"sql d select 1","rows":1,"bytes":{text}}}"#),
            ),
            ("/api/v1/sql", format!(r#"{{"dbms":"d","sql":"select 1","max_time":{text}}}"#)),
            (
                "/api/v1/sql",
                format!(r#"{{"dbms":"d","sql":"select 1","mode":"batch","limit":{text}}}"#),
            ),
            (
                "/api/v1/sql",
                format!(r#"{{"dbms":"d","sql":"select 1","mode":"stream","batch_rows":{text}}}"#),
            ),
            ("/api/v1/jobs", format!(r#"{{"dbms":"d","sql":"select 1","max_time":{text}}}"#)),
        ];
        for (index, (path, body)) in bodies.into_iter().enumerate() {
            let host = places.query.to_string();
            let bytes = request(&format!("POST {path}"), &host, &json, body.as_bytes());
            all.push(Attack::new(format!("number {text} in {path}, {index}"), Door::Query, bytes));
        }
        let headers = [("command", "run client () get status"), ("timeout", text)];
        let bytes = request("GET /", &places.query.to_string(), &headers, b"");
        all.push(Attack::new(format!("timeout: {text}"), Door::Query, bytes));
    }
    all
}

/// What an agent's client never says.
fn messages(places: &Places) -> Vec<Attack> {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let call = |name: Value, arguments: Value| {
        let params = json!({ "name": name, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
    };
    let long = "x".repeat(1 << 20);
    let bodies = [
        ("nothing".to_owned(), String::new()),
        ("a list".into(), "[]".into()),
        ("a batch".into(), format!("[{}]", vec![r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#; 5000].join(","))),
        ("depth".into(), deep),
        ("a number as the method".into(), r#"{"jsonrpc":"2.0","id":1,"method":7}"#.into()),
        ("an id of null".into(), r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#.into()),
        ("an id of 400 digits".into(), format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, "9".repeat(400))),
        ("an id of a megabyte".into(), format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#)),
        ("two ids".into(), r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#.into()),
        ("another version".into(), r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#.into()),
        ("an unknown method".into(), r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#.into()),
        ("an unknown tool".into(), call("no_such".into(), json!({}))),
        ("a tool of a list".into(), call(json!([1]), json!({}))),
        ("arguments of text".into(), call("sql".into(), "select 1".into())),
        ("a long argument".into(), call("sql".into(), json!({ "database": DBMS, "sql": long }))),
        ("a database of paths".into(), call("list_tables".into(), json!({ "database": "../../etc" }))),
        ("a cursor".into(), call("fetch_rows".into(), json!({ "cursor": "0".repeat(10_000) }))),
        ("a job".into(), call("cancel_job".into(), json!({ "job": -1 }))),
        ("nodes elsewhere".into(), call("monitor_nodes".into(), json!({ "nodes": ["127.0.0.1:1", "\u{0}"] }))),
        ("a where that ends".into(), call("query".into(), json!({ "database": DBMS, "table": "w0", "where": "1=1; drop table w0 --" }))),
        ("a select that grows".into(), call("query".into(), json!({ "database": DBMS, "table": "w0", "select": ["lpad(s, 2000000000)"] }))),
        ("no resource".into(), r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}"#.into()),
        ("no prompt".into(), r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"no_such"}}"#.into()),
        ("an answer".into(), r#"{"jsonrpc":"2.0","id":99,"result":{}}"#.into()),
        ("a cancellation".into(), r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1e99}}"#.into()),
        ("no UTF-8".into(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\u{fffd}\"}".into()),
    ];
    let host = places.query.to_string();
    let mut all = Vec::new();
    for (name, body) in bodies {
        for path in ["/mcp", "/messages/?session_id=0", "/mcp/messages/0"] {
            let headers = [
                ("content-type", "application/json"),
                ("accept", "application/json, text/event-stream"),
                ("mcp-protocol-version", "2025-06-18"),
            ];
            let bytes = request(&format!("POST {path}"), &host, &headers, body.as_bytes());
            all.push(Attack::new(format!("MCP at {path}: {name}"), Door::Query, bytes));
        }
    }
    let session =
        [("accept", "text/event-stream"), ("mcp-session-id", "00000000000000000000000000000000")];
    all.push(Attack::new(
        "MCP: a guessed session",
        Door::Query,
        request("GET /mcp", &host, &session, b""),
    ));
    all.push(Attack::new(
        "MCP: a guessed session ends",
        Door::Query,
        request("DELETE /mcp", &host, &session, b""),
    ));
    all
}

/// Bytes of no meaning at every path.
fn garbage(places: &Places, dice: &mut Dice) -> Vec<Attack> {
    let paths = [
        "/",
        "/mcp",
        "/api/v1/sql",
        "/api/v1/jobs",
        "/api/v1/answers",
        "/api/v1/ingest/d/g",
        "/api/v1/ingest/..%2f..%2fx/g",
        "/api/v1/results/0",
        "/api/v1/jobs/0/rows",
        "/health/../..",
    ];
    let mut all = Vec::new();
    for path in paths {
        for (method, length) in [("POST", 1), ("PUT", 300), ("POST", 70_000), ("DELETE", 10)] {
            let bytes = dice.bytes(length);
            let headers = [("dbms", DBMS), ("table", "g"), ("content-type", "application/json")];
            let bytes = request(
                &format!("{method} {path}"),
                &places.operator.to_string(),
                &headers,
                &bytes,
            );
            all.push(Attack::new(
                format!("{method} {path} of {length} random bytes"),
                Door::Operator,
                bytes,
            ));
        }
    }
    all
}
