//! Nodes with different network keys, or with none, do not answer each other's queries, and say why.

use std::path::Path;

use reqwest::Client;
use serde_json::Value;

use super::net::{ask, store, text};
use crate::support::Node;

const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const OTHER_KEY: &str = "ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// A network of one node, with a key or without.
fn alone(name: &str, key: Option<&str>) -> Node {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("some.key");
    let mut args = vec!["--name", name];
    if let Some(key) = key {
        std::fs::write(&file, key).unwrap();
        args.extend(["--network-key", path(&file)]);
    }
    Node::start_in(folder, &args)
}

fn path(file: &Path) -> &str {
    file.to_str().unwrap()
}

/// Makes the tables of a node known to another.
async fn introduce(holder: &Node, asker: &Node) {
    let (_, policies) = text(ask(holder, "blockchain get (operator, cluster, table)")).await;
    let policies: Vec<Value> = serde_json::from_str(&policies).unwrap();
    assert!(policies.len() >= 3, "{policies:?}");
    for policy in policies {
        let command = format!("blockchain insert where policy = {policy} and local = true");
        let request = Client::new().post(asker.url()).header("command", command);
        let (status, told) = text(request).await;
        assert_eq!(status, 200, "{told}");
    }
}

async fn count(asker: &Node) -> (u16, String) {
    let command = "sql d format = json and stat = false select count(*) as c from secret";
    text(ask(asker, command).header("destination", "network")).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_given_to_nodes_with_the_same_key_only() {
    for (held, asked, why) in [
        (Some(KEY), Some(KEY), None),
        (None, None, None),
        (Some(KEY), Some(OTHER_KEY), Some("network key")),
        (Some(KEY), None, Some("network key")),
        (None, Some(KEY), Some("network key")),
    ] {
        let (holder, asker) = (alone("holder", held), alone("asker", asked));
        store(&holder, "secret", "n\n1\n2\n3\n").await;
        introduce(&holder, &asker).await;
        let (status, told) = count(&asker).await;
        let Some(why) = why else {
            assert_eq!((status, told.contains("\"c\":3")), (200, true), "{told}");
            continue;
        };
        assert!(status >= 400, "{held:?} {asked:?}: {told}");
        assert!(told.contains("holder") && told.contains(&holder.network), "{told}");
        assert!(told.contains(why), "{held:?} {asked:?}: {told}");
        // Not even as somebody who is merely away: who asks must learn of it.
        let command = "sql d format = json select count(*) as c from secret";
        let request = ask(&asker, command).header("destination", "network");
        let (status, told) = text(request.header("subset", "true")).await;
        assert!(status >= 400 && !told.contains("\"c\""), "{told}");
        for log in [holder.log(), asker.log(), told] {
            assert!(!log.contains(KEY) && !log.contains(OTHER_KEY), "{log}");
        }
    }
}
