//! Tools on a node of EdgeLake: its captured replies, replayed, with the quirks that it has.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::support::{parts, run, run_with_input};

const CAPTURED: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/edgelake.jsonl"));

/// Tools of which EdgeLake's captured commands are made.
const TOOLS: &str = r#"
tools:
  - name: databases
    description: The databases.
    command: blockchain get table where format = mcp and extract = dbms
  - name: tables
    description: The tables.
    command: blockchain get table where format = mcp
  - name: publishers
    description: Between prompts and messages.
    command: blockchain get (operator, publisher) where format = mcp
  - name: columns
    description: The columns.
    command: get columns where dbms = {database} and table = {table} and format = mcp
    input_schema:
      properties: {database: {type: string}, table: {type: string}}
      required: [database, table]
  - name: status
    description: The status.
    command: get status where format = mcp include statistics
  - name: processes
    description: A text.
    command: get processes
  - name: sql
    description: A query.
    command:
      template: sql {database} format = mcp:columns "{q:sql}"
      headers: {destination: network}
    input_schema:
      properties: {database: {type: string}, sql: {type: string}}
      required: [database, sql]
  - name: count
    description: Of those that are there.
    command:
      template: sql new_company format = mcp:columns "select count(*) from rand_data"
      headers: {destination: network, subset: true}
  - name: parsed
    description: As EdgeLake's own tools have it.
    command:
      template: sql new_company format = json "select timestamp, value, device_name from rand_data limit 3"
      headers: {destination: network}
      response_parser: {extract_path: "$.Query[*].value"}
  - name: two
    description: Not all of them.
    command:
      template: >-
        sql new_company format = mcp:columns
        "select device_name, count(*), avg(value), sum(value) from rand_data group by device_name"
      headers: {destination: network}
    limits: {rows: 2}
"#;

/// A node of EdgeLake that knows what was captured. It lives as long as the test's process.
struct EdgeLake {
    url: String,
    folder: tempfile::TempDir,
    /// The commands that it was sent.
    sent: Arc<Mutex<Vec<String>>>,
}

impl EdgeLake {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let sent = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&sent);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, log) = (stream.unwrap(), Arc::clone(&log));
                thread::spawn(move || serve(stream, &log));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("t.yaml"), TOOLS).unwrap();
        Self { url, folder, sent }
    }

    /// The commands that it was sent since the last time, but for its name.
    fn sent(&self) -> Vec<String> {
        let mut sent = std::mem::take(&mut *self.sent.lock().unwrap());
        sent.retain(|command| command != "get node name");
        sent
    }

    /// A call of one of the tools that are shipped.
    fn shipped(&self, tool: &str, arguments: Value) -> (String, String, i32) {
        let arguments = arguments.to_string();
        let to = ["--node", &self.url, "--json", &arguments];
        parts(&run(self.folder.path(), &[&["tools", "call", tool], &to[..]].concat()))
    }

    fn call(&self, args: &[&str]) -> (String, String, i32) {
        let to = ["--node", &self.url, "--tools", "t.yaml"];
        parts(&run(self.folder.path(), &[&["tools", "call"], args, &to].concat()))
    }

    fn answer(&self, args: &[&str]) -> Value {
        let (stdout, stderr, code) = self.call(args);
        assert_eq!(code, 0, "{args:?}: {stderr}");
        serde_json::from_str(&stdout).unwrap()
    }
}

/// Answers one request, and hangs up as EdgeLake does.
fn serve(mut stream: TcpStream, log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let (method, path) = match line.split(' ').collect::<Vec<_>>().as_slice() {
        [method, path, ..] => ((*method).to_owned(), (*path).to_owned()),
        _ => return,
    };
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    if let Ok(Value::Object(fields)) = serde_json::from_slice(&body) {
        headers.extend(fields.iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())));
    }
    log.lock().unwrap().extend(headers.get("command").cloned());
    let (status, reply) = reply(&method, &path, &headers);
    let length = reply.len();
    // With an error it announces chunks and sends plain JSON.
    let head = match status {
        200 => format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"),
        _ => format!(
            "HTTP/1.1 {status} {reply}\r\nTransfer-Encoding: chunked\r\nconnection: close\r\n\r\n"
        ),
    };
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(reply.as_bytes())).unwrap();
}

