//! Commands that flood, fork and hang, and clients that send what is no call.

use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use serde_json::json;

use super::server::{PATIENCE, Server, text};

/// Whether a process ends, and is no zombie, before patience does.
async fn ends(pid: Pid) -> bool {
    let wait = async {
        while test_kill_process(pid).is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.is_ok()
}

#[tokio::test]
async fn a_flood_is_cut_and_ended() {
    let mut server = Server::start().await;
    for to in ["stdout", "stderr"] {
        let answer = server.call("worker_flood", json!({ "to": to })).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], true);
        let run = &result["_meta"]["clap-serve/run"];
        assert_eq!((&run["truncated"], &run["stopped"]), (&json!(true), &json!("output")), "{run}");
        assert!(answer.to_string().len() < 1 << 20, "{} bytes", answer.to_string().len());
    }
    server.must_be_well().await;
}

#[tokio::test]
async fn what_a_command_leaves_running_ends_with_it() {
    let mut server = Server::start().await;
    for _ in 0..5 {
        let answer = server.call("worker_fork", json!({ "format": "json" })).await;
        let pid = answer["result"]["structuredContent"]["left_running"].as_i64().unwrap();
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        assert!(ends(pid).await, "{pid:?} still runs");
    }
    server.must_be_well().await;
}

#[tokio::test]
async fn what_hangs_is_stopped_and_is_in_nobodys_way() {
    let mut server = Server::start().await;
    let hang = |id: &str| {
        json!({
            "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "worker_hang" }
        })
    };
    // Eight that nobody waits for, of which half are cancelled.
    for number in 0..8 {
        server.send(&hang(&format!("hang-{number}"))).await;
    }
    for number in 0..4 {
        server
            .send(&json!({
                "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": { "requestId": format!("hang-{number}") }
            }))
            .await;
    }
    let answer = server.call("component_templates", json!({ "format": "json" })).await;
    assert_eq!(answer["result"]["isError"], false, "others are served meanwhile: {answer}");
    let answer = server.call("worker_hang", json!({})).await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("was stopped"), "{answer}");
    server.must_be_well().await;
}

/// The command prints every variable that it sees: those of the server are not among them.
#[tokio::test]
async fn the_variables_of_the_server_are_its_own() {
    let mut server = Server::start().await;
    let answer = server.call("app_diagnose", json!({ "format": "json" })).await;
    let seen = answer["result"]["structuredContent"]["environment"].as_object().unwrap();
    assert!(seen.contains_key("PATH"), "{seen:?}");
    assert!(!seen.contains_key("AWS_SECRET_ACCESS_KEY"), "{seen:?}");
    server.must_be_well().await;
}

#[tokio::test]
async fn what_is_no_call_is_an_error_and_no_end() {
    let mut server = Server::start().await;
    for params in [
        json!({}),
        json!([]),
        json!("worker_get"),
        json!(null),
        json!({ "name": 5 }),
        json!({ "name": null }),
        json!({ "name": ["profile_list"] }),
        json!({ "name": { "a": "profile_list" } }),
        json!({ "name": "worker_get", "arguments": [] }),
        json!({ "name": "worker_get", "arguments": "--help" }),
        json!({ "name": "worker_get", "arguments": 5 }),
    ] {
        server.calls += 1;
        let answer = server.ask("tools/call", params.clone()).await;
        let is_refused = answer["error"]["code"].is_i64() || answer["result"]["isError"] == true;
        assert!(is_refused, "{params}: {answer}");
    }
    for method in ["profile/list", "tools/exec", "shell", "", "tools/call/profile_list"] {
        server.calls += 1;
        let answer = server.ask(method, json!({ "name": "profile_list" })).await;
        assert!(answer["error"]["code"].is_i64(), "{method}: {answer}");
    }
    for line in ["", "{", "[]", "null", "\u{0}", "{\"jsonrpc\":\"2.0\"}", "GET / HTTP/1.1"] {
        server.send_line(line).await;
    }
    server.must_be_well().await;
}
