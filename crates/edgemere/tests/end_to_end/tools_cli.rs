//! `edgemere tools` and `edgemere mcp --node`: the tools looked at, checked and called on a real node.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Node, edgemere, parts, run};

/// Tools on the rows that the tests store.
const TOOLS: &str = r#"
tools:
  - name: rows
    description: The rows. In the order of n.
    command:
      sql: SELECT n, site FROM pumps WHERE n >= {from} ORDER BY n
      database: water
      format: mcp:columns
      headers: {destination: network}
    input_schema:
      properties: {from: {type: integer, default: 0}, stream: {type: boolean}}
    limits: {rows: 4}
  - name: more
    description: The next rows.
    command: query fetch {cursor} where format = mcp:columns
    input_schema:
      properties: {cursor: {type: string}}
      required: [cursor]
    limits: {rows: 4}
  - name: tables
    description: The tables.
    command: blockchain get table where format = mcp
"#;

/// A node with ten rows, and the file of tools in its folder.
fn node() -> Node {
    let node = Node::start(&["--name", "plant"]);
    std::fs::write(node.folder.path().join("t.yaml"), TOOLS).unwrap();
    let rows: String = (0..10).map(|n| format!("{n},s{}\n", n % 2)).collect();
    std::fs::write(node.folder.path().join("pumps.csv"), format!("n,site\n{rows}")).unwrap();
    let import = ["import", "pumps.csv", "--dbms", "water", "--node", &node.http];
    let (_, stderr, code) = parts(&run(node.folder.path(), &import));
    assert_eq!(code, 0, "{stderr}");
    node
}

fn tools(folder: &Path, args: &[&str]) -> (String, String, i32) {
    parts(&run(folder, &[&["tools"], args].concat()))
}

fn call(node: &Node, args: &[&str]) -> (String, String, i32) {
    let to = ["--node", node.http.as_str(), "--tools", "t.yaml"];
    tools(node.folder.path(), &[&["call"], args, &to].concat())
}

fn answer(node: &Node, args: &[&str]) -> Value {
    let (stdout, stderr, code) = call(node, args);
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

#[test]
fn the_tools_are_listed_for_people_and_for_programs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.yaml"), TOOLS).unwrap();
    let list =
        |more: &[&str]| tools(folder.path(), &[&["list", "--tools", "t.yaml"], more].concat());
    let (stdout, _, _) = list(&[]);
    let listed: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(
        listed[0],
        json!({ "name": "rows", "description": "The rows. In the order of n.", "read_only": true })
    );
    let (painted, _, code) = list(&["--color", "always"]);
    assert!(code == 0 && painted.contains("rows  |The rows.     |"), "{painted}");
    let (builtin, _, _) = tools(folder.path(), &["list"]);
    let builtin: Vec<Value> = serde_json::from_str(&builtin).unwrap();
    assert!(builtin.iter().any(|tool| tool["name"] == "list_databases"));
}

#[test]
fn a_tool_is_shown_with_its_arguments_its_lines_and_a_call() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.yaml"), TOOLS).unwrap();
    let show = |name: &str, more: &[&str]| {
        tools(folder.path(), &[&["show", name, "--tools", "t.yaml"], more].concat())
    };
    let shown: Value = serde_json::from_str(&show("more", &[]).0).unwrap();
    assert_eq!(shown["input_schema"]["required"], json!(["cursor"]));
    assert_eq!(shown["example"], "edgemere tools call more --arg cursor=CURSOR");
    let source = shown["source"].as_str().unwrap();
    assert!(
        source.starts_with("- name: more\n  description") && source.ends_with("{rows: 4}"),
        "{source}"
    );
    let (painted, _, _) = show("rows", &["--color", "always"]);
    for part in ["It changes nothing.", "Arguments", "t.yaml:3", "sql: SELECT n, site", "A call"] {
        assert!(painted.contains(part), "{part}: {painted}");
    }
    let (_, stderr, code) = show("mor", &[]);
    assert!(code == 3 && stderr.contains("did you mean \"more\"?"), "{stderr}");
}

