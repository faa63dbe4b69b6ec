//! `edgemere demo`: a network of processes that starts, answers, and leaves nothing behind however it
//! ends.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{edgemere, end, parts, run, signal, wait_for};

/// The rows of the demos here. They cannot be divided evenly among the devices.
const ROWS: i64 = 5_003;

/// What the demo says last when it is ready.
const LAST_WORDS: &str = "Ctrl-C stops";

/// A demo that runs, with everything of it in a folder.
struct Demo {
    folder: TempDir,
    child: Child,
    stdout: File,
    stderr: BufReader<ChildStderr>,
    /// What it said until it was ready.
    talk: String,
}

impl Demo {
    /// Starts a demo and waits until it has said everything.
    fn start(args: &[&str]) -> Self {
        let mut demo = Self::spawn(ROWS, args);
        while !demo.talk.contains(LAST_WORDS) {
            assert_ne!(demo.stderr.read_line(&mut demo.talk).unwrap(), 0, "{}", demo.talk);
        }
        demo
    }

    /// Starts a demo.
    fn spawn(rows: i64, args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let rows = rows.to_string();
        let args = [&["demo", "--rows", rows.as_str()], args].concat();
        let stdout = tempfile::tempfile().unwrap();
        let mut command = edgemere(folder.path(), &args);
        command.stdin(Stdio::null()).stdout(stdout.try_clone().unwrap()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { folder, child, stdout, stderr, talk: String::new() }
    }

    /// What it printed: the answer of the query that it shows, line by line.
    fn answer(&mut self) -> Vec<String> {
        self.stdout.rewind().unwrap();
        BufReader::new(&self.stdout).lines().map(Result::unwrap).collect()
    }

    /// What its nodes say of themselves.
    fn nodes(&self) -> Vec<Value> {
        let folders = self.own_folder().read_dir().unwrap().map(|entry| entry.unwrap().path());
        let files = folders.map(|folder| folder.join("node.json")).filter(|file| file.exists());
        files.map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()).collect()
    }

    fn pids(&self) -> Vec<u64> {
        self.nodes().iter().map(|node| node["pid"].as_u64().unwrap()).collect()
    }

    fn node(&self, name: &str) -> Value {
        self.nodes().into_iter().find(|node| node["name"] == name).unwrap()
    }

    /// The folder that the demo made.
    fn own_folder(&self) -> PathBuf {
        let mut entries = self.folder.path().read_dir().unwrap();
        entries.next().unwrap().unwrap().path()
    }

