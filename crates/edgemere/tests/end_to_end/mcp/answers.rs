//! What tools answer: rows in pages, the whole result by a link, values, and errors that say what to
//! do next.

use reqwest::Client;
use serde_json::{Value, json};

use super::{Agent, TOOLS, node_with, store};

const ROWS: usize = 1234;

#[tokio::test]
async fn all_rows_come_page_by_page_each_of_them_once() {
    let node = node_with(TOOLS, &[]);
    store(&node, "t", ROWS).await;
    let agent = Agent::of(&node);
    let question = json!({ "database": "d", "sql": "select n from t order by n" });
    let (mut rows, mut answer) = agent.rows("sql", question).await;
    assert_eq!(answer["structuredContent"]["columns"], json!(["n"]));
    while let Some(cursor) = answer["structuredContent"]["next_cursor"].as_str() {
        assert_eq!(answer["structuredContent"]["truncated"], true);
        let (more, next) = agent.rows("fetch_rows", json!({ "cursor": cursor })).await;
        rows.extend(more);
        answer = next;
    }
    assert_eq!(answer["structuredContent"]["truncated"], false);
    let expected: Vec<_> = (0..ROWS).map(|n| json!([n])).collect();
    assert_eq!(rows, expected);
}

#[tokio::test]
async fn an_answer_is_the_same_as_text_and_says_where_it_comes_from() {
    let node = node_with(TOOLS, &["--name", "plant"]);
    store(&node, "t", 10).await;
    let agent = Agent::of(&node);
    let question =
        json!({ "database": "d", "sql": "select s, count(*) from t group by s order by s" });
    let (rows, answer) = agent.rows("sql", question).await;
    assert_eq!(rows.first(), Some(&json!(["s0", 2])));
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert_eq!(serde_json::from_str::<Value>(text).unwrap(), answer["structuredContent"]);
    let provenance = &answer["structuredContent"]["provenance"];
    assert_eq!(provenance["answered"], json!(["plant"]));
    // Of a whole answer there is no more to say.
    assert_eq!([&provenance["asked"], &provenance["missing"]], [&Value::Null; 2]);
    assert_eq!(provenance["rows_scanned"], 10);
    assert_eq!(provenance["complete"], true);
    let status = agent.call("node_status", json!({})).await;
    assert_eq!(status["structuredContent"]["result"]["status"], "running", "{status}");
}

#[tokio::test]
async fn a_link_gives_the_whole_result_in_every_format() {
    let node = node_with(TOOLS, &[]);
    store(&node, "t", ROWS).await;
    let agent = Agent::of(&node);
    let question = json!({ "database": "d", "sql": "select n, s from t order by n" });
    let (_, answer) = agent.rows("sql", question).await;
    let link = answer["content"][1].clone();
    assert_eq!(link["type"], "resource_link");
    let address = link["uri"].as_str().unwrap();
    let get = async |format: &str| {
        let address = address.replace("format=ndjson", &format!("format={format}"));
        let reply = Client::new().get(address).send().await.unwrap();
        (reply.status().as_u16(), reply.bytes().await.unwrap().to_vec())
    };
    let lines = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().lines().count();
    assert_eq!(lines(get("ndjson").await.1), ROWS);
    assert_eq!(lines(get("csv").await.1), ROWS + 1);
    let (_, parquet) = get("parquet").await;
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    let (_, arrow) = get("arrow").await;
    // Every message begins so, and the end is one without a length.
    let mark = [0xff; 4];
    assert!(arrow.starts_with(&mark) && arrow.ends_with(&[mark, [0; 4]].concat()));
    assert_eq!(get("html").await.0, 400);
    let other = address.replace("results/", "results/0");
    assert_eq!(Client::new().get(other).send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn what_is_wrong_is_said_with_the_next_step() {
    let node = node_with(TOOLS, &[]);
    store(&node, "readings", 3).await;
    let agent = Agent::of(&node);
    let ask = async |sql: &str| agent.failure("sql", json!({ "database": "d", "sql": sql })).await;
    let said = ask("select n from reading").await;
    assert!(said.contains("did you mean \"readings\"?"), "{said}");
    let said = ask("select nn from readings").await;
    assert!(said.contains("the columns are") && said.contains("n, s"), "{said}");
    for write in [
        "drop table readings",
        "delete from readings",
        "select 1; select 2",
        "copy readings to 'x'",
    ] {
        let said = ask(write).await;
        assert!(!said.contains("internal"), "{write}: {said}");
    }
    let said = agent.failure("sql", json!({ "database": 7, "query": "select 1" })).await;
    for part in ["database", "query", "sql"] {
        assert!(said.contains(part), "{part} in: {said}");
    }
    let (rows, _) =
        agent.rows("sql", json!({ "database": "d", "sql": "select n from readings" })).await;
    assert_eq!(rows.len(), 3);
}

#[tokio::test]
async fn tables_are_resources() {
    let node = node_with(TOOLS, &[]);
    store(&node, "t", 30).await;
    let agent = Agent::of(&node);
    let listed = agent.ask("resources/list", json!({})).await;
    let uris: Vec<_> =
        listed["resources"].as_array().unwrap().iter().map(|one| &one["uri"]).collect();
    assert_eq!(uris, ["edgemere://tools.yaml", "edgemere://d/t"]);
    let read = async |uri: &str| {
        let request = agent.request("resources/read", json!({ "uri": uri }));
        let reply: Value = request.send().await.unwrap().json().await.unwrap();
        reply["result"]["contents"][0]["text"].as_str().map(ToOwned::to_owned)
    };
    let table: Value = serde_json::from_str(&read("edgemere://d/t").await.unwrap()).unwrap();
    assert_eq!(table["sample"]["rows"].as_array().unwrap().len(), 5);
    let columns = table["columns"].as_array().unwrap();
    assert!(columns.iter().any(|column| column["name"] == "n"), "{columns:?}");
    let tail: Value = serde_json::from_str(&read("edgemere://d/t/tail").await.unwrap()).unwrap();
    assert_eq!(tail["rows"].as_array().unwrap().len(), 20);
    assert!(read("edgemere://tools.yaml").await.unwrap().contains("fetch_rows"));
    assert_eq!(read("edgemere://d/nothing").await, None);
}
