//! The network key: who has it is of the network, and nobody else gets anything.

use std::path::PathBuf;

use reqwest::Client;

use crate::support::{Node, edgemere, parts, run, wait_for};

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const PORTS: [&str; 5] = ["node", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"];

fn key_file(node: &Node, key: &str) -> PathBuf {
    let file = node.folder.path().join("some.key");
    std::fs::write(&file, key).unwrap();
    file
}

/// A master that other machines can reach, and its key's file.
fn master() -> (Node, PathBuf) {
    let args = ["--name", "m", "--role", "master", "--advertise", "127.0.0.1:0"];
    let node = Node::start_at(tempfile::tempdir().unwrap(), "0.0.0.0:0", &args);
    let file = node.folder.path().join("edgemere-data/network.key");
    (node, file)
}

#[test]
fn nodes_with_the_masters_key_join_and_others_do_not() {
    let (master, file) = master();
    let key = std::fs::read_to_string(&file).unwrap();
    assert_eq!(key.trim().len(), 64);
    assert!(master.log().contains("made the network key"), "{}", master.log());
    let flags = ["--role", "operator", "--name", "one", "--master", &master.network];
    let with_key = [&flags[..], &["--network-key", file.to_str().unwrap()]].concat();
    let one = Node::start(&with_key);
    let names = || master.run(&["blockchain get operator bring [name]"]).0;
    wait_for("the operator", || (names().trim() == "one").then_some(()));
    let (answer, stderr, code) = master.run(&["run client (one) get node name"]);
    assert!(code == 0 && answer.contains("one@"), "{answer}{stderr}");

    let folder = tempfile::tempdir().unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &[&PORTS[..], &flags].concat()));
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("wants the network key"), "{stderr}");
    assert!(stderr.contains("--network-key FILE"), "{stderr}");
    let wrong = key_file(&one, KEY);
    let with_wrong = ["--network-key", wrong.to_str().unwrap()];
    let (_, stderr, code) = parts(&run(folder.path(), &[&PORTS[..], &flags, &with_wrong].concat()));
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("its network key is another"), "{stderr}");
    for log in [master.log(), one.log(), stderr] {
        assert!(!log.contains(key.trim()) && !log.contains(KEY), "{log}");
    }
}

#[test]
fn a_node_with_a_key_does_not_follow_a_master_without() {
    let master = Node::start(&["--role", "master"]);
    let file = key_file(&master, KEY);
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--role", "operator", "--master", &master.network, "--network-key"];
    let args = [&PORTS[..], &flags, &[file.to_str().unwrap()]].concat();
    let (_, stderr, code) = parts(&run(folder.path(), &args));
    assert_eq!(code, 4, "{stderr}");
    assert!(stderr.contains("does not prove to have the network key"), "{stderr}");
}

#[tokio::test]
async fn a_stranger_gets_401_and_nothing_else() {
    let (master, _) = master();
    let call = |path: &str, authorization: Option<&str>| {
        let url = format!("http://{}{path}", master.network);
        let request = Client::new().post(url).body("{\"command\": \"get status\"}");
        let request = request.header("content-type", "application/json");
        let request = request.header("edgemere-protocol", "2.0");
        match authorization {
            Some(authorization) => request.header("authorization", authorization),
            None => request,
        }
    };
    for path in ["/v1/command", "/v1/ledger", "/health", "/", "/anything"] {
        for authorization in [None, Some("Bearer x"), Some("Edgemere 0.0.0.0")] {
            let reply = call(path, authorization).send().await.unwrap();
            assert_eq!(reply.status(), 401, "{path}");
            assert_eq!(reply.text().await.unwrap(), "", "{path}");
        }
    }
    let get = format!("http://{}/v1/ledger?entries=0&head=0&wait_ms=0", master.network);
    let reply = Client::new().get(get).send().await.unwrap();
    assert_eq!((reply.status().as_u16(), reply.text().await.unwrap()), (401, String::new()));
}

#[test]
fn an_address_that_others_reach_needs_a_key_and_says_what_to_type() {
    let folder = tempfile::tempdir().unwrap();
    let public = ["node", "--http", "127.0.0.1:0", "--network", "0.0.0.0:0"];
    let flags = ["--role", "operator", "--master", "127.0.0.1:1", "--advertise", "127.0.0.1:0"];
    let (_, stderr, code) = parts(&run(folder.path(), &[&public[..], &flags].concat()));
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("0.0.0.0") && stderr.contains("--network-key FILE"), "{stderr}");
    let (_, stderr, code) =
        parts(&run(folder.path(), &[&public[..], &["--role", "master"]].concat()));
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("--advertise IP:PORT"), "{stderr}");
    assert!(!folder.path().join("edgemere-data").exists());
}

#[test]
fn a_key_is_taken_from_the_environment_and_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["config", "show"][..], &["node", "--help"]] {
        let mut command = edgemere(folder.path(), args);
        let (stdout, stderr, code) =
            parts(&command.env("EDGEMERE_NETWORK_KEY", KEY).output().unwrap());
        assert_eq!(code, 0, "{stderr}");
        assert!(!stdout.contains(KEY) && stdout.contains("network-key"), "{stdout}");
    }
    let bad = ["--network-key", "none.key"];
    let (_, stderr, code) = parts(&run(folder.path(), &[&PORTS[..], &bad].concat()));
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("none.key") && stderr.contains("hint: "), "{stderr}");
}
