//! Databases, views and retention on a real node, over kill -9.

use reqwest::{Client, Method};
use serde_json::Value;

use crate::support::Node;

async fn send(node: &Node, method: Method, command: &str) -> (u16, String) {
    let request = Client::new().request(method, node.url()).header("command", command);
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn get(node: &Node, command: &str) -> String {
    let (status, text) = send(node, Method::GET, command).await;
    assert_eq!(status, 200, "{command}: {text}");
    text
}

async fn post(node: &Node, command: &str) -> String {
    let (status, text) = send(node, Method::POST, command).await;
    assert_eq!(status, 200, "{command}: {text}");
    text
}

async fn put(node: &Node, table: &str, rows: &str) -> u16 {
    let request = Client::new().put(node.url()).header("dbms", "d").header("table", table);
    request.header("type", "json").body(rows.to_owned()).send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn what_is_said_of_databases_holds_over_kill_9() {
    let node = Node::start(&[]);
    post(&node, "connect dbms empty where type = sqlite").await;
    post(&node, "create table t (timestamp timestamp, value float) where dbms = d").await;
    let old = r#"[{"timestamp": "2020-01-01T00:00:00Z", "value": 1}]"#;
    let new = r#"[{"timestamp": "2999-01-01T00:00:00Z", "value": 2}]"#;
    assert_eq!(put(&node, "t", old).await, 200);
    post(&node, "flush buffers").await;
    assert_eq!(put(&node, "t", new).await, 200);
    post(&node, "create view v where dbms = d as select value from t where value > 0").await;
    let said =
        post(&node, "set retention where dbms = d and table = t and age = \"30 days\"").await;
    assert_eq!(said, "1 file with 1 row was dropped");
    assert_eq!(put(&node, "v", new).await, 409);
    let node = Node::start_in(node.kill(), &[]);
    assert_eq!(get(&node, "sql d format = mcp select value from v").await, r#"[{"value":2.0}]"#);
    let retention: Value =
        serde_json::from_str(&get(&node, "get retention where format = json").await).unwrap();
    assert_eq!(retention[0]["age_s"], 30 * 86_400);
    post(&node, "disconnect dbms d").await;
    let node = Node::start_in(node.kill(), &[]);
    let databases: Value =
        serde_json::from_str(&get(&node, "get databases where format = json").await).unwrap();
    assert_eq!(databases["d"]["connected"], false);
    assert_eq!(databases["empty"]["connected"], true);
    assert_eq!(put(&node, "t", new).await, 409);
    let (status, refused) = send(&node, Method::GET, "sql d select value from v").await;
    assert!(status == 409 && refused.contains("connect dbms d"), "{refused}");
    post(&node, "connect dbms d where type = edgemere").await;
    assert_eq!(get(&node, "sql d format = mcp select value from v").await, r#"[{"value":2.0}]"#);
    post(&node, "drop view v where dbms = d").await;
    post(&node, "drop table t where dbms = d").await;
    let node = Node::start_in(node.kill(), &[]);
    assert_eq!(get(&node, "get rows count where format = json").await, "{}");
    assert_eq!(get(&node, "get views where format = json").await, "[]");
}

#[tokio::test]
async fn queries_are_seen_over_rest_with_their_plans() {
    let node = Node::start(&[]);
    assert_eq!(put(&node, "t", r#"[{"value": 1}, {"value": 2}]"#).await, 200);
    get(&node, "sql d format = json select value from t").await;
    let queries: Value =
        serde_json::from_str(&get(&node, "query status where format = json").await).unwrap();
    assert_eq!(queries[0]["sql"], "select value from t");
    assert_eq!((&queries[0]["status"], &queries[0]["rows"]), (&"Completed".into(), &2.into()));
    let plan = get(&node, "query explain").await;
    assert!(plan.contains("TableScan: t projection=[value]"), "{plan}");
    let (status, _) = send(&node, Method::GET, "query cancel 1").await;
    assert_eq!(status, 400, "a GET changes nothing");
    assert_eq!(post(&node, "query cancel 1").await, "query 1 had ended");
}
