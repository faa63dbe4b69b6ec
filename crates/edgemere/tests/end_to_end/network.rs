//! A network of real processes: joining by flags, staying in step, and what happens when the master
//! or a node is killed.

use std::io::{Read, Write};
use std::net::TcpListener;

use tempfile::TempDir;

use crate::support::{Node, parts, run, wait_for};

/// The flags of a node that follows a master.
fn flags<'a>(name: &'a str, role: &'a str, master: &'a str) -> Vec<&'a str> {
    vec!["--name", name, "--role", role, "--cluster", name, "--master", master]
}

fn start(name: &str, role: &str, master: &Node) -> Node {
    Node::start(&flags(name, role, &master.network))
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// What a node answers to a command that must succeed.
fn ask(node: &Node, command: &str) -> String {
    let (stdout, stderr, code) = node.run(&[command]);
    assert_eq!(code, 0, "{command}: {stderr}");
    stdout.trim().to_owned()
}

/// Waits until a node answers what is wanted.
fn wait_for_answer(node: &Node, command: &str, wanted: &str) {
    wait_for(&format!("\"{wanted}\" of \"{command}\" at {}", node.network), || {
        (ask(node, command) == wanted).then_some(())
    });
}

fn wait_for_version(node: &Node, master: &Node) {
    wait_for("the same version", || {
        let command = "get metadata version";
        (ask(node, command) == ask(master, command)).then_some(())
    });
}

fn push(node: &Node, name: &str) {
    ask(node, &format!("blockchain push {{\"device\": {{\"name\": \"{name}\"}}}}"));
}

/// The names of the devices that a node knows for the network's.
const DEVICES: &str = "blockchain get device where ledger = global bring [name] separator = ,";

/// Stores a row in a table of the database "plant".
fn put(node: &Node, table: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let url = node.url();
    let stored = runtime.block_on(async {
        let request = reqwest::Client::new().put(url).header("type", "json");
        let request = request.header("dbms", "plant").header("table", table);
        request.header("mode", "streaming").body("[{\"v\": 1}]").send().await.unwrap().status()
    });
    assert_eq!(stored, 200);
}

#[test]
fn nodes_join_by_flags_and_all_know_the_same() {
    let master = Node::start(&["--name", "m", "--role", "master"]);
    let one = start("one", "operator", &master);
    let two = start("two", "operator", &master);
    let query = start("q", "query", &master);
    let all = [&master, &one, &two, &query];
    let names = "blockchain get (master, operator, query) bring [*][name] separator = ,";
    for node in all {
        wait_for_answer(node, names, "m,one,two,q");
    }
    push(&one, "pump");
    // Whoever asked for it sees it at once.
    assert_eq!(ask(&one, DEVICES), "pump");
    push(&query, "valve");
    put(&two, "pressure");
    for node in all {
        wait_for_answer(node, DEVICES, "pump,valve");
        wait_for_answer(node, "blockchain get table bring [ledger] [name]", "globalpressure");
        wait_for_version(node, &master);
    }
    let holders = ask(&query, "run client (dbms = plant, table = pressure) get rows count");
    assert!(holders.contains(&two.network) && !holders.contains(&one.network), "{holders}");
    let synchronizer = ask(&one, "get synchronizer where format = mcp");
    assert!(synchronizer.contains("\"status\":\"In step\""), "{synchronizer}");
    let network = ask(&query, "test network");
    assert_eq!(network.matches('+').count(), 4, "{network}");
}

#[test]
fn without_the_master_everything_goes_on_and_what_is_new_waits() {
    let master = Node::start(&["--name", "m", "--role", "master"]);
    let address = master.network.clone();
    let one = start("one", "operator", &master);
    let query = start("q", "query", &master);
    push(&one, "before");
    wait_for_answer(&query, DEVICES, "before");
    let folder = master.kill();
    push(&one, "first");
    push(&one, "second");
    put(&one, "flow");
    let rows = ask(&one, "sql plant format = json:list select v from flow");
    assert!(rows.contains("\"v\":1"), "{rows}");
    assert_eq!(ask(&query, DEVICES), "before");
    let waiting = ask(&one, "get synchronizer where format = mcp");
    assert!(waiting.contains("\"waiting\":4"), "{waiting}");
    let (_, stderr, code) = one.run(&["blockchain drop policy where id = none"]);
    assert_eq!(code, 3, "{stderr}");
    // The node that has what waits is killed, too, and loses nothing of it.
    let one = Node::start_in(one.kill(), &flags("one", "operator", &address));
    assert!(one.log().contains("not in step with the master"), "{}", one.log());
    let waiting = ask(&one, "get synchronizer where format = mcp");
    assert!(waiting.contains("\"waiting\":5"), "{waiting}");
    let master = Node::start_at(folder, &address, &["--name", "m", "--role", "master"]);
    for node in [&master, &one, &query] {
        wait_for_answer(node, DEVICES, "before,first,second");
        wait_for_answer(node, "blockchain get table bring [name]", "flow");
        wait_for_version(node, &master);
    }
}

#[test]
fn a_node_that_was_away_catches_up() {
    let master = Node::start(&["--name", "m", "--role", "master"]);
    let query = start("q", "query", &master);
    push(&master, "a");
    wait_for_answer(&query, DEVICES, "a");
    let folder = query.kill();
    push(&master, "b");
    let id = ask(&master, "blockchain get device where name = a bring [id]");
    ask(&master, &format!("blockchain drop policy where id = {id}"));
    let query = Node::start_in(folder, &flags("q", "query", &master.network));
    // It has fetched the ledger when it says that it is ready.
    assert_eq!(ask(&query, DEVICES), "b");
    wait_for_version(&query, &master);
}

#[test]
fn a_node_may_start_before_its_master() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let one = Node::start(&flags("one", "operator", &address));
    assert!(one.log().contains("not in step with the master"), "{}", one.log());
    let processes = ask(&one, "get processes where format = json");
    assert!(processes.contains("Failed to connect to master using"), "{processes}");
    let master = Node::start_at(folder(), &address, &["--name", "m", "--role", "master"]);
    wait_for_answer(&master, "blockchain get operator bring [name] [ledger]", "oneglobal");
    wait_for_version(&one, &master);
}