fn reply(method: &str, path: &str, headers: &HashMap<String, String>) -> (u16, String) {
    if path == "/health" {
        return (200, json!({ "status": "ok" }).to_string());
    }
    // Whoever does not say that it is AnyLog gets nothing.
    if !headers.get("user-agent").is_some_and(|agent| agent.starts_with("AnyLog")) {
        return (200, String::new());
    }
    let get = |key: &str| headers.get(key).map(String::as_str).unwrap_or_default();
    let captured = CAPTURED.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut found = captured.filter(|exchange| {
        let text = |key: &str| exchange["headers"][key].as_str().unwrap_or_default();
        exchange["method"] == method
            && normal(text("command")) == normal(get("command"))
            && (text("destination"), text("subset")) == (get("destination"), get("subset"))
    });
    match found.next() {
        Some(found) => {
            let status = u16::try_from(found["status"].as_u64().unwrap()).unwrap();
            (status, found["reply"].as_str().unwrap().to_owned())
        }
        None => {
            let command = get("command");
            let error = json!({ "err_code": 141, "err_text": "Unrecognized Command", "local_msg": command });
            (400, error.to_string())
        }
    }
}

/// A command without what makes no difference: letters of words, quotes around a word, statistics.
fn normal(command: &str) -> String {
    let command = command.to_lowercase().replace('"', "").replace(" and stat = false", "");
    command.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_edgelake_has_no_format_for_is_given_here() {
    let node = EdgeLake::start();
    assert_eq!(node.answer(&["databases"])["result"], json!(["new_company"]));
    let tables = json!([{ "database": "new_company", "table": "rand_data" }]);
    let answer = node.answer(&["tables"]);
    assert_eq!(answer["result"], tables);
    assert_eq!(answer["provenance"]["answered"], json!(["Query@127.0.0.1:33348"]));
    let answer =
        node.answer(&["columns", "--arg", "database=new_company", "--arg", "table=rand_data"]);
    assert_eq!(answer["result"][5], json!({ "name": "value", "type": "decimal" }));
}

#[test]
fn json_is_picked_out_of_prompts_and_messages() {
    let node = EdgeLake::start();
    let publishers = node.answer(&["publishers"]);
    assert_eq!(
        publishers["result"],
        json!([{ "name": "operator1", "ip": "127.0.0.1", "port": 33148 }])
    );
    let processes = node.answer(&["processes"]);
    assert!(processes["result"].as_str().unwrap().starts_with("Process"), "{processes}");
}

#[test]
fn a_form_that_is_not_understood_is_tried_without_what_is_new() {
    let node = EdgeLake::start();
    assert_eq!(node.answer(&["status"])["result"]["status"], "running");
}

#[test]
fn rows_have_columns_and_say_how_many_operators_gave_them() {
    let node = EdgeLake::start();
    let sql = "sql=SELECT \"timestamp\", value, device_name\nFROM \"rand_data\" LIMIT 3";
    let answer = node.answer(&["sql", "--arg", "database=new_company", "--arg", sql]);
    assert_eq!(answer["columns"], json!(["timestamp", "value", "device_name"]));
    assert_eq!(answer["rows"][0], json!(["2026-01-01 20:00:00.500000", 77.459, "sensor-0"]));
    let truncated = (&answer["row_count"], &answer["truncated"]);
    assert_eq!(truncated, (&json!(3), &json!(false)));
    let asked = json!(["2 operators asked by Query@127.0.0.1:33348"]);
    assert_eq!(answer["provenance"]["answered"], asked);
    let parsed = node.answer(&["parsed"]);
    assert_eq!(parsed["result"], json!([77.459, 85.378, 93.297]));
}

#[test]
fn rows_that_do_not_fit_are_left_out_and_said() {
    let node = EdgeLake::start();
    let answer = node.answer(&["two"]);
    assert_eq!(answer["rows"].as_array().unwrap().len(), 2);
    assert_eq!((&answer["truncated"], answer.get("next_cursor")), (&json!(true), None));
    assert!(answer["note"].as_str().unwrap().contains("keeps no cursor"), "{answer}");
}

#[test]
fn who_is_missing_is_told() {
    let node = EdgeLake::start();
    let answer = node.answer(&["count"]);
    assert_eq!(answer["rows"], json!([[100_000]]));
    let provenance = &answer["provenance"];
    assert_eq!(provenance["missing"], json!(["1 operator without an answer"]));
    assert_eq!(provenance["complete"], false);
}

#[test]
fn errors_with_the_status_of_success_are_errors() {
    let node = EdgeLake::start();
    let sql = |database: &str, sql: &str| {
        let (database, sql) = (format!("database={database}"), format!("sql={sql}"));
        let (stdout, stderr, code) = node.call(&["sql", "--arg", &database, "--arg", &sql]);
        assert_eq!(stdout, "");
        (stderr, code)
    };
    let (stderr, code) = sql(
        "new_company",
        "select count(*) from rand_data where device_name in ('sensor-1','sensor-2')",
    );
    assert!(stderr.contains("error 46") && stderr.contains("one table"), "{stderr}");
    assert_eq!(code, 2);
    let (stderr, code) = sql("nosuchdb", "select count(*) from rand_data");
    assert_eq!(code, 3, "{stderr}");
    let (stderr, code) = sql("new_company", "select count(*) from rand_data");
    assert!(stderr.contains("127.0.0.1:33158") && stderr.contains("subset"), "{stderr}");
    assert_eq!(code, 6);
    let (stderr, code) = sql("new_company", "select 1 as \"a b\" from rand_data");
    assert!(code == 2 && stderr.contains("not asked of EdgeLake"), "{stderr}");
}

#[test]
fn a_value_that_edgelake_would_read_as_more_is_not_sent() {
    let node = EdgeLake::start();
    let hostile = "database=x\" system ls";
    let (_, stderr, code) = node.call(&["columns", "--arg", hostile, "--arg", "table=t"]);
    assert!(code == 2 && stderr.contains("cannot be given the value"), "{stderr}");
}

#[test]
fn an_agent_gives_edgelake_no_options_variables_or_other_statements() {
    let node = EdgeLake::start();
    let db = "new_company";
    let calls = [
        (
            "sql",
            json!({ "database": db, "sql": "and dest = file and file = x select value from rand_data limit 2" }),
        ),
        ("sql", json!({ "database": db, "sql": "drop table rand_data" })),
        (
            "sql",
            json!({ "database": db, "sql": "select value from rand_data; drop table rand_data" }),
        ),
        (
            "sql",
            json!({ "database": db, "sql": "select value from rand_data where device_name = '!dbvar'" }),
        ),
        ("sql", json!({ "database": "!dbvar", "sql": "select value from rand_data" })),
        (
            "query",
            json!({ "database": db, "table": "rand_data", "where": "device_name = '$HOME'" }),
        ),
        ("query", json!({ "database": db, "table": "rand_data", "select": ["value * 2"] })),
        ("get_schema", json!({ "database": "!dbvar", "table": "t" })),
        ("monitor_nodes", json!({ "nodes": ["!dbvar"] })),
        ("explain", json!({ "database": db, "sql": "select value from rand_data" })),
        ("fetch_rows", json!({ "cursor": "abc" })),
    ];
    for (tool, arguments) in calls {
        let (stdout, stderr, code) = node.shipped(tool, arguments.clone());
        assert!(code == 2 || code == 3, "{tool} {arguments}: {code} {stdout} {stderr}");
        let asked = node.sent();
        let is_harmless = |command: &String| command == "blockchain get (master, query, operator)";
        assert!(asked.iter().all(is_harmless), "{tool} {arguments}: {asked:?}");
    }
    // In a condition on policies such a name is a text like any other, and stays here.
    let (stdout, stderr, code) = node.shipped("list_tables", json!({ "database": "!dbvar" }));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("[]") && node.sent() == ["blockchain get table"], "{stdout}");
}

