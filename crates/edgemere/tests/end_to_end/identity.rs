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
    let rows = "[{\"a\": 1}, {\"a\": 2}]";
    let put = |node: &Node| {
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
    };
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
