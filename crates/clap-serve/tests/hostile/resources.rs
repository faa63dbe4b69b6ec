//! Addresses of files that are nobody's business.

use serde_json::{Value, json};

use super::server::Server;

/// Addresses that lead nowhere, or where nobody is to look.
fn bad(app: &str, folder: &str) -> Vec<String> {
    vec![
        "file:///etc/passwd".to_owned(),
        "file:///etc/shadow".to_owned(),
        "file:///proc/self/environ".to_owned(),
        "file:///proc/self/cmdline".to_owned(),
        "file:///dev/stdin".to_owned(),
        "file:///dev/zero".to_owned(),
        format!("file://{app}"),
        format!("file://{app}/"),
        format!("file://{app}/.env"),
        format!("file://{app}/secrets.yaml"),
        format!("file://{app}/golem-link.yaml"),
        format!("file://{app}/../services/golem-services.json"),
        format!("file://{folder}/outside.yaml"),
        format!("file://{app}/../outside.yaml"),
        format!("file://{app}/golem.yaml/../.env"),
        format!("file://{app}/./golem.yaml"),
        format!("file://{app}//golem.yaml"),
        format!("file://{app}/%2e%2e/outside.yaml"),
        format!("file://{app}/%2E%2E%2Foutside.yaml"),
        format!("file://{app}/..%2foutside.yaml"),
        format!("file://{app}/..%5coutside.yaml"),
        format!("file://{app}/%252e%252e/outside.yaml"),
        format!("file://{app}/%c0%ae%c0%ae/outside.yaml"),
        format!("file://{app}/golem.yaml%00"),
        format!("file://{app}/golem.yaml%00.txt"),
        format!("file://{app}/golem.yaml\0"),
        format!("file://{app}/golem%2Eyaml"),
        format!("file://{app}/golem.yaml?x"),
        format!("file://{app}/golem.yaml#x"),
        format!("file://{app}/*"),
        format!("file://{app}/golem*.yaml"),
        format!("file://{app}/GOLEM.YAML"),
        format!("file://localhost{app}/golem.yaml"),
        format!("file://evil.example{app}/golem.yaml"),
        format!("FILE://{app}/golem.yaml"),
        format!("file:{app}/golem.yaml"),
        format!("http://127.0.0.1{app}/golem.yaml"),
        format!("{app}/golem.yaml"),
        "golem.yaml".to_owned(),
        "../outside.yaml".to_owned(),
        String::new(),
        "help://golem/profile".to_owned(),
        "help://golem/profile/list".to_owned(),
        "help://golem/profiles".to_owned(),
        "help://golem/cloud/token".to_owned(),
        "help://golem/cloud/token/list".to_owned(),
        "help://golem/Profile".to_owned(),
        "help://golem/component/../profile".to_owned(),
        "help://golem/%70rofile".to_owned(),
        "help://other".to_owned(),
        format!("file://{app}/golem-{}.yaml", "x".repeat(100_000)),
        format!("file://{app}/{}golem.yaml", "a/".repeat(10_000)),
    ]
}

#[tokio::test]
async fn only_what_is_listed_can_be_read() {
    let mut server = Server::start().await;
    let app = server.app().canonicalize().unwrap().display().to_string();
    let folder = server.folder.path().canonicalize().unwrap().display().to_string();
    let good =
        server.ask("resources/read", json!({ "uri": format!("file://{app}/golem.yaml") })).await;
    assert_eq!(good["result"]["contents"][0]["text"], "app: hostile\n");
    for uri in bad(&app, &folder) {
        for method in ["resources/read", "resources/subscribe"] {
            server.calls += 1;
            let answer = server.ask(method, json!({ "uri": uri })).await;
            // A manifest that may come to be there can be waited for, but not read.
            let may_wait = method == "resources/subscribe" && uri.ends_with("/golem-link.yaml");
            let may_wait =
                may_wait || (method == "resources/subscribe" && uri.contains("golem-xxx"));
            assert!(may_wait || answer["error"]["code"].is_i64(), "{method} {uri:.200}: {answer}");
        }
    }
    assert!(server.calls > 100);
    server.must_be_well().await;
}

#[tokio::test]
async fn no_help_tells_of_what_is_blocked() {
    let mut server = Server::start().await;
    let listed = server.ask("resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap().clone();
    assert!(resources.len() > 72, "{} resources", resources.len());
    for resource in resources {
        let uri = resource["uri"].as_str().unwrap();
        let answer = server.ask("resources/read", json!({ "uri": uri })).await;
        let held =
            answer["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{uri}"));
        for word in [
            "Manages profiles",
            "Manages tokens",
            "Manages accounts",
            "show-sensitive",
            "auth-token",
        ] {
            assert!(!held.contains(word), "{uri} tells of {word}");
        }
    }
    assert_ne!(listed["result"]["resources"], Value::Null);
    server.must_be_well().await;
}
