//! The file of tools: a bad one stops the start, and a change of it takes effect while the node runs.

use std::process::Stdio;

use serde_json::json;

use super::{Agent, TOOLS, folder_with};
use crate::support::{Node, edgemere, wait_for};

const BAD: &str =
    "version: \"1.0\"\ntools:\n  - name: a\n    description: b\n    comand: get status\n";

#[test]
fn a_bad_file_stops_the_start_and_says_where() {
    let (folder, _) = folder_with(BAD);
    let ports = ["--http", "127.0.0.1:0", "--network", "127.0.0.1:0", "--tools", "tools.yaml"];
    let output = edgemere(folder.path(), &[&["node"], ports.as_slice()].concat())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("tools.yaml:5:5") && said.contains("comand"), "{said}");
    assert!(said.contains("\"command\""), "{said}");
}

/// Tools whose tables are there are planned when they are loaded.
fn hottest(column: &str) -> String {
    format!(
        "version: \"1.0\"\ntools:\n  - name: hottest\n    description: The largest.\n    command:\n      \
         sql: SELECT s, max({column}) AS largest FROM t WHERE n > {{above}} GROUP BY s\n      \
         database: d\n      headers: {{destination: network}}\n    input_schema:\n      \
         properties: {{above: {{type: number, default: 0}}}}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_is_planned_when_it_is_loaded() {
    let (folder, file) = folder_with(TOOLS);
    let node = Node::start_in(folder, &["--tools", "tools.yaml"]);
    super::store(&node, "t", 10).await;
    let agent = Agent::of(&node);
    std::fs::write(&file, hottest("m")).unwrap();
    let said = wait_for("the problem", || {
        let processes = node.run(&["get processes where format = json"]).0;
        processes.contains("problems").then_some(processes)
    });
    assert!(said.contains("no column") && said.contains("the columns are"), "{said}");
    assert_eq!(agent.tools().await.len(), 4);
    std::fs::write(&file, hottest("n")).unwrap();
    await_tools(&agent, 1);
    let listed = agent.ask("tools/list", json!({})).await;
    let schema = &listed["tools"][0]["outputSchema"]["properties"];
    assert_eq!(schema["columns"], json!({ "const": ["s", "largest"] }));
    let row = json!([{ "type": ["string", "null"] }, { "type": ["integer", "null"] }]);
    assert_eq!(schema["rows"]["items"]["prefixItems"], row);
    let (rows, _) = agent.rows("hottest", json!({ "above": 8 })).await;
    assert_eq!(rows, [json!(["s2", 9])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_is_planned_when_its_tables_come() {
    let (folder, _) = folder_with(&hottest("n"));
    let node = Node::start_in(folder, &["--tools", "tools.yaml"]);
    let agent = Agent::of(&node);
    let columns = || {
        let listed = tokio::runtime::Handle::current().block_on(agent.ask("tools/list", json!({})));
        listed["tools"][0]["outputSchema"]["properties"]["columns"].clone()
    };
    let planned = json!({ "const": ["s", "largest"] });
    assert_ne!(tokio::task::block_in_place(columns), planned);
    super::store(&node, "t", 10).await;
    tokio::task::block_in_place(|| {
        wait_for("the columns", || (columns() == planned).then_some(()));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_change_takes_effect_and_after_a_bad_one_the_old_tools_stay() {
    let (folder, file) = folder_with(TOOLS);
    let node = Node::start_in(folder, &["--tools", "tools.yaml"]);
    let agent = Agent::of(&node);
    assert_eq!(agent.tools().await.len(), 4);
    let more = format!(
        "{TOOLS}  - name: version\n    description: Which version.\n    command: get version\n"
    );
    std::fs::write(&file, &more).unwrap();
    await_tools(&agent, 5);
    let answer = agent.call("version", json!({})).await;
    assert_eq!(answer["isError"], false, "{answer}");

    std::fs::write(&file, BAD).unwrap();
    let processes = || node.run(&["get processes where format = json"]).0;
    let said = wait_for("the problem", || {
        Some(processes()).filter(|processes| processes.contains("problems"))
    });
    assert!(said.contains("tools.yaml:5:5"), "{said}");
    assert!(node.log().contains("the old tools stay"), "{}", node.log());
    assert_eq!(agent.tools().await.len(), 5);

    std::fs::write(&file, TOOLS).unwrap();
    await_tools(&agent, 4);
    assert!(!processes().contains("problems"));
}

fn await_tools(agent: &Agent, count: usize) {
    let tools = || tokio::runtime::Handle::current().block_on(agent.tools());
    tokio::task::block_in_place(|| {
        wait_for("the tools", || (tools().len() == count).then_some(()));
    });
}