#[test]
fn a_master_that_was_put_back_to_an_older_copy_is_followed_when_it_is_accepted() {
    let master = Node::start(&["--name", "m", "--role", "master"]);
    let address = master.network.clone();
    let one = start("one", "operator", &master);
    ask(&one, "blockchain add {\"device\": {\"name\": \"own\"}}");
    wait_for_answer(&master, "blockchain get operator bring [name]", "one");
    let log = |folder: &TempDir| folder.path().join("edgemere-data/ledger/ledger.log");
    let old = std::fs::read(log(&master.folder)).unwrap();
    push(&one, "lost");
    wait_for_answer(&master, DEVICES, "lost");
    let folder = master.kill();
    std::fs::write(log(&folder), old).unwrap();
    let master = Node::start_at(folder, &address, &["--name", "m", "--role", "master"]);
    wait_for("the refusal", || {
        let status = ask(&one, "get synchronizer where format = mcp");
        status.contains("Master refused").then_some(())
    });
    assert!(one.log().contains("is refused"), "{}", one.log());
    assert_eq!(ask(&one, DEVICES), "lost", "the copy is kept");
    ask(&one, "accept ledger");
    wait_for_answer(&one, DEVICES, "");
    wait_for_version(&one, &master);
    assert_eq!(ask(&one, "blockchain get device bring [name]"), "own");
    wait_for_answer(&master, "blockchain get operator bring [name]", "one");
}

#[test]
fn two_nodes_with_one_name_are_refused() {
    let master = Node::start(&["--name", "m", "--role", "master"]);
    let _one = start("one", "operator", &master);
    wait_for_answer(&master, "blockchain get operator bring [name]", "one");
    let other = folder();
    let ports = ["node", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"];
    let args = [&ports[..], &flags("one", "operator", &master.network)].concat();
    let (_, stderr, code) = parts(&run(other.path(), &args));
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("another node is named \"one\""), "{stderr}");
    assert!(stderr.contains("--name"), "{stderr}");
}

#[test]
fn a_master_of_another_protocol_is_refused_with_both_versions() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for mut stream in server.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let reply = "HTTP/1.1 200 OK\r\nedgemere-protocol: 3.3\r\ncontent-length: 2\r\n\
                         connection: close\r\n\r\n{}";
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    let other = folder();
    let ports = ["node", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"];
    let args = [&ports[..], &flags("one", "operator", &address)].concat();
    let (_, stderr, code) = parts(&run(other.path(), &args));
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("3.3") && stderr.contains("2.0"), "{stderr}");
}

#[tokio::test]
async fn a_caller_of_another_protocol_is_refused_with_both_versions() {
    let node = Node::start(&[]);
    let url = format!("http://{}/v1/command", node.network);
    let call = |version: Option<&'static str>| {
        let request = reqwest::Client::new().post(&url).body("{\"command\": \"get status\"}");
        let request = request.header("content-type", "application/json");
        match version {
            Some(version) => request.header("edgemere-protocol", version),
            None => request,
        }
    };
    let reply = call(Some("1.3")).send().await.unwrap();
    assert_eq!(
        (reply.status().as_u16(), &reply.headers()["edgemere-protocol"]),
        (409, &"2.0".parse().unwrap())
    );
    let text = reply.text().await.unwrap();
    assert!(text.contains("1.3") && text.contains("2.0"), "{text}");
    assert_eq!(call(None).send().await.unwrap().status(), 409);
    assert_eq!(call(Some("2.9")).send().await.unwrap().status(), 200);
}
