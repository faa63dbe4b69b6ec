//! Clients get notified of changes.

use std::time::Duration;

use mcp_serve::{Catalog, Identity, Limits, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

use super::{ManifestLimits, Tree};
use crate::manifests::{Manifests, Watching, walk::walk, watch::is_anybody_there};

/// Longer than anything takes that ends at all.
const PATIENCE: Duration = Duration::from_secs(20);
const LIST: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

/// A client of a server with the manifests of a folder.
struct Client {
    lines: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    /// What the server told meanwhile.
    told: Vec<Value>,
}

async fn served(tree: &Tree) -> (Server, Manifests, Watching) {
    let server = Server::new(Identity::new("tested", "1"), Limits::default());
    let limits = ManifestLimits { look_every: Duration::from_millis(5), ..Default::default() };
    let manifests = tree.manifests("app").within(limits);
    server.publish(Catalog::new().resources(manifests.clone()));
    let watching = manifests.watch(&server).await;
    (server, manifests, watching)
}

impl Client {
    async fn of(server: &Server) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let server = server.clone();
        tokio::spawn(async move { server.serve(reader, writer).await });
        let (reader, writer) = tokio::io::split(ours);
        let mut client = Self { lines: BufReader::new(reader), writer, told: Vec::new() };
        let info = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
        let answer = client.ask("initialize", params).await;
        let capabilities = &answer["result"]["capabilities"]["resources"];
        assert_eq!(capabilities, &json!({ "subscribe": true, "listChanged": true }));
        client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    async fn send(&mut self, message: Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line);
        tokio::time::timeout(PATIENCE, read).await.expect("nothing comes").unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let question = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.send(question).await;
        loop {
            let message = self.next().await;
            match message.get("id") {
                Some(_) => return message,
                None => self.told.push(message),
            }
        }
    }

    /// Waits until this is reported.
    async fn hear(&mut self, method: &str, uri: Option<&str>) {
        let is_it = |message: &Value| {
            message["method"] == method
                && uri.is_none_or(|uri| message["params"]["uri"].as_str() == Some(uri))
        };
        if let Some(index) = self.told.iter().position(is_it) {
            self.told.remove(index);
            return;
        }
        while !is_it(&self.next().await) {}
    }

    async fn names(&mut self) -> Vec<String> {
        let answer = self.ask("resources/list", json!({})).await;
        let links = answer["result"]["resources"].as_array().unwrap();
        links.iter().map(|link| link["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn files_that_come_and_go_make_another_list() {
    let tree = Tree::of(&["app/golem.yaml"]);
    let (server, _, _watching) = served(&tree).await;
    let mut client = Client::of(&server).await;
    assert_eq!(client.names().await, ["golem.yaml"]);
    tree.write("app/sub/golem.yaml", "new");
    client.hear(LIST, None).await;
    assert_eq!(client.names().await, ["golem.yaml", "sub/golem.yaml"]);
    client.told.clear();
    std::fs::remove_file(tree.path("app/golem.yaml")).unwrap();
    client.hear(LIST, None).await;
    assert_eq!(client.names().await, ["sub/golem.yaml"]);
    client.told.clear();
    tree.write("golem.yaml", "above");
    client.hear(LIST, None).await;
    assert_eq!(client.names().await, ["sub/golem.yaml", "../golem.yaml"]);
}

#[tokio::test]
async fn who_subscribed_is_told_of_changes_of_a_file() {
    let tree = Tree::of(&["app/golem.yaml", "app/golem-other.yaml"]);
    let (server, _, _watching) = served(&tree).await;
    let (mut subscriber, mut other) = (Client::of(&server).await, Client::of(&server).await);
    let uri = tree.uri("app/golem.yaml");
    let answer = subscriber.ask("resources/subscribe", json!({ "uri": uri })).await;
    assert_eq!(answer["result"], json!({}));
    let other_uri = tree.uri("app/golem-other.yaml");
    other.ask("resources/subscribe", json!({ "uri": other_uri })).await;
    for text in ["as long as this", "as long as that", ""] {
        tree.write("app/golem.yaml", text);
        subscriber.hear(UPDATED, Some(&uri)).await;
        let answer = subscriber.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(answer["result"]["contents"][0]["text"], text);
    }
    // Also when another file is put in its place, or none.
    subscriber.told.clear();
    tree.write("kept.yaml", "");
    std::fs::rename(tree.path("kept.yaml"), tree.path("app/golem.yaml")).unwrap();
    subscriber.hear(UPDATED, Some(&uri)).await;
    std::fs::remove_file(tree.path("app/golem.yaml")).unwrap();
    subscriber.hear(UPDATED, Some(&uri)).await;
    // Whoever subscribed to something else has not been told of it.
    tree.write("app/golem-other.yaml", "changed");
    other.hear(UPDATED, None).await;
    let told = other.told.iter().filter(|told| told["method"] == UPDATED);
    assert!(told.map(|told| &told["params"]["uri"]).all(|uri| *uri == other_uri.as_str()));
}

#[tokio::test]
async fn what_is_no_manifest_cannot_be_subscribed_to() {
    let tree = Tree::of(&["app/golem.yaml", "app/.env"]);
    let (server, _, _watching) = served(&tree).await;
    let mut client = Client::of(&server).await;
    let uri = tree.uri("app/.env");
    let answer = client.ask("resources/subscribe", json!({ "uri": uri })).await;
    assert!(answer["error"]["message"].as_str().unwrap().contains("supports subscriptions"));
}

#[tokio::test]
async fn what_another_client_saw_first_is_told_all_the_same() {
    let tree = Tree::of(&["app/golem.yaml"]);
    let manifests = tree.manifests("app");
    let walked = |tree: &Tree| walk(&tree.manifests("app").0.rules);
    let mut seen = manifests.seen();
    seen.is_watched = true;
    seen.note(&walked(&tree));
    assert_eq!(seen.take(), Default::default());
    tree.write("app/golem-new.yaml", "");
    // A client lists, then another one: both walks find it, and it is reported once.
    seen.note(&walked(&tree));
    seen.note(&walked(&tree));
    let changes = seen.take();
    assert!(changes.is_another_list);
    assert_eq!(changes.changed.into_iter().collect::<Vec<_>>(), [tree.uri("app/golem-new.yaml")]);
    assert_eq!(seen.take(), Default::default());
}

#[tokio::test]
async fn nobody_looks_for_nobody() {
    let tree = Tree::of(&["app/golem.yaml"]);
    let (server, manifests, watching) = served(&tree).await;
    let looked = async |manifests: &Manifests| {
        manifests.0.walked.lock().await.as_ref().map(|walked| walked.begun)
    };
    let until_other = async |than| {
        let wait = async {
            while looked(&manifests).await == than {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, wait).await
    };
    let first = looked(&manifests).await;
    assert!(first.is_some(), "it has looked once, to have something to compare with");
    assert!(!is_anybody_there(&server), "without clients it does not look again");
    let client = Client::of(&server).await;
    assert!(is_anybody_there(&server));
    assert!(until_other(first).await.is_ok(), "with one it does");
    drop((client, watching));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_ask_at_once_share_a_walk() {
    let tree = Tree::of(&["app/golem.yaml"]);
    let manifests = tree.manifests("app");
    let asked = (0..200).map(|_| {
        let manifests = manifests.clone();
        tokio::spawn(async move { manifests.walk().await.unwrap().begun })
    });
    let asked: Vec<_> = asked.collect();
    let mut walks = std::collections::BTreeSet::new();
    for one in asked {
        walks.insert(one.await.unwrap());
    }
    assert!(!walks.is_empty() && walks.len() < 200, "{} walks", walks.len());
}