    /// What is left of the demo on the disk.
    fn left(&self) -> Vec<PathBuf> {
        self.folder.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// What a node answers to a command that must succeed.
    fn ask(&self, node: &str, args: &[&str]) -> String {
        let http = self.node(node)["http"].as_str().unwrap().to_owned();
        let args = [&["run"], args, &["--node", http.as_str()]].concat();
        let (stdout, stderr, code) = parts(&run(self.folder.path(), &args));
        assert_eq!(code, 0, "{args:?}: {stderr}");
        stdout
    }

    /// What it said after it was ready, until its end.
    fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // It has ended already where the test was about that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process runs. One that has ended and was not waited for by its parent does not.
fn is_running(pid: u64) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().unwrap();
    let state = String::from_utf8(output.stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

fn wait_for_the_end_of(pids: &[u64]) {
    wait_for("the end of the nodes", || (!pids.iter().any(|pid| is_running(*pid))).then_some(()));
}

/// The rows of a table of CSV, by column.
fn csv(text: &str) -> Vec<Vec<String>> {
    text.lines().skip(1).map(|line| line.split(',').map(String::from).collect()).collect()
}

#[test]
fn the_demo_is_a_network_whose_answer_is_right() {
    let mut demo = Demo::start(&[]);
    let answer = demo.answer();
    assert!(answer[0].starts_with("device"), "{answer:?}");
    let cells = |line: &String| line.split_whitespace().map(String::from).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = answer[2..].iter().map(cells).collect();
    // 5,003 rows of 16 devices: 11 of them have one more than 312. Each pump is at one operator.
    assert!(rows[0][0] == "harbour-pump-2" && rows[0][1] == "313", "{answer:?}");
    assert_eq!(rows.len(), 5, "{answer:?}");
    assert!(rows.iter().all(|row| row[1] == "313"), "{answer:?}");
    assert!(rows.iter().any(|row| row[0].starts_with("hillside-")), "{answer:?}");

    let names = ["master", "harbour", "hillside", "query"];
    let mut started: Vec<_> =
        demo.nodes().iter().map(|node| node["name"].as_str().unwrap().to_owned()).collect();
    started.sort_by_key(|name| names.iter().position(|other| other == name));
    assert_eq!(started, names);
    for name in names {
        assert!(demo.talk.contains(demo.node(name)["http"].as_str().unwrap()), "{}", demo.talk);
    }
    let devices = "blockchain get device where site = hillside bring [name] separator = ,";
    assert_eq!(demo.ask("query", &[devices]).trim().split(',').count(), 8);

    // What came after the start has later times, so that the rows of the start can be counted.
    let first = "select min(timestamp) as t, max(timestamp) as n from pumps";
    let bounds = csv(&demo.ask("harbour", &[&format!("sql water format = csv \"{first}\"")]));
    let count = |node: &str, table: &str, more: &[&str]| {
        let sql = format!(
            "select count(*) as n from {table} where timestamp < timestamp '{}' + interval '313 \
             seconds'",
            bounds[0][0]
        );
        let command = format!("sql water format = csv \"{sql}\"");
        let reply = demo.ask(node, &[&[command.as_str()], more].concat());
        csv(&reply)[0][0].parse::<i64>().unwrap()
    };
    let mut all = 0;
    for table in ["pumps", "flow", "tanks", "quality"] {
        let parts = count("harbour", table, &[]) + count("hillside", table, &[]);
        assert_eq!(count("query", table, &["--destination", "network"]), parts, "{table}");
        all += parts;
    }
    assert_eq!(all, ROWS);

    // New rows keep coming, at every operator and into every table.
    for operator in ["harbour", "hillside"] {
        for table in ["pumps", "flow", "tanks", "quality"] {
            wait_for("new rows", || {
                let last = format!("sql water format = csv \"select max(timestamp) from {table}\"");
                let last = csv(&demo.ask(operator, &[&last]))[0][0].clone();
                (last > bounds[0][1]).then_some(())
            });
        }
    }
}

/// Nobody can ask for all rows before all rows are there: the query node comes last.
#[test]
fn the_first_answer_is_whole() {
    const MANY: i64 = 200_000;
    let mut demo = Demo::spawn(MANY, &[]);
    wait_for("the query node", || {
        let own = demo.folder.path().read_dir().unwrap().next()?.unwrap().path();
        serde_json::from_slice::<Value>(&std::fs::read(own.join("query/node.json")).ok()?).ok()
    });
    let count = |operator: &str, table: &str| {
        let command = format!("sql water format = csv \"select count(*) from {table}\"");
        csv(&demo.ask(operator, &[&command]))[0][0].parse::<i64>().unwrap()
    };
    let tables = ["pumps", "flow", "tanks", "quality"];
    let stored = tables.map(|table| count("harbour", table) + count("hillside", table));
    assert!(stored.iter().sum::<i64>() >= MANY, "{stored:?}");
    signal(&demo.child, "TERM");
    let talk = demo.rest();
    assert!(talk.starts_with("Storing 200,000 rows …\n"), "{talk}");
}

#[test]
fn what_the_demo_says_to_try_has_an_answer() {
    let demo = Demo::start(&["--operators", "3"]);
    let mut tried = 0;
    let begins = ["curl -H", "edgemere run", "edgemere sql"];
    for line in demo.talk.lines().filter(|line| line.starts_with("  ")) {
        if !begins.iter().any(|begin| line.contains(begin)) {
            continue;
        }
        let line = line.trim().to_owned();
        let output =
            Command::new("sh").args(["-c", &line]).current_dir(demo.folder.path()).output();
        let (stdout, stderr, code) = parts(&output.unwrap());
        assert!(code == 0 && !stdout.is_empty(), "{line}: {stdout}{stderr}");
        assert!(!stdout.contains("err_code"), "{line}: {stdout}");
        tried += 1;
    }
    assert_eq!(tried, 5, "{}", demo.talk);
}

#[test]
fn the_guide_to_a_first_tool_is_true() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/first-tool.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let block = |language: &str| {
        let (_, begun) = guide.split_once(&format!("```{language}\n")).unwrap();
        begun.split_once("```").unwrap().0
    };
    let demo = Demo::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("plant.yaml"), block("yaml")).unwrap();
    // The demo of the guide has the usual port.
    let http = demo.node("query")["http"].as_str().unwrap().to_owned();
    let said: Vec<_> = guide.lines().filter(|line| line.starts_with("edgemere tools ")).collect();
    let answers: Vec<_> = said
        .iter()
        .map(|line| {
            let line = line.replace("127.0.0.1:32349", &http);
            let args: Vec<_> = line.split(' ').skip(1).collect();
            let mut command = edgemere(folder.path(), &args);
            let (stdout, stderr, code) =
                parts(&command.env("EDGEMERE_NODE", &http).output().unwrap());
            assert_eq!(code, 0, "{line}: {stderr}");
            stdout
        })
        .collect();
    let [validated, called] = answers.as_slice() else { panic!("{said:?}") };
    assert!(validated.contains("the SQL of 1 tool was planned"), "{validated}");
    let called: Value = serde_json::from_str(called).unwrap();
    assert_eq!(called["columns"], json!(["device", "hottest", "readings"]));
    let rows = called["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row[1].as_f64().unwrap() > 70.0), "{called}");
    assert_eq!(called["provenance"]["answered"], json!(["harbour", "hillside"]));

    // What a client starts offers the tool, beside those that come with Edgemere.
    let line = guide.lines().find(|line| line.starts_with("edgemere mcp --node")).unwrap();
    let line = line.replace("127.0.0.1:32349", &http);
    let args: Vec<_> = line.split(' ').skip(1).collect();
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let mut served = edgemere(folder.path(), &args);
    served.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut served = served.spawn().unwrap();
    let mut stdin = served.stdin.take().unwrap();
    writeln!(stdin, "{hello}\n{ready}\n{list}").unwrap();
    let mut lines = BufReader::new(served.stdout.take().unwrap()).lines().map(Result::unwrap);
    let listed = lines.find(|line| line.contains("\"id\":2")).unwrap();
    assert!(listed.contains("\"hot_pumps\"") && listed.contains("\"list_tables\""), "{listed}");
    // It ends with its stdin.
    drop(stdin);
    assert!(served.wait().unwrap().success());
}

#[test]
fn an_interrupt_stops_every_node_and_leaves_nothing_behind() {
    for name in ["INT", "TERM"] {
        let mut demo = Demo::start(&["--operators", "1"]);
        let pids = demo.pids();
        assert_eq!(pids.len(), 3);
        signal(&demo.child, name);
        assert_eq!(end(&mut demo.child).code(), Some(0), "{}", demo.rest());
        assert!(!pids.iter().any(|pid| is_running(*pid)), "{pids:?}");
        assert_eq!(demo.left(), Vec::<PathBuf>::new(), "{}", demo.rest());
    }
}

#[test]
fn an_interrupt_stops_a_demo_that_still_stores_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = edgemere(folder.path(), &["demo", "--rows", "100000000"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let data = wait_for("the operators", || {
        let own = folder.path().read_dir().unwrap().next()?.unwrap().path();
        let is_ready = |name: &&str| own.join(name).join("node.json").exists();
        ["harbour", "hillside"].iter().all(is_ready).then_some(own)
    });
    assert!(!data.join("query").exists(), "nobody can ask while rows are missing");
    let about = std::fs::read(data.join("hillside/node.json")).unwrap();
    let pid = serde_json::from_slice::<Value>(&about).unwrap()["pid"].as_u64().unwrap();
    signal(&child, "INT");
    assert_eq!(end(&mut child).code(), Some(0));
    assert!(!is_running(pid));
    assert!(!data.exists());
}

#[test]
fn a_demo_that_is_killed_leaves_no_node() {
    let mut demo = Demo::start(&[]);
    let pids = demo.pids();
    assert_eq!(pids.len(), 4);
    demo.child.kill().unwrap();
    wait_for_the_end_of(&pids);
    // They stopped as they should, and were not ended by an error of theirs.
    assert_eq!(demo.nodes(), Vec::<Value>::new());
    let log = std::fs::read_to_string(demo.own_folder().join("harbour.log")).unwrap();
    assert!(log.contains("stopping") && !log.contains("ERROR"), "{log}");
}

#[test]
fn a_node_that_ends_is_named_with_its_log_and_ends_the_demo() {
    let mut demo = Demo::start(&[]);
    let pids = demo.pids();
    let pid = demo.node("hillside")["pid"].as_u64().unwrap().to_string();
    assert!(Command::new("kill").args(["-s", "KILL", &pid]).status().unwrap().success());
    assert_eq!(end(&mut demo.child).code(), Some(6));
    let rest = demo.rest();
    assert!(rest.contains("error: the operator \"hillside\" of the demo has ended"), "{rest}");
    assert!(rest.contains("hillside is ready (operator)"), "{rest}");
    assert!(rest.contains("hint: "), "{rest}");
    assert!(!pids.iter().any(|pid| is_running(*pid)), "{pids:?}");
    assert_eq!(demo.left(), Vec::<PathBuf>::new(), "{rest}");
}

#[test]
fn the_users_own_settings_are_not_for_the_nodes_of_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("edgemere.toml"), "access = \"read\"\n").unwrap();
    let args = ["demo", "--rows", "1000", "--operators", "1"];
    let mut command = edgemere(folder.path(), &args);
    command.env("EDGEMERE_ROLE", "query").env("EDGEMERE_MASTER", "127.0.0.1:1");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut talk = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    while !talk.contains(LAST_WORDS) {
        assert_ne!(stderr.read_line(&mut talk).unwrap(), 0, "{talk}");
    }
    signal(&child, "TERM");
    assert_eq!(end(&mut child).code(), Some(0));
}

#[test]
fn what_cannot_be_is_refused_with_what_can() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = [
        (["--operators", "0"], "1..=16"),
        (["--operators", "17"], "1..=16"),
        (["--operators", "many"], "invalid digit"),
        (["--rows", "0"], "1000..=100000000"),
        (["--rows", "-1"], "unexpected argument"),
        (["--rows", "5000000000"], "1000..=100000000"),
    ];
    for (args, reason) in wrong {
        let (_, stderr, code) = parts(&run(folder.path(), &[&["demo"], &args[..]].concat()));
        assert_eq!(code, 2, "{args:?}: {stderr}");
        assert!(stderr.contains(reason), "{args:?}: {stderr}");
    }
}

#[test]
fn a_temporary_folder_that_cannot_be_made_is_told_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = edgemere(folder.path(), &["demo"]);
    let output = command.env("TMPDIR", folder.path().join("missing")).output().unwrap();
    let (_, stderr, code) = parts(&output);
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("cannot make a temporary folder"), "{stderr}");
    assert!(stderr.contains("TMPDIR"), "{stderr}");
}
