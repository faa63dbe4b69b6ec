//! Nodes that are not who they seem to be, masters that are the wrong ones, and writers that go away:
//! an answer of the network is whole, or says that it is not.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::member::{Member, own_address};
use crate::support::{Node, parts, run, wait_for};

/// How many tables writers make that go away.
const TABLES: usize = 60;

fn ask(node: &Node, command: &str) -> String {
    let (stdout, stderr, code) = node.run(&[command]);
    assert_eq!(code, 0, "{command}: {stderr}");
    stdout.trim().to_owned()
}

/// Sends rows over a socket, and hangs up after so long, without an answer.
fn put_and_hang_up(node: &Node, table: &str, after: Duration) {
    let mut socket = TcpStream::connect(&node.http).unwrap();
    let body = "[{\"a\": 1}]";
    let request = format!(
        "PUT / HTTP/1.1\r\nhost: {}\r\ndbms: d\r\ntable: {table}\r\ntype: json\r\n\
         content-length: {}\r\n\r\n{body}",
        node.http,
        body.len()
    );
    socket.write_all(request.as_bytes()).unwrap();
    std::thread::sleep(after);
}

/// How many rows a node holds of a table itself.
fn held(node: &Node, table: &str) -> u64 {
    let (stdout, _, code) = node.run(&[&format!(
        "sql d format = json and stat = false \"select count(*) as n from {table}\""
    )]);
    if code != 0 {
        return 0;
    }
    let reply: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    reply["Query"][0]["n"].as_u64().unwrap()
}

fn count(node: &Node, table: &str) -> (String, String, i32) {
    let sql = format!(
        "run client () sql d format = json and stat = false \"select count(*) as n from {table}\""
    );
    node.run(&[&sql])
}

#[test]
fn writers_that_hang_up_leave_no_table_out_of_an_answer() {
    let master = own_address();
    let mut members = [
        Member::new("m", "master", &master, None),
        Member::new("one", "operator", "127.0.0.1:0", Some(&master)),
        Member::new("two", "operator", "127.0.0.1:0", Some(&master)),
        Member::new("q", "query", "127.0.0.1:0", Some(&master)),
    ];
    members.iter_mut().for_each(Member::start);
    let [_, one, two, query] = members.each_ref().map(Member::up);
    for number in 0..TABLES {
        let after = Duration::from_micros(number as u64 * 150);
        [one, two].iter().for_each(|node| put_and_hang_up(node, &format!("t{number}"), after));
    }
    for number in (0..TABLES).step_by(3) {
        let table = format!("t{number}");
        wait_for(&format!("all rows of {table}"), || {
            let stored = held(one, &table) + held(two, &table);
            let (stdout, _, code) = count(query, &table);
            let is_whole = code == 0 && stdout.contains(&format!("\"n\":{stored}"));
            (is_whole || stored == 0).then_some(())
        });
    }
}

