//! The network port from outside: what strangers and other programs get there.

use std::io::{Read, Write};
use std::net::TcpStream;

use reqwest::Client;

use crate::support::{Node, wait_for};

/// The beginning of HTTP/2, and an empty frame of settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// What nodes say to each other.
pub(crate) const PROTOCOL: &str = "2.0";

/// A master that other machines can reach.
fn master() -> Node {
    let args = ["--name", "m", "--role", "master", "--advertise", "127.0.0.1:0"];
    Node::start_at(tempfile::tempdir().unwrap(), "0.0.0.0:0", &args)
}

#[test]
fn http_2_is_spoken_on_the_network_port() {
    let master = master();
    let mut stream = TcpStream::connect(&master.network).unwrap();
    stream.write_all(PREFACE).unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(head[3], 4, "the first frame of the answer is not its settings: {head:?}");
}

#[test]
fn who_says_nothing_is_dropped_and_the_others_are_not_held_up() {
    let master = master();
    let mut silent: Vec<_> =
        (0..20).map(|_| TcpStream::connect(&master.network).unwrap()).collect();
    silent[0].write_all(PREFACE).unwrap();
    silent[1].write_all(b"POST /v1/command HTTP/1.1\r\nhost: localhost\r\n").unwrap();
    let file = master.folder.path().join("edgemere-data/network.key");
    let key = ["--network-key", file.to_str().unwrap()];
    let flags = ["--role", "operator", "--name", "one", "--master", &master.network];
    let _one = Node::start(&[&flags[..], &key].concat());
    let names = || master.run(&["blockchain get operator bring [name]"]).0;
    wait_for("the operator", || (names().trim() == "one").then_some(()));
    for mut stream in silent {
        let mut rest = Vec::new();
        // It ends because the node closes it: the other end does not.
        let _ = stream.read_to_end(&mut rest);
        assert!(!String::from_utf8_lossy(&rest).contains("HTTP/1.1 200"), "{rest:?}");
    }
}

#[tokio::test]
async fn a_call_of_a_stranger_gets_a_status_and_a_challenge() {
    let master = master();
    let call = |headers: &[(&'static str, &'static str)]| {
        let url = format!("http://{}/worker.WorkerService/ExecuteTask", master.network);
        let request = Client::new().post(url).header("content-type", "application/grpc");
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
    };
    for headers in [&[][..], &[("authorization", "Edgemere 0.0.0.0")]] {
        let reply = call(headers).send().await.unwrap();
        let header = |name| reply.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!((reply.status().as_u16(), header("grpc-status")), (200, "16"));
        assert!(header("www-authenticate").starts_with("Edgemere "));
        assert_eq!(reply.text().await.unwrap(), "");
    }
}

#[test]
fn a_node_with_the_key_takes_no_answer_from_one_without() {
    let stranger = Node::start(&["--role", "master"]);
    let master = master();
    let command = format!("run client ({}) get status", stranger.network);
    let (stdout, stderr, code) = master.run(&[&command]);
    assert_eq!((stdout.as_str(), code), ("", 4), "{stderr}");
    assert!(stderr.contains("does not prove to have the network key"), "{stderr}");
}
