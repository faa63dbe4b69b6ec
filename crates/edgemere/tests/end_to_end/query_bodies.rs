//! Queries as JSON bodies, as charts send them.

use reqwest::Client;
use serde_json::{Value, json};

use crate::support::Node;

async fn ask(node: &Node, body: &Value) -> (u16, Value) {
    let response = Client::new().post(node.url()).json(body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

/// The body with another value of a key; without the key when the value is null.
fn with(body: &Value, key: &str, value: Value) -> Value {
    let mut body = body.clone();
    match value {
        Value::Null => drop(body.as_object_mut().unwrap().remove(key)),
        value => body[key] = value,
    }
    body
}

#[tokio::test]
async fn a_series_is_asked_with_a_body() {
    let node = Node::start(&["--name", "Query", "--register", "false"]);
    let rows: Vec<_> = (0..24)
        .map(|hour| json!({ "time": format!("2026-01-01T{hour:02}:00:00Z"), "value": hour }))
        .collect();
    let put = Client::new().put(node.url()).header("dbms", "d").header("table", "t").json(&rows);
    assert_eq!(put.send().await.unwrap().status(), 200);
    let body = json!({
        "dbms": "d",
        "table": "t",
        "timeColumn": "time",
        "timeUnit": "hour",
        "intervalLength": 12,
        "projections": ["count(value)", "avg(value)::float(1) as a"],
        "startTime": "'2026-01-01'",
        "endTime": "2026-01-02",
    });
    let both =
        json!({ "Query": [{ "count(value)": 12, "a": 5.5 }, { "count(value)": 12, "a": 17.5 }] });
    assert_eq!(ask(&node, &body).await, (200, both));
    let some = with(&body, "whereCond", json!(["value > 3", "value < 20"]));
    let some = with(&some, "endTime", Value::Null);
    let some = ask(&node, &with(&some, "startTime", json!("now() - 100 years"))).await;
    let expected =
        json!({ "Query": [{ "count(value)": 8, "a": 7.5 }, { "count(value)": 8, "a": 15.5 }] });
    assert_eq!(some, (200, expected));

    let wrong = [
        (with(&body, "timeUnit", Value::Null), 400, 110),
        (with(&body, "projections", json!([])), 400, 110),
        (with(&body, "projections", json!([1])), 400, 110),
        (with(&body, "projections", json!(["1 from u; drop table t"])), 400, 46),
        (with(&body, "timeUnit", json!("hour, 1, time), (select 1")), 400, 175),
        (with(&body, "timeUnit", json!("fortnight")), 400, 46),
        (with(&body, "table", json!("t\" where 1 = 1 --")), 404, 45),
        (with(&body, "timeColumn", json!("tim")), 404, 46),
        (with(&body, "startTime", json!("1) or (1 = 1")), 400, 46),
    ];
    for (body, status, code) in wrong {
        let (actual, reply) = ask(&node, &body).await;
        assert_eq!((actual, &reply["err_code"]), (status, &json!(code)), "{body}: {reply}");
    }
}

/// As EdgeLake's clients send a query: options in front of it, or no format at all.
#[tokio::test]
async fn a_query_may_have_options_in_front_and_needs_no_format() {
    let node = Node::start(&["--name", "Query", "--register", "false"]);
    let put = Client::new().put(node.url()).header("dbms", "d").header("table", "t");
    assert_eq!(put.json(&json!([{ "v": 1 }, { "v": 2 }])).send().await.unwrap().status(), 200);
    let body = |sql: &str| json!({ "dbms": "d", "sql": sql });
    let rows = json!([{ "count(*)": 2 }]);
    let plain = ask(&node, &body("select count(*) from t")).await;
    assert_eq!(plain, (200, json!({ "Query": rows })));
    let same = ask(&node, &body("format = json and stat = false select count(*) from t")).await;
    assert_eq!(same, plain);
    let (_, told) = ask(&node, &body("stat = true select count(*) from t")).await;
    assert_eq!((&told["Query"], &told["Statistics"][0]["Count"]), (&rows, &json!(1)));
    let list = ask(&node, &body("format = json:list \"select count(*) from t\"")).await;
    assert_eq!(list, (200, rows.clone()));
    let (status, wrong) = ask(&node, &body("format = xml select 1")).await;
    assert_eq!((status, &wrong["err_code"]), (400, &json!(175)), "{wrong}");
    let (status, wrong) = ask(&node, &body("format drop table t")).await;
    assert_eq!((status, &wrong["err_code"]), (400, &json!(46)), "{wrong}");

    let command =
        || Client::new().get(node.url()).header("command", "sql d select count(*) from t");
    let reply: Value = command().send().await.unwrap().json().await.unwrap();
    assert_eq!((&reply["Query"], &reply["Statistics"][0]["Nodes"]), (&rows, &json!(0)));
    let people = command().header("accept", "text/plain, */*").send().await.unwrap();
    let text = people.text().await.unwrap();
    assert!(text.starts_with("\ncount(*)\n--------\n"), "{text}");
}
