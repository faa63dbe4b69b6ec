//! Values that would be flags, commands, files or ends of text to who reads them carelessly.

use serde_json::{Map, Value, json};

use super::server::{Server, text};

/// The worst of them, for every argument of every tool.
const WORST: [&str; 14] = [
    "--help",
    "-h",
    "--version",
    "-x",
    "--",
    "-",
    "--profile=evil",
    "-pevil",
    "--show-sensitive",
    "--format=text",
    "@file",
    "=",
    "a\nb",
    "$(touch pwned)",
];

/// Values of arguments that mean no good.
fn values() -> Vec<String> {
    let values = [
        "--help",
        "-h",
        "--version",
        "-V",
        "-x",
        "--",
        "-",
        "---",
        "--profile=evil",
        "--profile",
        "-p=evil",
        "-pevil",
        "--show-sensitive",
        "--format=text",
        "--serve=0",
        "--yes",
        "@file",
        "@/etc/passwd",
        "=",
        "=x",
        "a=b",
        "",
        " ",
        "a b",
        "a\nb",
        "\n--help",
        "a\r\nb",
        "\t",
        "$(touch pwned)",
        "`touch pwned`",
        "; touch pwned",
        "| cat .env",
        "&& profile list",
        "> pwned",
        "$GOLEM_AUTH_TOKEN",
        "${AWS_SECRET_ACCESS_KEY}",
        "%GOLEM_AUTH_TOKEN%",
        "../../outside.yaml",
        "/etc/passwd",
        "*",
        "?",
        "~",
        "'",
        "\"",
        "\\",
        "\u{202e}evil",
        "\u{fffd}",
        "\u{1b}[31mred",
        "profile",
        "list",
        "0",
        "true",
        "null",
    ];
    let long = "long ".repeat(2_000);
    values.into_iter().map(str::to_owned).chain([long]).collect()
}

/// Arguments that a tool takes, found by its own schema.
fn good(schema: &Value) -> Map<String, Value> {
    let validator = jsonschema::draft202012::new(schema).unwrap();
    let properties = schema["properties"].as_object().unwrap();
    let required = schema["required"].as_array().into_iter().flatten();
    let mut good: Map<String, Value> = required
        .map(|name| name.as_str().unwrap())
        .map(|name| (name.to_owned(), value(&properties[name])))
        .collect();
    // Where one of several is needed, any one will do.
    if !validator.is_valid(&Value::Object(good.clone())) {
        let with = |name: &String| {
            let mut more = good.clone();
            more.insert(name.clone(), value(&properties[name]));
            more
        };
        let mut tried = properties.keys().map(with);
        good = tried.find(|one| validator.is_valid(&Value::Object(one.clone()))).unwrap();
    }
    good
}

