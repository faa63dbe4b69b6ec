//! What is sent to EdgeLake, what is not, and what is made of its replies.

use serde_json::json;

use super::*;
use crate::dispatch::parse;

fn foreign(text: &str) -> Foreign {
    let command = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Foreign::of(&command, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

async fn shaped(command: &str, reply: Value) -> Value {
    let text = foreign(command).shaped(reply).await.unwrap().into_text().await.unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_query_is_asked_as_json_and_printed_anew() {
    let cases = [
        (
            "sql new_company format = mcp:columns \"SELECT max(\\\"value\\\") FROM \\\"rand_data\\\" LIMIT 5\"",
            "sql new_company format = json select max(value) from rand_data",
        ),
        (
            "sql d timezone = Europe/Rome and stat = false and format = mcp select a from t where (b = 'x y')",
            "sql d format = json and timezone = Europe/Rome select a from t where b = 'x y'",
        ),
        ("sql d select a\n  from t;", "sql d format = json select a from t"),
    ];
    for (ours, theirs) in cases {
        assert_eq!(foreign(ours).texts(), [theirs]);
        assert_eq!(foreign(ours).expected(), Expected::Rows);
    }
}

#[test]
fn nothing_but_one_select_is_sent_as_sql() {
    for sql in [
        "and dest = file and file = /tmp/x select a from t limit 2",
        "dest = file and file = x select a from t",
        "test = true and file = x select a from t",
        "format = table select a from t",
        "include = (u) select a from t",
        "nodes = main select a from t",
        "select a from t; drop table t",
        "drop table t",
        "delete from t",
        "pragma table_info(t)",
        "system touch x",
        "select a from t where b = '!dbvar'",
        "select a from t where b = '$HOME'",
        "select \\\"!a\\\" from t",
    ] {
        let text = format!("sql d format = mcp:columns \"{sql}\"");
        let refused = Foreign::of(&parse(&text).unwrap(), &text).unwrap_err();
        assert_eq!(refused.kind, Kind::Input, "{sql}");
    }
    for text in [
        "sql \"!d\" \"select a from t\"",
        "sql \"d format = x\" \"select a from t\"",
        "sql \"$d\" \"select a from t\"",
        "sql d timezone = \"x and dest = file\" and format = json \"select a from t\"",
        "sql d timezone = !zone \"select a from t\"",
        "sql d include = (u) \"select a from t\"",
        "sql d extend = (@ip) \"select a from t\"",
        "sql d max_time = 5 \"select a from t\"",
        "sql d format = csv \"select a from t\"",
    ] {
        let refused = Foreign::of(&parse(text).unwrap(), text);
        assert!(refused.is_err(), "{text}: {refused:?}");
    }
}

#[test]
fn whole_policies_are_asked_for() {
    let cases = [
        (
            "blockchain get table where dbms = \"new_company\" and format = mcp",
            "blockchain get table",
        ),
        ("blockchain get * where ([name] = \"!dbvar\")", "blockchain get *"),
        (
            "blockchain get (operator, query) where name = \"x\" bring.ip_port",
            "blockchain get (operator, query)",
        ),
        ("blockchain get \"operator where x\" where format = json", "blockchain get *"),
        ("blockchain get \"!type\"", "blockchain get *"),
        ("blockchain get plant where name = x bring.json.children", "blockchain get *"),
        ("blockchain get root policies where format = json", "blockchain get *"),
    ];
    for (ours, theirs) in cases {
        assert_eq!(foreign(ours).texts(), [theirs], "{ours}");
        assert_eq!(foreign(ours).expected(), Expected::Policies);
    }
}

#[tokio::test]
async fn conditions_on_policies_are_held_here() {
    let policies = json!([
        {"operator": {"name": "operator1", "port": 1, "ip": "10.0.0.1", "id": "a"}},
        {"operator": {"name": "operator2", "port": 9, "ip": "10.0.0.2", "id": "b"}},
        {"plant": {"name": "p", "id": "c"}},
        {"hall": {"name": "h", "id": "d", "parent": "c"}},
    ]);
    let cases = [
        ("blockchain get operator where (name = operator1 and port > 0)", json!(["operator1"])),
        (
            "blockchain get * where name = operator1 or [port] > 5",
            json!(["operator1", "operator2"]),
        ),
        ("blockchain get operator where name = nobody", json!([])),
        ("blockchain get * where name = \"!operator1\"", json!([])),
        ("blockchain get plant where name = p bring.json.children", json!(["h"])),
        ("blockchain get root policies where format = json", json!(["p"])),
    ];
    for (command, expected) in cases {
        let found = shaped(command, policies.clone()).await;
        let name =
            |policy: &Value| policy.as_object().unwrap().values().next().unwrap()["name"].clone();
        let names: Vec<_> = found.as_array().unwrap().iter().map(name).collect();
        assert_eq!(json!(names), expected, "{command}");
    }
    // EdgeLake would have put its own variable there.
    assert!(foreign("blockchain get * where name = !x").shaped(policies).await.is_err());
}

#[tokio::test]
async fn policies_get_the_looks_that_edgelake_does_not_have() {
    let tables = json!([
        {"table": {"name": "b", "dbms": "d"}}, {"table": {"name": "a", "dbms": "d"}},
    ]);
    let list = shaped("blockchain get table where format = mcp", tables.clone()).await;
    assert_eq!(list, json!([{"database": "d", "table": "a"}, {"database": "d", "table": "b"}]));
    let names =
        shaped("blockchain get table where format = mcp and extract = dbms", tables.clone()).await;
    assert_eq!(names, json!(["d"]));
    let brought = "blockchain get (table) where dbms = d bring.json.unique [*][name]";
    assert_eq!(shaped(brought, tables).await, json!([{"name": "b"}, {"name": "a"}]));
}

#[test]
fn what_has_no_mcp_there_is_tried_as_json() {
    let asked = foreign("get columns where dbms = \"d\" and table = t and format = mcp");
    let texts = [
        "get columns where dbms = d and table = t and format = mcp",
        "get columns where dbms = d and table = t and format = json",
    ];
    assert_eq!((asked.texts(), asked.expected()), (&texts.map(String::from)[..], Expected::Json));
    assert_eq!(foreign("get status").expected(), Expected::Text);
    let asked = foreign("get status where format = mcp include statistics");
    let texts = [
        "get status where format = mcp include statistics",
        "get status where format = json include statistics",
        "get status where format = mcp",
        "get status where format = json",
    ];
    assert_eq!(asked.texts(), texts);
}

#[test]
fn what_edgelake_tells_as_text_is_asked_for_without_a_format() {
    let cases = [
        ("job status all where format = mcp", "job status all"),
        ("job status 8 where format = mcp", "job status 8"),
        ("job stop 8", "job stop 8"),
        ("help index where format = json", "help index"),
    ];
    for (ours, theirs) in cases {
        assert_eq!(foreign(ours).texts(), [theirs], "{ours}");
        assert_eq!(foreign(ours).expected(), Expected::Text);
    }
    let asked = foreign("help \"get columns\" where format = mcp");
    assert_eq!(asked.texts(), ["help get columns where format = mcp", "help get columns"]);
}

#[test]
fn a_value_that_edgelake_would_read_as_more_is_not_sent() {
    for hostile in [
        r#"get columns where dbms = "x\" system ls" and table = t"#,
        r#"get columns where dbms = 'x" system ls' and table = t"#,
        r#"get columns where dbms = "x\nsystem ls" and table = t"#,
        r#"get columns where dbms = "!dbvar" and table = t"#,
        r#"get columns where dbms = !dbvar and table = t"#,
        r#"get columns where dbms = "$HOME" and table = t"#,
        r#"get columns where dbms = "a and format = x" and table = t"#,
        r#"get columns where dbms = "a&b" and table = t"#,
        r#"get columns where dbms = "a;b" and table = t"#,
        r#"get columns where dbms = "<a>" and table = t"#,
        r#"help "get; system ls" where format = mcp"#,
        r#"help "!x""#,
    ] {
        let sent = Foreign::of(&parse(hostile).unwrap(), hostile);
        assert!(sent.is_err(), "{hostile}: {sent:?}");
    }
}

#[test]
fn commands_that_edgelake_should_not_be_given_are_not_sent() {
    for text in [
        "query explain sql d \"select a from t\"",
        "query fetch abc",
        "run client () sql d \"and dest = file and file = x select a from t\"",
        "process x.al",
        "a = 5",
        "set a = 5",
        "print !a",
        "get !a",
        "drop table t where dbms = d",
        "blockchain drop policy where id = 5",
    ] {
        let Ok(command) = parse(text) else { continue };
        let sent = Foreign::of(&command, text);
        assert!(sent.is_err_and(|error| error.message.contains("is not sent")), "{text}");
    }
}

#[tokio::test]
async fn nodes_are_found_by_address_name_and_question() {
    let policies = json!([
        {"operator": {"name": "operator1", "ip": "10.0.0.1", "port": 32148}},
        {"query": {"name": "q", "ip": "10.0.0.3", "port": 32348}},
    ]);
    let nodes = |destination: &str| Nodes::of(Some(destination)).unwrap();
    let addresses = async |destination: &str| nodes(destination).addresses(policies.clone()).await;
    assert_eq!(nodes("\"10.0.0.1:32148\"").question(), None);
    assert_eq!(
        addresses("\"10.0.0.1:1,10.0.0.2:2\", 10.0.0.1:1").await.unwrap(),
        ["10.0.0.1:1", "10.0.0.2:2"]
    );
    assert_eq!(addresses("\"operator1\"").await.unwrap(), ["10.0.0.1:32148"]);
    let question = "blockchain get (master, query, operator) bring.ip_port";
    assert_eq!(nodes(question).question().unwrap(), "blockchain get (master, query, operator)");
    assert_eq!(addresses(question).await.unwrap(), ["10.0.0.1:32148", "10.0.0.3:32348"]);
    assert!(addresses("nobody").await.is_err());
    for wrong in ["!nodes", "dbms = a, table = b", "get status"] {
        let nodes = Nodes::of(Some(wrong));
        let unknown = match nodes {
            Ok(nodes) => nodes.addresses(policies.clone()).await.is_err(),
            Err(_) => true,
        };
        assert!(unknown, "{wrong}");
    }
    assert!(matches!(Nodes::of(Some("network")), Ok(Nodes::Network)));
    assert!(matches!(Nodes::of(Some("local")), Ok(Nodes::Here)));
    assert!(matches!(Nodes::of(None), Ok(Nodes::Here)));
}
