//! `edgemere mcp install`: the files of clients, each in a folder that is somebody's home.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{parts, run};

/// A client, its file, and the key that its servers are under.
const CLIENTS: [(&str, &str, &str); 5] = [
    ("claude", SETTINGS[0], "mcpServers"),
    ("claude-code", ".mcp.json", "mcpServers"),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("vscode", SETTINGS[1], "servers"),
    ("zed", ".config/zed/settings.json", "context_servers"),
];

#[cfg(target_os = "macos")]
const SETTINGS: [&str; 2] = [
    "Library/Application Support/Claude/claude_desktop_config.json",
    "Library/Application Support/Code/User/mcp.json",
];
#[cfg(not(target_os = "macos"))]
const SETTINGS: [&str; 2] =
    [".config/Claude/claude_desktop_config.json", ".config/Code/User/mcp.json"];

fn install(home: &TempDir, client: &str, more: &[&str]) -> (String, String, i32) {
    parts(&run(home.path(), &[&["mcp", "install", client], more].concat()))
}

fn read(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

/// The copies of a file that are beside it.
fn copies(file: &Path) -> Vec<PathBuf> {
    let name = format!("{}.bak-", file.file_name().unwrap().to_str().unwrap());
    let files = fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&name)).collect()
}

#[test]
fn a_new_file_has_the_entry_and_a_second_time_changes_nothing() {
    for (client, file, key) in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(file);
        let (stdout, stderr, code) = install(&home, client, &[]);
        assert_eq!((stdout.as_str(), code), ("", 0), "{client}: {stderr}");
        assert!(stderr.contains("added to "), "{client}: {stderr}");
        let entry = read(&file)[key]["edgemere"].clone();
        assert!(Path::new(entry["command"].as_str().unwrap()).is_absolute(), "{client}: {entry}");
        assert_eq!([&entry["args"][0], &entry["args"][1]], ["mcp", "--data"], "{client}");
        let data = Path::new(entry["args"][2].as_str().unwrap());
        assert!(data.is_absolute() && data.ends_with("edgemere-data"), "{client}: {entry}");
        let before = fs::read_to_string(&file).unwrap();
        let (_, stderr, code) = install(&home, client, &[]);
        assert!(code == 0 && stderr.contains("has it already"), "{client}: {stderr}");
        assert_eq!(fs::read_to_string(&file).unwrap(), before, "{client}");
        assert!(copies(&file).is_empty(), "{client}");
    }
}

#[test]
fn what_is_in_a_file_stays_with_its_comments_and_a_copy_is_kept() {
    for (client, file, key) in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let before = format!(
            "// mine\n{{\n\t\"theme\": \"dark\", // at night\n\t\"{key}\": {{\n\t\t\"time\": \
             {{\"command\": \"uvx\"}},\n\t}},\n}}\n"
        );
        fs::write(&file, &before).unwrap();
        let (_, stderr, code) = install(&home, client, &["--name", "plant"]);
        assert_eq!(code, 0, "{client}: {stderr}");
        let after = fs::read_to_string(&file).unwrap();
        for kept in [
            "// mine\n{\n\t\"theme\": \"dark\", // at night\n",
            "\"time\": {\"command\": \"uvx\"},\n\t\t\"plant\": {\n\t\t\t\"",
        ] {
            assert!(after.contains(kept), "{client}: {after}");
        }
        let copies = copies(&file);
        assert_eq!(copies.len(), 1, "{client}");
        assert_eq!(fs::read_to_string(&copies[0]).unwrap(), before, "{client}");
        assert!(stderr.contains(copies[0].to_str().unwrap()), "{client}: {stderr}");
    }
}

#[test]
fn an_entry_is_brought_up_to_date_and_keeps_what_was_added_to_it() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join(".cursor/mcp.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = json!({ "mcpServers": {
        "edgemere": { "command": "/old", "args": [], "env": { "A": "b" } },
        "other": { "url": "http://127.0.0.1:1" },
    }});
    fs::write(&file, before.to_string()).unwrap();
    let (_, stderr, code) = install(&home, "cursor", &["--node", "127.0.0.1:9", "--http"]);
    assert!(code == 0 && stderr.contains("changed in "), "{stderr}");
    let after = read(&file);
    let expected = json!({ "url": "http://127.0.0.1:9/mcp", "env": { "A": "b" } });
    assert_eq!(after["mcpServers"]["edgemere"], expected);
    assert_eq!(after["mcpServers"]["other"], before["mcpServers"]["other"]);
}

#[test]
fn a_file_that_is_not_json_is_left_alone_and_the_entry_is_printed() {
    for (client, file, key) in CLIENTS {
        for broken in ["{ \"a\": 1 ", "[]", &format!("{{\"{key}\": 5}}"), "{ a: 1 }"] {
            let home = tempfile::tempdir().unwrap();
            let file = home.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, broken).unwrap();
            let (stdout, stderr, code) = install(&home, client, &[]);
            assert_eq!(code, 5, "{client} {broken}: {stderr}");
            assert!(stderr.contains("is left as it is") && stderr.contains("by hand"), "{stderr}");
            let printed: Value = serde_json::from_str(&stdout).unwrap();
            assert!(printed[key]["edgemere"].is_object(), "{client}: {stdout}");
            assert_eq!(fs::read_to_string(&file).unwrap(), broken);
            assert!(copies(&file).is_empty(), "{client}");
        }
    }
}

#[test]
fn printing_writes_nothing() {
    for (client, file, key) in CLIENTS {
        let home = tempfile::tempdir().unwrap();
        let more =
            ["--print", "--node", "http://10.0.0.5:32349", "--tools", "t.yaml", "--name", "x"];
        let (stdout, stderr, code) = install(&home, client, &more);
        assert_eq!(code, 0, "{client}: {stderr}");
        let printed: Value = serde_json::from_str(&stdout).unwrap();
        let tools = home.path().join("t.yaml");
        let args = json!(["mcp", "--node", "http://10.0.0.5:32349", "--tools", tools]);
        assert_eq!(printed[key]["x"]["args"], args, "{client}");
        assert!(!home.path().join(file).exists(), "{client}");
        assert_eq!(stderr.contains("claude mcp add x -- "), client == "claude-code", "{stderr}");
    }
}

#[test]
fn a_running_node_is_reached_by_its_url_where_the_client_can() {
    let url = "http://127.0.0.1:32349/mcp";
    for (client, expected) in [
        ("claude-code", json!({ "type": "http", "url": url })),
        ("cursor", json!({ "url": url })),
        ("vscode", json!({ "type": "http", "url": url })),
        ("zed", json!({ "url": url })),
    ] {
        let home = tempfile::tempdir().unwrap();
        let (stdout, _, code) = install(&home, client, &["--http", "--print"]);
        let printed: Value = serde_json::from_str(&stdout).unwrap();
        let servers = printed.as_object().unwrap().values().next().unwrap();
        assert_eq!((code, &servers["edgemere"]), (0, &expected), "{client}");
    }
    let home = tempfile::tempdir().unwrap();
    let (_, stderr, code) = install(&home, "claude", &["--http"]);
    assert!(code == 2 && stderr.contains("leave out --http"), "{stderr}");
    let (_, stderr, code) = install(&home, "cursor", &["--name", "a b"]);
    assert!(code == 2 && stderr.contains("letters, digits"), "{stderr}");
}