#[test]
fn queries_are_asked_as_edgelake_answers_them_rightly() {
    let node = EdgeLake::start();
    let query = |arguments: Value| {
        let (stdout, stderr, code) = node.shipped("query", arguments);
        assert_eq!(code, 0, "{stderr}");
        serde_json::from_str::<Value>(&stdout).unwrap()
    };
    let hour = "timestamp >= '2026-01-01 06:00:00' and timestamp < '2026-01-01 07:00:00'";
    let counted = query(json!({ "database": "new_company", "table": "rand_data",
                                "select": ["count(*)"], "where": hour }));
    assert_eq!(counted["rows"], json!([[720]]));
    let grouped = query(json!({ "database": "new_company", "table": "rand_data",
                                "select": ["device_name", "count(*) as n"], "group_by": ["device_name"],
                                "having": "max(value) > 99.99", "order_by": ["device_name desc"],
                                "limit": 1 }));
    assert_eq!(
        (&grouped["columns"], &grouped["rows"]),
        (&json!(["device_name", "n"]), &json!([["sensor-4", 2000]]))
    );
    let empty =
        query(json!({ "database": "new_company", "table": "rand_data", "select": ["value"],
                              "where": "value > 1000" }));
    assert_eq!((&empty["columns"], &empty["rows"]), (&json!(["value"]), &json!([])));
}

