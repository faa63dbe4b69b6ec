//! A network whose processes are killed and started at random while policies are added on all of
//! them: nothing acknowledged is lost, nothing is there twice, and all end with the same ledger.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

use reqwest::Client;

use crate::member::{Member, own_address};
use crate::support::{Node, wait_for};

const ROUNDS: usize = 12;
const PUSHES: usize = 4;

/// The devices that a node knows for the network's.
fn devices(node: &Node) -> Vec<String> {
    let command = "blockchain get device where ledger = global bring [name] separator = ,";
    let (names, stderr, code) = node.run(&[command]);
    assert_eq!(code, 0, "{stderr}");
    names.trim().split(',').filter(|name| !name.is_empty()).map(String::from).collect()
}

async fn push(client: &Client, node: &Node, name: &str) {
    let command = format!("blockchain push {{\"device\": {{\"name\": \"{name}\"}}}}");
    let reply = client.post(node.url()).header("command", command).send().await.unwrap();
    assert_eq!(reply.status(), 200, "{}", reply.text().await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_whoever_is_killed() {
    let master = own_address();
    let any = "127.0.0.1:0";
    let mut members = [
        Member::new("m", "master", &master, None),
        Member::new("one", "operator", any, Some(&master)),
        Member::new("two", "operator", any, Some(&master)),
        Member::new("q", "query", any, Some(&master)),
    ];
    let random = RandomState::new();
    let mut count = 0_u64;
    let mut below = |limit: usize| {
        count += 1;
        usize::try_from(random.hash_one(count) % limit as u64).unwrap()
    };
    let client = Client::new();
    let mut acknowledged = BTreeSet::new();
    // What happened, for who reads a failure.
    let mut history = Vec::new();
    for round in 0..ROUNDS {
        let member = &mut members[below(4)];
        history.push(format!(
            "{} {}",
            if member.node().is_some() { "kill" } else { "start" },
            member.name
        ));
        if member.node().is_some() {
            member.kill()
        } else {
            member.start()
        }
        for number in 0..PUSHES {
            let member = &members[below(4)];
            let Some(node) = member.node() else { continue };
            let name = format!("{round}-{number}");
            history.push(format!("push {name} at {}", member.name));
            push(&client, node, &name).await;
            acknowledged.insert(name);
        }
    }
    members.iter_mut().for_each(Member::start);
    let nodes: Vec<_> = members.iter().filter_map(Member::node).collect();
    for (member, node) in members.iter().zip(&nodes) {
        wait_for(&format!("{acknowledged:?} at {} after {history:?}", member.name), || {
            let known = devices(node);
            let unique: BTreeSet<_> = known.iter().cloned().collect();
            assert_eq!(known.len(), unique.len(), "twice at {}: {history:?}", member.name);
            (unique == acknowledged).then_some(())
        });
        wait_for(&format!("the master's version at {} after {history:?}", member.name), || {
            let version = |node: &Node| node.run(&["get metadata version"]).0;
            (version(node) == version(nodes[0])).then_some(())
        });
    }
}