/// Stores two rows.
fn put(node: &Node) {
    let rows = "[{\"a\": 1}, {\"a\": 2}]";
    let body = rows.len();
    let request = format!(
        "PUT / HTTP/1.1\r\nhost: {}\r\ndbms: d\r\ntable: t\r\ntype: json\r\n\
         connection: close\r\ncontent-length: {body}\r\n\r\n{rows}",
        node.http
    );
    let mut socket = TcpStream::connect(&node.http).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    std::io::Read::read_to_string(&mut socket, &mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
}

/// Waits until the network counts so many rows.
fn counted(node: &Node, rows: usize) {
    let wanted = format!("\"n\":{rows}");
    wait_for(&wanted, || {
        let (stdout, _, code) = count(node, "t");
        (code == 0 && stdout.contains(&wanted)).then_some(())
    });
}

/// The reply with the rows of the operators that answer, headers and all.
fn subset(node: &Node) -> String {
    let question = serde_json::json!({
        "dbms": "d", "sql": "select count(*) as n from t", "destination": "network", "subset": true,
    });
    let body = question.to_string();
    let request = format!(
        "POST /api/v1/sql HTTP/1.1\r\nhost: {}\r\naccept: application/json\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        node.http,
        body.len()
    );
    let mut socket = TcpStream::connect(&node.http).unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    std::io::Read::read_to_string(&mut socket, &mut reply).unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    reply
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// Puts an older copy of a node's data in the place of its data. Where the node was then is no longer true.
fn restore(member: &Member, older: &Path) {
    let data = member.folder().join("edgemere-data");
    std::fs::remove_dir_all(&data).unwrap();
    copy(older, &data);
    let _ = std::fs::remove_file(data.join("node.json"));
}

/// A copy from before the node's last start: the ledger knows of that start.
#[test]
fn an_older_copy_from_an_earlier_run_does_not_start_until_it_is_accepted() {
    let (master, network) = (own_address(), own_address());
    let mut members = [
        Member::new("m", "master", &master, None),
        Member::new("one", "operator", &network, Some(&master)),
        Member::new("q", "query", "127.0.0.1:0", Some(&master)),
    ];
    members.iter_mut().for_each(Member::start);
    put(members[1].up());
    counted(members[2].up(), 2);
    members[1].kill();
    let older = tempfile::tempdir().unwrap();
    copy(&members[1].folder().join("edgemere-data"), older.path());
    members[1].start();
    put(members[1].up());
    members[1].kill();
    restore(&members[1], older.path());
    let (_, stderr, code) = try_start(members[1].folder(), &network, &master);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("rows are lost") && stderr.contains("accept operator one"), "{stderr}");
    let (_, stderr, code) = count(members[2].up(), "t");
    assert!(code != 0 && stderr.contains("one"), "{stderr}");
    ask(members[2].up(), "accept operator one");
    members[1].start();
    counted(members[2].up(), 2);
}

/// A copy of the last run, with fewer rows than the network has answered with. Nobody has told the ledger:
/// the master is away.
#[test]
fn rows_that_were_in_an_answer_are_missed_when_an_older_copy_comes_back() {
    let (master, network) = (own_address(), own_address());
    let mut members = [
        Member::new("m", "master", &master, None),
        Member::new("one", "operator", &network, Some(&master)),
        Member::new("two", "operator", "127.0.0.1:0", Some(&master)),
        Member::new("q", "query", "127.0.0.1:0", Some(&master)),
    ];
    members.iter_mut().for_each(Member::start);
    members[1..3].iter().for_each(|member| put(member.up()));
    counted(members[3].up(), 4);
    members[0].kill();
    let older = tempfile::tempdir().unwrap();
    members[1].hang();
    copy(&members[1].folder().join("edgemere-data"), older.path());
    members[1].go_on();
    put(members[1].up());
    counted(members[3].up(), 6);
    members[1].kill();
    restore(&members[1], older.path());
    members[1].start();
    let is_missed = |node: &Node| {
        let (stdout, stderr, code) = count(node, "t");
        assert_ne!(code, 0, "{stdout}");
        let says = ["operator one", "rows are lost", "accept operator one"];
        assert!(says.iter().all(|what| stderr.contains(what)), "{stderr}");
    };
    is_missed(members[3].up());
    // Also when it has gone on, further than it was.
    for _ in 0..4 {
        put(members[1].up());
    }
    is_missed(members[3].up());
    let reply = subset(members[3].up());
    let missing = reply.lines().find(|line| line.starts_with("edgemere-missing:"));
    assert!(missing.is_some_and(|missing| missing.contains("one")), "{reply}");
    assert!(reply.contains("\"n\":2"), "{reply}");
    // The query node remembers it over a restart.
    let mut query = members[3].take();
    assert!(query.stop("TERM").success());
    let again = ["--name", "q", "--role", "query", "--cluster", "q", "--master", master.as_str()];
    let query = Node::start_in(query.take_folder(), &again);
    is_missed(&query);
    members[0].start();
    wait_for("the master", || (query.run(&["accept operator one"]).2 == 0).then_some(()));
    counted(&query, 12);
}

fn try_start(folder: &Path, network: &str, master: &str) -> (String, String, i32) {
    let args = [
        "node",
        "--http",
        "127.0.0.1:0",
        "--network",
        network,
        "--name",
        "one",
        "--role",
        "operator",
        "--cluster",
        "one",
        "--master",
        master,
    ];
    parts(&run(folder, &args))
}

#[test]
fn an_operator_with_another_or_an_older_data_folder_is_refused_until_it_is_accepted() {
    let (master, network) = (own_address(), own_address());
    let mut members = [
        Member::new("m", "master", &master, None),
        Member::new("one", "operator", &network, Some(&master)),
        Member::new("q", "query", "127.0.0.1:0", Some(&master)),
    ];
    members.iter_mut().for_each(Member::start);
    put(members[1].up());
    wait_for("the rows", || count(members[2].up(), "t").0.contains("\"n\":2").then_some(()));
    // Killed and back: nothing is wrong with that.
    members[1].kill();
    members[1].start();
    wait_for("the rows again", || count(members[2].up(), "t").0.contains("\"n\":2").then_some(()));
    members[1].kill();
    // Another data folder under its name, at its address.
    let empty = tempfile::tempdir().unwrap();
    let (_, stderr, code) = try_start(empty.path(), &network, &master);
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("another identity") && stderr.contains("accept operator one"));
    assert_ne!(count(members[2].up(), "t").2, 0, "it is away, and that is an error");
    ask(members[2].up(), "accept operator one");
    let args =
        ["--name", "one", "--role", "operator", "--cluster", "one", "--master", master.as_str()];
    let other = Node::start_at(empty, &network, &args);
    wait_for("no row and no error", || {
        let (stdout, _, code) = count(members[2].up(), "t");
        (code == 0 && stdout.contains("\"n\":0")).then_some(())
    });
    drop(other);
    // The first one is the stranger now.
    ask(members[2].up(), "drop operator one");
    members[1].start();
    wait_for("the rows of before", || {
        count(members[2].up(), "t").0.contains("\"n\":2").then_some(())
    });
}