#[test]
fn every_node_is_in_the_answer_by_its_address() {
    let node = EdgeLake::start();
    let (stdout, stderr, code) = node.shipped("monitor_nodes", json!({}));
    assert_eq!(code, 0, "{stderr}");
    let answer: Value = serde_json::from_str(&stdout).unwrap();
    for address in ["127.0.0.1:36048", "127.0.0.1:36348", "127.0.0.1:36148"] {
        assert_eq!(answer["result"]["nodes"][address]["status"], "running", "{answer}");
    }
    assert_eq!(answer["provenance"]["missing"], json!(["127.0.0.1:36158"]), "{answer}");
    let (stdout, stderr, code) = node.shipped("monitor_nodes", json!({ "nodes": ["operator1"] }));
    assert!(code == 0 && stdout.contains("op1@127.0.0.1:36148"), "{stdout} {stderr}");
}

#[test]
fn a_ledger_without_policies_is_no_answer() {
    let node = EdgeLake::start();
    // The stand-in has no clusters, and no policies at all where all are asked for.
    let (stdout, stderr, code) = node.shipped("list_policies", json!({ "type": "cluster" }));
    assert!(code == 6 && stderr.contains("no policies at all"), "{stdout} {stderr}");
    assert_eq!(node.sent(), ["blockchain get cluster", "blockchain get *"]);
}

#[test]
fn what_edgelake_says_is_wrong_is_told_and_its_other_forms_are_tried() {
    let node = EdgeLake::start();
    let (_, stderr, code) =
        node.shipped("get_schema", json!({ "database": "new_company", "table": "nosuch" }));
    assert!(code == 3 && stderr.contains("EdgeLake's error 132"), "{stderr}");
    let (stdout, stderr, code) = node.shipped("node_status", json!({}));
    assert!(code == 0 && stdout.contains("running"), "{stderr}");
    let (stdout, stderr, code) = node.shipped("help", json!({}));
    assert!(code == 0 && stdout.contains("list_databases"), "{stderr}");
    let (stdout, stderr, code) = node.shipped("job_status", json!({ "job": 5 }));
    assert!(code == 0 && stdout.contains("Completed"), "{stderr}");
}

#[test]
fn a_server_that_is_no_node_is_told_as_such() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).unwrap();
            let page = "HTTP/1.1 200 OK\r\ncontent-length: 15\r\nconnection: close\r\n\r\n<h1>nginx</h1>\n";
            stream.write_all(page.as_bytes()).unwrap();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["tools", "call", "list_databases", "--node", &url]);
    let (_, stderr, code) = parts(&output);
    assert!(code == 6 && stderr.contains("neither Edgemere nor EdgeLake"), "{stderr}");
}

/// What EdgeLake cannot do is not offered: a plan, the rest of rows, and to who may only read the end of jobs.
#[test]
fn agents_are_not_offered_what_edgelake_cannot_do() {
    let node = EdgeLake::start();
    for (access, absent, present) in [
        ("read", &["explain", "fetch_rows", "cancel_job"][..], &["sql", "job_status", "help"][..]),
        ("write", &["explain", "fetch_rows"], &["sql", "cancel_job"]),
    ] {
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        }});
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {} });
        let args = ["mcp", "--node", &node.url, "--agent-access", access];
        let said = run_with_input(node.folder.path(), &args, &format!("{hello}\n{list}\n"));
        let (stdout, stderr, _) = parts(&said);
        let replies = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let listed = replies.into_iter().find(|reply| reply["id"] == 2);
        let listed = listed.unwrap_or_else(|| panic!("{stdout}{stderr}"));
        let tools = listed["result"]["tools"].as_array().unwrap().clone();
        let is_offered = |name: &&str| tools.iter().any(|tool| tool["name"] == **name);
        assert!(present.iter().all(&is_offered), "{access}: {listed}");
        assert!(!absent.iter().any(is_offered), "{access}: {listed}");
    }
}