#[test]
fn a_file_is_checked_with_the_place_of_everything_that_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.yaml"), TOOLS).unwrap();
    let (stdout, stderr, code) = tools(folder.path(), &["validate", "good.yaml"]);
    assert_eq!(
        (stdout.as_str(), stderr.as_str(), code),
        ("good.yaml: 3 tools, no problems\n", "", 0)
    );
    let bad = "tools:\n  - name: a\n    description: A.\n    command: get statu\n  - name: a\n    \
               description: B.\n    command: drop table t\n";
    std::fs::write(folder.path().join("bad.yaml"), bad).unwrap();
    let (stdout, stderr, code) = tools(folder.path(), &["validate", "bad.yaml"]);
    assert_eq!((stdout.as_str(), code), ("", 2));
    assert!(
        stderr.contains("bad.yaml:4:") && stderr.contains("    command: get statu\n"),
        "{stderr}"
    );
    assert!(stderr.contains("bad.yaml:7:") && stderr.contains("^^^"), "{stderr}");
    assert!(stderr.ends_with(" problems\n"), "{stderr}");
    let (_, painted, _) = tools(folder.path(), &["validate", "bad.yaml", "--color", "always"]);
    assert!(painted.contains("\u{1b}["), "{painted}");
    let (_, stderr, code) = tools(folder.path(), &["list", "--tools", "bad.yaml"]);
    assert!(code == 2 && stderr.contains("bad.yaml:4:"), "{stderr}");
    let (_, stderr, code) = tools(folder.path(), &["validate", "none.yaml"]);
    assert!(code == 2 && stderr.starts_with("none.yaml: "), "{stderr}");
}

#[test]
fn sql_is_planned_on_a_node_that_is_named() {
    let node = node();
    let folder = node.folder.path();
    let (wrong, later) = ("SELECT sight FROM pumps", "SELECT x FROM not_there_yet");
    let bad = TOOLS.replace("SELECT n, site FROM pumps", wrong);
    let good = TOOLS.replace("SELECT n, site FROM pumps", later);
    std::fs::write(folder.join("bad.yaml"), bad).unwrap();
    std::fs::write(folder.join("later.yaml"), good).unwrap();
    let validate = |file: &str, node: &str| tools(folder, &["validate", file, "--node", node]);
    for (file, planned) in [("t.yaml", "1 tool"), ("later.yaml", "0 tools")] {
        let (stdout, stderr, code) = validate(file, &node.http);
        assert_eq!((stderr.as_str(), code), ("", 0));
        let said = format!("{file}: 3 tools, no problems; the SQL of {planned} was planned on ");
        assert!(stdout.starts_with(&said), "{stdout}");
    }
    let (stdout, stderr, code) = validate("bad.yaml", &node.http);
    assert_eq!((stdout.as_str(), code), ("", 2));
    assert!(stderr.contains("bad.yaml:3:") && stderr.contains("\"sight\""), "{stderr}");
    assert!(stderr.contains("hint: ") && stderr.contains("site"), "{stderr}");
    let (_, stderr, code) = validate("t.yaml", "127.0.0.1:1");
    assert!(code == 6 && stderr.contains("127.0.0.1:1"), "{stderr}");
}

#[test]
fn the_schema_of_files_is_a_schema() {
    let folder = tempfile::tempdir().unwrap();
    let (stdout, _, code) = tools(folder.path(), &["schema"]);
    let schema: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &schema["properties"]["tools"]["type"]), (0, &json!("array")));
}

#[test]
fn a_call_gives_rows_with_the_way_to_the_next_ones_also_from_another_process() {
    let node = node();
    let first = answer(&node, &["rows"]);
    assert_eq!(first["columns"], json!(["n", "site"]));
    assert_eq!(first["rows"], json!([[0, "s0"], [1, "s1"], [2, "s0"], [3, "s1"]]));
    let provenance = &first["provenance"];
    assert_eq!(
        (&provenance["answered"], &provenance["complete"]),
        (&json!(["plant"]), &json!(true))
    );
    let mut seen = 4;
    let mut last = first;
    while last["truncated"] == true {
        let cursor = format!("cursor={}", last["next_cursor"].as_str().unwrap());
        last = answer(&node, &["more", "--arg", &cursor]);
        assert_eq!(last["rows"][0][0], seen);
        seen += last["rows"].as_array().unwrap().len();
        let (_, stderr, code) = call(&node, &["more", "--arg", &cursor]);
        assert!(code == 3 && stderr.contains("no cursor"), "{stderr}");
    }
    assert_eq!(seen, 10);
}

