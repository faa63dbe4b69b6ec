//! An operator that is killed before, during and after a query: an error that names it, never a short
//! answer that looks whole, and whole answers when it is back, without anybody else being restarted.

use serde_json::{Value, json};

use super::net::{Net, ROWS, WIDE, WIDE_ROWS, names, store, text, until};

const COUNT: &str = "select count(*) as c from t";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn before_a_query() {
    let mut net = Net::with_rows().await;
    net.two.kill();
    for sql in [COUNT, "select n from t", "select n from t order by n limit 3"] {
        let error = net.error(sql, &net.two).await;
        assert!(error["hint"].as_str().unwrap().contains("subset"), "{error}");
    }
    let (rows, statistics) =
        net.subset("select count(*) as c, min(n) as l, max(n) as h from t").await;
    assert_eq!(rows, json!([{ "c": ROWS, "l": 0, "h": ROWS - 1 }]));
    assert_eq!(statistics["Nodes"], 1, "{statistics}");
    let missing = statistics["Missing"].as_array().unwrap();
    assert!(missing.len() == 1 && missing[0].as_str().unwrap().contains("two"), "{statistics}");
    // Where there is no place for it in the rows, it is reported before them.
    for format in ["csv", "ndjson", "arrow", "json:list"] {
        let reply = net.sql(format, COUNT).header("subset", "true").send().await.unwrap();
        let missing = reply.headers()["edgemere-missing"].to_str().unwrap();
        assert!(missing.contains("two"), "{format}: {missing}");
    }
    net.two.start();
    net.is_whole().await;
    let reply = net.sql("csv", COUNT).header("subset", "true").send().await.unwrap();
    assert!(!reply.headers().contains_key("edgemere-missing"));
    let (rows, statistics) = net.subset(COUNT).await;
    assert_eq!((rows, &statistics["Missing"]), (json!([{ "c": 2 * ROWS }]), &Value::Null));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_its_rows_are_read() {
    let mut net = Net::with_wide_rows().await;
    for format in ["ndjson", "arrow", "json"] {
        let response = net.begin(format).await;
        net.two.kill();
        assert!(response.bytes().await.is_err(), "{format} looks whole");
        net.two.start();
        net.is_whole().await;
    }
    // Events say what it was. Where some of its rows were given, no others will do.
    for subset in ["false", "true"] {
        let request = net.sql("events", WIDE).header("subset", subset);
        let mut response = request.send().await.unwrap();
        let mut told = response.chunk().await.unwrap().unwrap().to_vec();
        net.two.kill();
        told.extend(response.bytes().await.unwrap());
        let told = String::from_utf8(told).unwrap();
        let last: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
        match last["type"].as_str() {
            Some("error") => names(&last["error"], &net.two),
            // It had not begun: then it is left out, and named, and none of its rows are there.
            Some("complete") if subset == "true" => {
                assert_eq!(last["total_rows"], WIDE_ROWS, "{last}");
                assert!(last["missing"][0].as_str().unwrap().contains("two"), "{last}");
            }
            _ => panic!("{last}"),
        }
        net.two.start();
        net.is_whole().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_query_and_back_again_several_times() {
    let mut net = Net::with_rows().await;
    for _ in 0..3 {
        net.is_whole().await;
        net.one.kill();
        net.error(COUNT, &net.one).await;
        net.one.start();
        // Nobody has asked meanwhile: the old connections are found dead by this query.
        net.is_whole().await;
        net.one.kill();
        net.one.start();
        net.is_whole().await;
    }
    // All at once, too.
    net.one.kill();
    net.two.kill();
    let (status, error) = text(net.sql("json", COUNT)).await;
    assert_eq!(status, 503, "{error}");
    let (status, none) = text(net.sql("json", COUNT).header("subset", "true")).await;
    assert_eq!(status, 503, "{none}");
    // What was asked for already is not what helps.
    let none: Value = serde_json::from_str(&none).unwrap();
    let hint = none["hint"].as_str().unwrap();
    assert!(hint.contains("start an operator") && !hint.contains("subset"), "{none}");
    net.two.start();
    net.one.start();
    net.is_whole().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_that_moved_is_found_at_its_new_address() {
    let mut net = Net::with_rows().await;
    let old = net.two.network.clone();
    net.two.kill();
    net.two.network = crate::member::own_address();
    net.two.start();
    assert_ne!(net.two.network, old);
    net.knows("t").await;
    net.is_whole().await;
    store(net.two.up(), "t", "n,device,value\n1000000,sensor-0,1\n").await;
    until("the new row", async || {
        let rows = net.rows("select count(*) as c from t where n = 1000000").await;
        (rows == json!([{ "c": 1 }])).then_some(())
    })
    .await;
}
