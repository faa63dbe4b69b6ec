//! `edgemere node`: starting, stopping, and what it refuses.

use std::net::TcpListener;
use std::process::Stdio;

use crate::support::{Node, edgemere, end, node_file, parts, run, signal, wait_for};

#[test]
fn a_node_says_that_it_is_ready_and_what_to_try() {
    let node = Node::start(&["--name", "plant-1"]);
    let ready = wait_for("the line", || {
        let log = node.log();
        log.lines().find(|line| line.starts_with("plant-1 is ready")).map(String::from)
    });
    assert!(ready.contains("master, operator, query"), "{ready}");
    assert!(ready.contains(&format!("http://{}", node.http)), "{ready}");
    assert!(ready.contains("edgemere-data"), "{ready}");
    assert!(ready.contains("run 'get status' --node http://"), "{ready}");
}

#[test]
fn sigterm_and_sigint_stop_a_node_with_success() {
    for signal in ["TERM", "INT"] {
        let mut node = Node::start(&[]);
        assert_eq!(node.stop(signal).code(), Some(0), "{signal}");
        assert!(!node_file(node.folder.path()).exists());
    }
}

#[test]
fn a_second_sigint_does_not_wait_for_open_requests() {
    let mut node = Node::start(&[]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let args = ["run", "get status", "--destination", &address, "--node", &node.http];
    let mut asked = edgemere(node.folder.path(), &args).stderr(Stdio::null()).spawn().unwrap();
    let _call = silent.accept().unwrap();
    signal(&node.child, "INT");
    wait_for("the first signal", || node.log().contains("stopping").then_some(()));
    assert_eq!(node.stop("INT").code(), Some(130));
    assert_eq!(end(&mut asked).code(), Some(6));
}

#[test]
fn exit_node_stops_it_with_success() {
    let mut node = Node::start(&[]);
    let (_, stderr, code) = node.run(&["exit node"]);
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(end(&mut node.child).code(), Some(0));
}

#[test]
fn a_json_log_has_only_json() {
    let mut node = Node::start(&["--log-format", "json"]);
    node.stop("TERM");
    let log = node.log();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["message"] == "ready"), "{log}");
}

#[test]
fn a_data_folder_is_for_one_node() {
    let node = Node::start(&[]);
    let free = ["node", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"];
    let (_, stderr, code) = parts(&run(node.folder.path(), &free));
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("is in use"), "{stderr}");
    assert!(stderr.contains("hint: stop the other node"), "{stderr}");
}

#[test]
fn a_port_in_use_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let args = ["node", "--http", &address, "--network", "127.0.0.1:0"];
    let (_, stderr, code) = parts(&run(folder.path(), &args));
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains(&address), "{stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
}

#[test]
fn an_address_that_others_can_reach_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for flag in ["--http", "--network"] {
        let others = if flag == "--http" { "--network" } else { "--http" };
        let args = ["node", flag, "0.0.0.0:0", others, "127.0.0.1:0"];
        let (_, stderr, code) = parts(&run(folder.path(), &args));
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("0.0.0.0:0") && stderr.contains("hint: "), "{stderr}");
    }
    assert!(!folder.path().join("edgemere-data").exists());
}

#[test]
fn a_master_with_a_master_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &["node", "--master", "127.0.0.1:32048"]));
    assert_eq!(code, 2);
    assert!(stderr.contains("--role operator,query"), "{stderr}");
}

#[test]
fn a_first_start_has_nothing_to_take_from_others() {
    use std::os::unix::fs::PermissionsExt;
    let mut node = Node::start(&[]);
    node.stop("TERM");
    let log = node.log();
    assert!(!log.contains("may no longer read"), "{log}");
    // A folder that others could read is reported of.
    let folder = node.take_folder();
    let rows = folder.path().join("edgemere-data/rows");
    std::fs::set_permissions(&rows, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut node = Node::start_in(folder, &[]);
    node.stop("TERM");
    assert!(node.log().contains("may no longer read"), "{}", node.log());
}
