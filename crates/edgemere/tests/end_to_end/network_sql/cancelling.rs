//! A query that is not wanted any more stops on every operator.

use serde_json::Value;

use super::net::{Net, WIDE, ask, running, text, until};
use crate::support::Node;

/// Keeps operators busy on their own rows for long, and gives one row.
const HEAVY: &str =
    "select max(reverse(reverse(reverse(rpad(device || n, 2000, 'xy'))))) as l from t";

/// Waits until both operators work for a query.
async fn busy(net: &Net) {
    until("work on both operators", async || {
        (running(net.one.up()).await > 0 && running(net.two.up()).await > 0).then_some(())
    })
    .await;
}

/// Waits until nobody works any more.
async fn idle(net: &Net) {
    for node in [net.one.up(), net.two.up(), net.query.up()] {
        until("the end of the work", async || (running(node).await == 0).then_some(())).await;
    }
}

/// The number of the query that runs on a node.
async fn number(node: &Node) -> u64 {
    let (_, status) = text(ask(node, "query status all where format = json")).await;
    let queries: Value = serde_json::from_str(&status).unwrap();
    let running = queries.as_array().unwrap().iter().find(|query| query["status"] == "Running");
    running.unwrap_or_else(|| panic!("{queries}"))["job"].as_u64().unwrap()
}

async fn stop(node: &Node, command: &str) {
    let command = format!("{command} {}", number(node).await);
    let request = reqwest::Client::new().post(node.url()).header("command", command);
    let (status, told) = text(request).await;
    assert_eq!(status, 200, "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn because_its_client_went_away() {
    let net = Net::with_wide_rows().await;
    for format in ["ndjson", "arrow", "events"] {
        let response = net.begin(format).await;
        busy(&net).await;
        drop(response);
        idle(&net).await;
    }
    // Before its first row, too.
    let waiting = tokio::spawn(net.sql("json", HEAVY).send());
    busy(&net).await;
    waiting.abort();
    idle(&net).await;
    net.is_whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn because_somebody_stopped_it() {
    let net = Net::with_wide_rows().await;
    for command in ["query cancel", "job stop"] {
        let response = net.begin("ndjson").await;
        busy(&net).await;
        stop(net.query.up(), command).await;
        assert!(response.bytes().await.is_err(), "looks whole");
        idle(&net).await;
        let waiting = tokio::spawn(text(net.sql("json", HEAVY)));
        busy(&net).await;
        stop(net.query.up(), command).await;
        let (status, told) = waiting.await.unwrap();
        assert!(status != 200 && told.contains("cancelled"), "{status} {told}");
        idle(&net).await;
    }
    net.is_whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn because_its_time_is_over() {
    let net = Net::with_wide_rows().await;
    let (status, told) = text(net.sql("json", HEAVY).header("timeout", "1")).await;
    assert_eq!(status, 503, "{told}");
    let error: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(error["err_code"], 76, "{error}");
    idle(&net).await;
    // In the middle of the rows, with a reader that does not read.
    let mut response = net.sql("csv", WIDE).header("timeout", "1").send().await.unwrap();
    assert!(response.chunk().await.unwrap().is_some());
    idle(&net).await;
    assert!(response.bytes().await.is_err(), "looks whole");
    net.is_whole().await;
}
