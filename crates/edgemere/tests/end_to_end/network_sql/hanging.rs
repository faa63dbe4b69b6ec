//! An operator that hangs, its connections open: an error that names it after a bounded time, and
//! answers again as soon as it goes on.

use serde_json::{Value, json};

use super::net::{Net, ROWS, WIDE, WIDE_ROWS, names};

const COUNT: &str = "select count(*) as c from t";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_a_query() {
    let net = Net::with_rows().await;
    // With connections from before, and without.
    for _ in 0..2 {
        net.two.hang();
        net.error(COUNT, &net.two).await;
        net.error("select n from t", &net.two).await;
        let (rows, statistics) = net.subset("select count(*) as c, max(n) as h from t").await;
        assert_eq!(rows, json!([{ "c": ROWS, "h": ROWS - 1 }]));
        assert_eq!(statistics["Nodes"], 1, "{statistics}");
        assert!(statistics["Missing"][0].as_str().unwrap().contains("two"), "{statistics}");
        net.two.go_on();
        net.is_whole().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_its_rows_are_read() {
    let net = Net::with_wide_rows().await;
    let mut response = net.sql("events", WIDE).send().await.unwrap();
    let mut told = response.chunk().await.unwrap().unwrap().to_vec();
    net.two.hang();
    told.extend(response.bytes().await.unwrap());
    let told = String::from_utf8(told).unwrap();
    let last: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!(last["type"], "error", "{last}");
    names(&last["error"], &net.two);
    net.two.go_on();
    net.is_whole().await;
    for format in ["csv", "arrow"] {
        let response = net.begin(format).await;
        net.one.hang();
        assert!(response.bytes().await.is_err(), "{format} looks whole");
        net.one.go_on();
        net.is_whole().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_pause_is_no_failure() {
    let net = Net::with_wide_rows().await;
    let mut response = net.sql("csv", WIDE).send().await.unwrap();
    let mut told = response.chunk().await.unwrap().unwrap().to_vec();
    net.one.hang();
    net.one.go_on();
    told.extend(response.bytes().await.unwrap());
    let lines = told.iter().filter(|&&byte| byte == b'\n').count();
    assert_eq!(lines, 2 * WIDE_ROWS + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_time_that_is_said_is_kept() {
    let net = Net::with_rows().await;
    net.two.hang();
    let request = net.sql("json", COUNT).header("timeout", "1");
    let (status, text) = super::net::text(request).await;
    assert_eq!(status, 503, "{text}");
    let error: Value = serde_json::from_str(&text).unwrap();
    // Either says why there is no answer: the time, or who did not answer in it.
    assert!(error["err_code"] == 76 || text.contains(&net.two.network), "{text}");
    net.two.go_on();
    net.is_whole().await;
}
