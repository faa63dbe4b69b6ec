//! The tools that come with Edgemere: what agents see of them, and that each of them answers.

use std::path::Path;

use serde_json::{Value, json};

use super::{Agent, store};
use crate::support::Node;

/// How much of an agent's context the list of tools may take.
const LIST_BYTES_MAX: usize = 1_400 * 4;

/// What agents see, as it is kept beside the tests.
fn list_file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tools_list.json")
}

#[tokio::test]
async fn the_list_of_tools_is_short_and_as_it_is_kept() {
    let node = Node::start(&[]);
    let listed = Agent::of(&node).ask("tools/list", json!({})).await;
    let tools = &listed["tools"];
    assert!(tools.to_string().len() < LIST_BYTES_MAX, "{} bytes", tools.to_string().len());
    let seen = format!("{tools:#}\n");
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(list_file(), &seen).unwrap();
    }
    let kept = std::fs::read_to_string(list_file()).unwrap();
    assert!(seen == kept, "run the test with UPDATE_GOLDENFILES=1 and look at the difference");
}

#[tokio::test]
async fn every_tool_answers() {
    let node = Node::start(&["--name", "plant"]);
    store(&node, "t", 1000).await;
    let agent = Agent::of(&node);
    let table = json!({ "database": "d", "table": "t" });
    let with = |more: Value| {
        let mut arguments = table.clone();
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let sql = |sql: &str| json!({ "database": "d", "sql": sql });
    let spans =
        with(json!({ "time_column": "insert_timestamp", "unit": "year", "select": ["count(*)"] }));
    let grouped = with(
        json!({ "select": ["s", "count(*) as c"], "group_by": ["s"], "order_by": ["c desc", "s"], "limit": 1 }),
    );
    let (_, long) = agent.rows("sql", sql("select n from t order by n")).await;
    let cursor = json!({ "cursor": long["structuredContent"]["next_cursor"] });
    // What is asked of each, where its answer shows that it was understood, and what stands there.
    let cases = [
        ("list_databases", json!({}), "/result", json!(["d"])),
        ("list_tables", json!({ "database": "d" }), "/result", json!(["t"])),
        ("list_database_schema", json!({}), "/result/0", table.clone()),
        (
            "list_database_schema",
            json!({ "detail": "columns" }),
            "/result",
            json!({ "d": { "t": "n int, s char(2)" } }),
        ),
        ("get_schema", table.clone(), "/result/columns/0/name", json!("n")),
        ("sample", with(json!({ "rows": 2 })), "/result/rows/1", json!(["plant", 1, "s1"])),
        ("query", grouped, "/rows", json!([["s0", 143]])),
        ("sql", sql("select max(n) from t"), "/rows", json!([[999]])),
        ("query_with_increments", spans, "/rows/0/1", json!(1000)),
        ("fetch_rows", cursor, "/rows/0", json!([200])),
        ("explain", sql("select max(n) from t"), "/result/0/dbms", json!("d")),
        ("list_nodes", json!({}), "/result/0/name", json!("plant")),
        ("data_location", table.clone(), "/result/0/nodes", json!(["plant"])),
        (
            "list_policies",
            json!({ "type": "table", "where": "dbms = d" }),
            "/result/0/table/name",
            json!("t"),
        ),
        ("node_status", json!({}), "/result/status", json!("running")),
        ("server_info", json!({}), "/result/version", json!(env!("CARGO_PKG_VERSION"))),
        ("job_status", json!({ "job": 1 }), "/result/0/job", json!(1)),
        ("cancel_job", json!({ "job": 1 }), "/result", json!("query 1 is cancelled")),
        ("help", json!({}), "/result/tools/list_databases", json!("Names of all databases.")),
    ];
    let mut known = agent.tools().await;
    for (tool, arguments, place, expected) in cases {
        let answer = agent.call(tool, arguments).await;
        assert_eq!(answer["isError"], false, "{tool}: {answer}");
        let found = answer["structuredContent"].pointer(place);
        assert_eq!(found, Some(&expected), "{tool}: {answer}");
        known.retain(|name| name != tool);
    }
    let answer = agent.call("monitor_nodes", json!({ "what": "version" })).await;
    let versions = answer["structuredContent"]["result"]["nodes"].as_object().unwrap();
    let version = versions.get("plant").map(|node| &node["version"]);
    assert_eq!(version, Some(&json!(env!("CARGO_PKG_VERSION"))), "{answer}");
    known.retain(|name| name != "monitor_nodes");
    assert_eq!(known, Vec::<String>::new(), "tools that nobody called");
}

#[tokio::test]
async fn prompts_and_resources_come_with_them() {
    let node = Node::start(&[]);
    let agent = Agent::of(&node);
    let prompts = agent.ask("prompts/list", json!({})).await;
    let names: Vec<_> =
        prompts["prompts"].as_array().unwrap().iter().map(|prompt| &prompt["name"]).collect();
    assert_eq!(names, ["explore_network", "investigate_device", "daily_report"]);
    let params = json!({ "name": "investigate_device", "arguments": { "device": "pump \"7\"" } });
    let request = agent.request("prompts/get", params);
    let got: Value = request.send().await.unwrap().json().await.unwrap();
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("pump \"7\"") && !text.contains("{device}"), "{text}");
    let listed = agent.ask("resources/list", json!({})).await.to_string();
    for uri in ["edgemere://tools.yaml", "edgemere://policies", "edgemere://status"] {
        assert!(listed.contains(uri), "{uri}: {listed}");
    }
}

#[tokio::test]
async fn edgelakes_own_tools_are_there_for_those_who_know_them() {
    let node = Node::start(&["--tools", "edgelake"]);
    store(&node, "t", 5).await;
    let agent = Agent::of(&node);
    assert_eq!(agent.tools().await.len(), 19);
    let arguments = json!({ "dbms": "d", "sql": "select count(*) from t", "mode": "execute" });
    let answer = agent.call("executeQuery", arguments).await;
    assert_eq!(answer["isError"], false, "{answer}");
    assert!(answer["content"][0]["text"].as_str().unwrap().contains('5'), "{answer}");
    let unknown = agent.failure("listColumns", json!({ "dbms": "d", "table": "nope" })).await;
    assert!(unknown.contains("nope"), "{unknown}");
}
