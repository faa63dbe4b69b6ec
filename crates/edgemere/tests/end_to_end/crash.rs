//! kill -9 at any moment loses no policy that a node has acknowledged.

use std::collections::BTreeSet;

use reqwest::Client;

use crate::support::Node;

/// How often the node is killed.
const ROUNDS: usize = 20;

/// How many callers insert at the same time.
const CALLERS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_policies_survive_kill_9() {
    let arguments = ["--name", "crash", "--register", "false"];
    let mut folder = tempfile::tempdir().unwrap();
    let mut acknowledged = BTreeSet::new();
    for round in 0..ROUNDS {
        let node = Node::start_in(folder, &arguments);
        assert_holds(&node, &acknowledged).await;
        let callers = (0..CALLERS).map(|caller| {
            let url = node.url();
            tokio::spawn(async move { insert_until_gone(&url, round, caller).await })
        });
        let callers: Vec<_> = callers.collect();
        // Killed after a different number of policies each time, with callers in mid-request.
        wait_for_policies(&node, acknowledged.len() + 1 + round * 3).await;
        folder = node.kill();
        for caller in callers {
            acknowledged.extend(caller.await.unwrap());
        }
    }
    let node = Node::start_in(folder, &arguments);
    assert_holds(&node, &acknowledged).await;
    assert!(acknowledged.len() > ROUNDS * 3, "only {} were acknowledged", acknowledged.len());
}

/// Inserts policies until the node is gone, and gives the names of those it acknowledged.
async fn insert_until_gone(url: &str, round: usize, caller: usize) -> Vec<String> {
    let client = Client::new();
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let name = format!("{round}-{caller}-{number}");
        let command = format!("blockchain push {{\"device\": {{\"name\": \"{name}\"}}}}");
        match client.post(url).header("command", command).send().await {
            Ok(response) if response.status() == 200 => acknowledged.push(name),
            Ok(response) => panic!("{}", response.text().await.unwrap()),
            Err(_) => break,
        }
    }
    acknowledged
}

async fn wait_for_policies(node: &Node, count: usize) {
    while ask(node, "blockchain get device bring.count").await.parse::<usize>().unwrap() < count {
        tokio::task::yield_now().await;
    }
}

/// Every acknowledged policy is there once, and the ledger is sound.
async fn assert_holds(node: &Node, acknowledged: &BTreeSet<String>) {
    let names = ask(node, "blockchain get device bring [name] separator = ,").await;
    let names: Vec<_> = names.split(',').filter(|name| !name.is_empty()).collect();
    let unique: BTreeSet<_> = names.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(unique.len(), names.len(), "a policy is there twice");
    let lost: Vec<_> = acknowledged.difference(&unique).collect();
    assert!(lost.is_empty(), "lost: {lost:?}");
    let test = Client::new().post(node.url()).header("command", "blockchain test");
    let test = test.send().await.unwrap().text().await.unwrap();
    assert!(test.starts_with("Blockchain file status: OK"), "{test}");
}

async fn ask(node: &Node, command: &str) -> String {
    let request = Client::new().get(node.url()).header("command", command);
    request.send().await.unwrap().text().await.unwrap()
}