#[test]
fn an_empty_master_takes_nothing_and_a_copy_can_be_promoted() {
    let master = own_address();
    let mut right = Member::new("m", "master", &master, None);
    let mut one = Member::new("one", "operator", "127.0.0.1:0", Some(&master));
    right.start();
    one.start();
    ask(right.up(), "blockchain push {\"device\": {\"name\": \"d1\"}}");
    let devices = "blockchain get device bring [name]";
    wait_for("the device", || (ask(one.up(), devices) == "d1").then_some(()));
    right.kill();
    let mut wrong = Member::new("m", "master", &master, None);
    wrong.start();
    wait_for("the refusal", || {
        ask(one.up(), "get synchronizer where format = mcp")
            .contains("Master refused")
            .then_some(())
    });
    assert!(ask(one.up(), "get status").contains("ledger refused"));
    assert_eq!(ask(one.up(), devices), "d1");
    wrong.kill();
    right.start();
    wait_for("the right master", || {
        ask(one.up(), "get synchronizer where format = mcp").contains("In step").then_some(())
    });
    // The master's machine is gone: the copy becomes the master.
    right.kill();
    let mut node = one.take();
    assert!(node.stop("TERM").success());
    let folder = node.take_folder();
    let start = ["--name", "one", "--role", "master,operator", "--cluster", "one"];
    let flags =
        [&["node", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"][..], &start].concat();
    let (_, stderr, code) = parts(&run(folder.path(), &flags));
    assert!(code == 5 && stderr.contains("edgemere ledger promote"), "{code}: {stderr}");
    let (stdout, stderr, code) = parts(&run(folder.path(), &["ledger", "promote"]));
    assert!(code == 0 && stdout.contains("term 2"), "{stdout}{stderr}");
    let promoted = Node::start_at(folder, &master, &start);
    assert_eq!(ask(&promoted, devices), "d1");
}