#[test]
fn arguments_are_typed_and_all_that_is_wrong_with_them_is_told() {
    let node = node();
    let from = |args: &[&str]| answer(&node, &[&["rows"], args].concat())["rows"][0][0].clone();
    assert_eq!(from(&["--arg", "from=7"]), 7);
    assert_eq!(from(&["--json", "{\"from\": 8}"]), 8);
    assert_eq!(from(&["--json", "{\"from\": 8}", "--arg", "from=9"]), 9);
    let (stdout, stderr, code) = call(&node, &["rows", "--arg", "from=x", "--arg", "form=1"]);
    assert_eq!((stdout.as_str(), code), ("", 2));
    assert!(
        stderr.contains("from: must be a whole number") && stderr.contains("form: "),
        "{stderr}"
    );
    assert_eq!(call(&node, &["rows", "--json", "[1]"]).2, 2);
    assert_eq!(call(&node, &["rows", "--arg", "from"]).2, 2);
}

#[test]
fn people_see_a_table_and_what_is_left_out() {
    let node = node();
    let (stdout, stderr, code) = call(&node, &["rows", "--color", "always"]);
    assert_eq!(code, 0);
    assert!(stdout.contains("0|s0  |\n1|s1  |\n"), "{stdout}");
    assert!(stderr.contains("4 rows in ") && stderr.contains("there are more"), "{stderr}");
    assert!(stderr.contains("/api/v1/results/"), "{stderr}");
    let (stdout, _, _) = call(&node, &["tables", "--color", "always"]);
    assert!(stdout.contains("water   |pumps|\n"), "{stdout}");
}

#[test]
fn the_shipped_tools_that_can_be_tried_answer_on_a_node() {
    let node = node();
    let test = ["test", "--node", &node.http];
    let (stdout, stderr, code) = tools(node.folder.path(), &test);
    assert_eq!(code, 0, "{stdout} {stderr}");
    let tried: Vec<Value> = serde_json::from_str(&stdout).unwrap();
    let state = |name: &str| {
        let found = tried.iter().find(|one| one["name"] == name).unwrap();
        found["status"].as_str().unwrap()
    };
    assert_eq!([state("list_databases"), state("query")], ["answered", "skipped"]);
    let broken = "tools:\n  - name: gone\n    description: D.\n    command: get columns where dbms = a \
                  and table = b\n";
    std::fs::write(node.folder.path().join("b.yaml"), broken).unwrap();
    let test = ["test", "--node", &node.http, "--tools", "b.yaml", "--color", "always"];
    let (stdout, stderr, code) = tools(node.folder.path(), &test);
    assert!(stdout.contains("gone|fails|"), "{stdout}");
    assert!(code == 3 && stderr.contains("1 of 1 tools failed: gone"), "{stderr}");
}

#[test]
fn agents_are_served_on_stdio_with_what_another_node_answers() {
    let node = node();
    let mut command =
        edgemere(node.folder.path(), &["mcp", "--node", &node.http, "--tools", "t.yaml"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut lines = BufReader::new(stdout).lines();
    let mut told = Vec::new();
    let mut ask = |id: u64, method: &str, params: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(stdin, "{request}").unwrap();
        loop {
            let line = lines.next().unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message["result"].clone();
            }
            told.extend(message["params"]["message"].as_str().map(ToOwned::to_owned));
        }
    };
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    assert_eq!(ask(1, "initialize", hello)["serverInfo"]["name"], "edgemere");
    let offered = ask(2, "tools/list", json!({}));
    assert_eq!(
        offered["tools"][0]["outputSchema"]["properties"]["columns"]["const"],
        json!(["n", "site"])
    );
    let rows = ask(3, "tools/call", json!({ "name": "rows", "arguments": { "from": 9 } }));
    assert_eq!(rows["structuredContent"]["rows"], json!([[9, "s1"]]));
    let table = ask(4, "resources/read", json!({ "uri": "edgemere://water/pumps" }));
    let text = table["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"table\":\"pumps\""), "{text}");
    let all = json!({
        "name": "rows", "arguments": { "stream": true }, "_meta": { "progressToken": "p" },
    });
    let streamed = ask(5, "tools/call", all)["structuredContent"].take();
    assert_eq!((&streamed["row_count"], &streamed["streamed"]), (&json!(10), &json!(true)));
    assert_eq!(streamed["columns"], json!(["n", "site"]));
    drop(stdin);
    let told: Vec<Value> = told.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(told[0]["rows"][9], json!({ "n": 9, "site": "s1" }));
    assert_eq!(told[1], json!({ "type": "complete", "total_rows": 10 }));
    assert!(child.wait().unwrap().success());
}
