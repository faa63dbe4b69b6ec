//! Answers of several operators: who answered is said, and who did not.

use serde_json::json;

use super::{Agent, TOOLS, node_with, store};
use crate::support::{Node, wait_for};

/// Beside the others, one that asks every operator by itself.
const STATES: &str = r#"
  - name: states
    description: How the operators are doing.
    command:
      template: get status where format = mcp
      headers: {destination: blockchain get operator bring.ip_port, subset: true}
"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_names_who_is_missing() {
    let tools = format!("{}{STATES}", TOOLS.trim_end());
    let master = node_with(&tools, &["--name", "centre", "--role", "master,query"]);
    let operator = |name: &str| {
        let cluster = format!("{name}-cluster");
        let args = [
            "--role",
            "operator",
            "--name",
            name,
            "--cluster",
            &cluster,
            "--master",
            &master.network,
        ];
        Node::start(&args)
    };
    let (north, south) = (operator("north"), operator("south"));
    store(&north, "t", 40).await;
    store(&south, "t", 60).await;
    let agent = Agent::of(&master);
    let question = json!({ "database": "d", "sql": "select count(*), sum(n) from t" });
    let handle = tokio::runtime::Handle::current();
    let whole = tokio::task::block_in_place(|| {
        wait_for("both operators in the ledger", || {
            let answer = handle.block_on(agent.call("sql", question.clone()));
            let said = answer["structuredContent"].clone();
            (said["rows"] == json!([[100, 780 + 1770]])).then_some(said)
        })
    });
    let provenance = &whole["provenance"];
    let mut answered: Vec<_> = provenance["answered"].as_array().unwrap().clone();
    answered.sort_by_key(ToString::to_string);
    assert_eq!(answered, ["north", "south"]);
    assert_eq!(provenance["rows_scanned"], 100);
    assert_eq!(provenance["complete"], true);

    let address = south.network.clone();
    drop(south.kill());
    let said = agent.failure("sql", question.clone()).await;
    assert!(said.contains("south"), "{said}");
    let (rows, answer) = agent.rows("some", question).await;
    assert_eq!(rows, [json!([40, 780])]);
    let provenance = &answer["structuredContent"]["provenance"];
    assert_eq!(provenance["missing"], json!(["south"]));
    assert_eq!(provenance["complete"], false);

    let answer = agent.call("states", json!({})).await;
    let said = &answer["structuredContent"];
    assert_eq!(said["provenance"]["missing"], json!(["south"]), "{answer}");
    let missing = &said["result"]["missing"][0];
    assert_eq!(
        (&missing["node"], &missing["address"]),
        (&json!("south"), &json!(address)),
        "{answer}"
    );
    assert_eq!(said["result"]["nodes"]["north"]["status"], "running", "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_stops_its_query() {
    let node = node_with(TOOLS, &[]);
    store(&node, "t", 3000).await;
    let agent = Agent::of(&node);
    let sql = "select count(*) from t a, t b, t c where a.n + b.n + c.n = -1";
    let params = json!({ "name": "sql", "arguments": { "database": "d", "sql": sql } });
    let call = tokio::spawn(agent.request("tools/call", params).send());
    let queries = || node.run(&["query status all where format = json"]).0;
    let has = |state: &str| queries().contains(&format!("\"status\":\"{state}\""));
    wait_for("the query", || has("Running").then_some(()));
    call.abort();
    wait_for("its end", || (!has("Running") && has("Cancelled")).then_some(()));
}