fn value(schema: &Value) -> Value {
    match schema["type"].as_str() {
        _ if schema["enum"].is_array() => schema["enum"][0].clone(),
        Some("integer") => json!(schema["minimum"].as_i64().unwrap_or_default().max(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([value(&schema["items"])]),
        _ => json!("some"),
    }
}

fn is_text(schema: &Value) -> bool {
    schema["type"] == "string" && schema["enum"].is_null()
}

/// The arguments of a tool that are text, each with how a value is put there.
fn texts(tool: &Value) -> Vec<(String, bool)> {
    let properties = tool["inputSchema"]["properties"].as_object().unwrap();
    let own = properties.iter().filter(|(name, schema)| {
        let is_everywhere = matches!(name.as_str(), "profile" | "app_manifest_path");
        let is_once = tool["name"] == "component_list";
        (is_text(schema) || is_text(&schema["items"])) && (!is_everywhere || is_once)
    });
    own.map(|(name, schema)| (name.clone(), schema["type"] == "array")).collect()
}

/// Whether a value is anywhere in what a program answered.
fn has(answer: &Value, value: &str) -> bool {
    match answer {
        Value::String(text) => text == value,
        Value::Array(list) => list.iter().any(|one| has(one, value)),
        Value::Object(fields) => fields.values().any(|one| has(one, value)),
        _ => false,
    }
}

/// A call of a tool in which an argument has this value, and the others are good.
fn call(tool: &Value, argument: &str, is_list: bool, value: &str) -> Value {
    let mut given = good(&tool["inputSchema"]);
    given.insert("format".to_owned(), json!("json"));
    given.insert("verbose".to_owned(), json!(1));
    if argument.starts_with("target_component_") {
        // Of these only one may be given.
        given.retain(|other, _| !other.starts_with("target_component_"));
    }
    given.insert(argument.to_owned(), if is_list { json!([value]) } else { json!(value) });
    Value::Object(given)
}

#[tokio::test]
async fn no_value_of_any_argument_becomes_a_flag() {
    let mut server = Server::start().await;
    let (mut arguments, mut arrived) = (0, 0);
    for tool in server.tools().await {
        let name = tool["name"].as_str().unwrap().to_owned();
        for (argument, is_list) in texts(&tool) {
            arguments += 1;
            let calls = WORST.map(|value| call(&tool, &argument, is_list, value));
            for (value, answer) in WORST.iter().zip(server.call_all(&name, &calls).await) {
                let about = format!("{name} {argument}={value:?}: {answer}");
                let result = answer.get("result").unwrap_or_else(|| panic!("{about}"));
                let said = text(&answer);
                for sign in ["Usage:", "Commands:", "golem 0.1.0\n", "Some(\"evil\")"] {
                    assert!(!said.contains(sign), "{about}");
                }
                if result["isError"] == false {
                    // Another format would be no JSON.
                    let structured = &result["structuredContent"];
                    assert!(structured.is_object(), "{about}");
                    arrived += u32::from(has(structured, value));
                }
            }
        }
    }
    assert!(!server.app().join("pwned").exists(), "a shell has run");
    println!("{} calls of {arguments} arguments, {arrived} values came back whole", server.calls);
    assert!(server.calls > 1_000 && arrived > 500, "{} calls, {arrived} whole", server.calls);
    server.must_be_well().await;
}

#[tokio::test]
async fn each_value_arrives_as_it_was_given() {
    let mut server = Server::start().await;
    for value in values() {
        let made = server.call("worker_new", json!({ "worker_name": value })).await;
        assert_eq!(made["result"]["isError"], false, "{value:?}: {made}");
        let given = json!({
            "worker_name": value,
            "function_name": "echo",
            "arguments": [value, "middle", value],
            "idempotency_key": value,
            "format": "json",
        });
        let answer = server.call("worker_invoke", given).await;
        let expected = json!({
            "worker": value,
            "function": "echo",
            "arguments": [value, "middle", value],
            "result": [value, "middle", value],
            "enqueued": false,
            "index": 1,
            // It is optional: an empty text says that it is not given.
            "idempotency_key": if value.is_empty() { Value::Null } else { json!(value) },
        });
        assert_eq!(answer["result"]["structuredContent"], expected, "{value:?}: {answer}");
    }
    server.must_be_well().await;
}

#[tokio::test]
async fn what_cannot_be_a_value_is_refused_by_name() {
    let mut server = Server::start().await;
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    for (tool, arguments, named) in [
        ("worker_get", json!({ "worker_name": "a\0b" }), "worker_name"),
        ("worker_get", json!({ "worker_name": ["a", "--help"] }), "worker_name"),
        ("worker_get", json!({ "worker_name": { "a": 1 } }), "worker_name"),
        ("worker_get", json!({ "worker_name": null }), "worker_name"),
        ("worker_get", json!({ "worker_name": 5 }), "worker_name"),
        ("worker_get", json!({ "worker_name": true }), "worker_name"),
        ("worker_get", json!({ "worker_name": deep }), "worker_name"),
        ("worker_get", json!({}), "worker_name"),
        ("worker_get", json!({ "worker_name": "a", "show_sensitive": true }), "show_sensitive"),
        ("worker_get", json!({ "worker_name": "a", "--show-sensitive": true }), "--show-sensitive"),
        ("worker_get", json!({ "worker_name": "a", "auth_token": "x" }), "auth_token"),
        ("worker_get", json!({ "worker_name": "a", "help": true }), "help"),
        ("worker_get", json!({ "worker_name": "a", "version": true }), "version"),
        ("worker_get", json!({ "worker_name": "a", "": "x" }), ""),
        ("worker_get", json!({ "worker_name": "a", "format": "json --help" }), "format"),
        ("worker_get", json!({ "worker_name": "a", "format": "JSON" }), "format"),
        ("worker_get", json!({ "worker_name": "a", "local": "--cloud" }), "local"),
        ("worker_get", json!({ "worker_name": "a", "local": true, "cloud": true }), "cloud"),
        ("worker_get", json!({ "worker_name": "a", "verbose": 100_000 }), "verbose"),
        ("worker_list", json!({ "max_count": 0 }), "max_count"),
        ("worker_list", json!({ "max_count": 1.5 }), "max_count"),
        ("worker_list", json!({ "max_count": "1" }), "max_count"),
        ("worker_list", json!({ "max_count": 1e300 }), "max_count"),
        ("worker_list", json!({ "filter": "a" }), "filter"),
        ("worker_list", json!({ "filter": [["--help"]] }), "filter"),
        ("worker_revert", json!({ "worker_name": "a" }), "last_oplog_index"),
        (
            "worker_revert",
            json!({ "worker_name": "a", "last_oplog_index": 1, "number_of_invocations": 1 }),
            "number_of_invocations",
        ),
    ] {
        let answer = server.call(tool, arguments.clone()).await;
        assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
        assert!(text(&answer).contains(named), "{tool} {arguments}: {}", text(&answer));
        let ran = &answer["result"]["_meta"]["clap-serve/run"];
        assert!(ran.is_null(), "{tool} {arguments} has run: {answer}");
    }
    server.must_be_well().await;
}
