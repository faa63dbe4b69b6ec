//! Names of what is blocked, in every spelling that somebody may try.

use serde_json::json;

use super::server::{Server, text};

/// Every command that the example blocks.
const BLOCKED: [&str; 29] = [
    "profile new",
    "profile list",
    "profile switch",
    "profile get",
    "profile delete",
    "profile config set-format",
    "cloud token list",
    "cloud token new",
    "cloud token delete",
    "cloud account get",
    "cloud account new",
    "cloud account update",
    "cloud account delete",
    "cloud account grant get",
    "cloud account grant new",
    "cloud account grant delete",
    "cloud project grant",
    "cloud project policy new",
    "cloud project policy get",
    "account get",
    "account add",
    "grant get",
    "grant add",
    "grant delete",
    "api security-scheme create",
    "api cloud certificate get",
    "api cloud certificate new",
    "api cloud certificate delete",
    "server run",
];

/// The name of a tool in other ways.
fn spellings(path: &str) -> Vec<String> {
    let tool = path.replace(' ', "_");
    let mut first_large = tool.clone();
    first_large[..1].make_ascii_uppercase();
    vec![
        path.to_owned(),
        tool.clone(),
        tool.replace('-', "_"),
        path.replace(' ', "-"),
        path.replace(' ', "."),
        path.replace(' ', "/"),
        path.replace(' ', "  "),
        path.replace(' ', "\t"),
        path.replace(' ', "\u{a0}"),
        path.replace(' ', "\u{200b}_"),
        path.to_uppercase(),
        tool.to_uppercase(),
        first_large,
        format!(" {tool}"),
        format!("{tool} "),
        format!("{tool}\n"),
        format!("{tool}\0"),
        format!("_{tool}"),
        format!("{tool}_"),
        format!("golem {path}"),
        format!("golem_{tool}"),
        format!("./{tool}"),
        format!("component_list/../{tool}"),
        format!("component list; {path}"),
        format!("component list -- {path}"),
        format!("--format=json {path}"),
        format!("help {path}"),
        format!("{path} --help"),
        // Look-alikes: a Cyrillic a, a wide letter, a combining mark.
        tool.replace('a', "\u{430}"),
        tool.replace('t', "\u{ff54}"),
        format!("{tool}\u{301}"),
        tool.replace('_', "%5F"),
        tool.replace('_', "%20"),
    ]
}

#[tokio::test]
async fn what_is_blocked_is_not_there_however_it_is_spelled() {
    let mut server = Server::start().await;
    for path in BLOCKED {
        for name in spellings(path) {
            let answer = server.call(&name, json!({})).await;
            assert_eq!(answer["result"]["isError"], true, "{name:?}: {answer}");
            let said = text(&answer);
            assert_eq!(said, format!("Error: Tool '{name}' not found"), "{name:?}");
        }
    }
    assert!(server.calls > 900, "{} calls", server.calls);
    server.must_be_well().await;
}

#[tokio::test]
async fn groups_and_other_names_of_them_lead_nowhere() {
    let mut server = Server::start().await;
    for name in [
        "",
        " ",
        "golem",
        "profile",
        "profiles",
        "profiles list",
        "profiles_list",
        "cloud",
        "cloud token",
        "cloud_tokens_list",
        "cloud tokens list",
        "account",
        "grant",
        "server",
        "help",
        "help_profile",
        "--help",
        "-h",
        "--serve",
        "--serve=0",
        "--",
        "-",
        "*",
        "profile *",
        "../golem",
        "/bin/sh",
        "sh",
        "$(id)",
        "`id`",
        "component_list;id",
        "component_list|id",
        "component_list\nprofile_list",
        "null",
        "undefined",
        "__proto__",
        "constructor",
    ] {
        for arguments in
            [json!({}), json!({ "arguments": ["list"] }), json!({ "args": ["token", "list"] })]
        {
            let answer = server.call(name, arguments).await;
            assert_eq!(answer["result"]["isError"], true, "{name:?}: {answer}");
            assert_eq!(text(&answer), format!("Error: Tool '{name}' not found"));
        }
    }
    server.must_be_well().await;
}

#[tokio::test]
async fn nothing_that_is_offered_names_what_is_blocked() {
    let mut server = Server::start().await;
    let tools = server.tools().await;
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    // 68 commands, the three that behave badly, and the program's version.
    assert_eq!(names.len(), 72, "{names:?}");
    for path in BLOCKED {
        let tool = path.replace(' ', "_");
        assert!(!names.iter().any(|name| name.starts_with(&tool)), "{tool} is offered");
    }
    for tool in &tools {
        let properties = tool["inputSchema"]["properties"].as_object().unwrap();
        for hidden in ["show_sensitive", "show-sensitive", "auth_token", "auth-token"] {
            assert!(!properties.contains_key(hidden), "{} takes {hidden}", tool["name"]);
        }
    }
    server.must_be_well().await;
}
