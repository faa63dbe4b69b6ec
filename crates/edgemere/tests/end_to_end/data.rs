//! `edgemere data verify`, and what a node says of a file that the disk has changed.

use std::fs;
use std::path::{Path, PathBuf};

use reqwest::Client;
use serde_json::{Value, json};

use crate::support::{Node, parts, run};

/// The only Parquet file of a node.
fn parquet(folder: &Path) -> PathBuf {
    let at = folder.join("edgemere-data/rows/data/d/t");
    fs::read_dir(at).unwrap().next().unwrap().unwrap().path()
}

async fn ask(node: &Node, subset: bool) -> (u16, Value) {
    let question = json!({ "dbms": "d", "sql": "select sum(v) as s from t", "subset": subset });
    let url = format!("{}/api/v1/sql", node.url());
    let reply = Client::new().post(url).header("accept", "application/json").json(&question).send();
    let reply = reply.await.unwrap();
    (reply.status().as_u16(), serde_json::from_str(&reply.text().await.unwrap()).unwrap())
}

#[tokio::test]
async fn a_damaged_file_is_named_by_everything_and_taken_again_when_it_is_back() {
    let mut node = Node::start(&[]);
    let put = Client::new().put(node.url()).header("dbms", "d").header("table", "t");
    let put = put.header("type", "json").header("mode", "streaming");
    let put = put.body(r#"[{"v": 1}, {"v": 2}]"#).send().await.unwrap();
    assert!(put.status().is_success());
    assert_eq!(node.run(&["flush buffers"]).2, 0);
    let (_, stderr, code) = parts(&run(node.folder.path(), &["data", "verify"]));
    assert_eq!(code, 6, "{stderr}");
    assert!(stderr.contains("test data"), "{stderr}");
    assert!(node.run(&["test data"]).0.contains("Pass"));
    node.stop("TERM");
    let folder = node.take_folder();

    let (stdout, stderr, code) = parts(&run(folder.path(), &["data", "verify"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with("all rows are whole: files 1, rows 2"), "{stdout}");
    let path = parquet(folder.path());
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let whole = fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() / 2] ^= 1;
    fs::write(&path, changed).unwrap();
    let (stdout, _, code) = parts(&run(folder.path(), &["data", "verify", "--json"]));
    let found: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((code, &found["damaged"][0]["partition"]), (70, &json!(name)), "{stdout}");

    let node = Node::start_in(folder, &[]);
    let (status, error) = ask(&node, false).await;
    assert!(status == 503 && error.to_string().contains(&name), "{error}");
    let (status, answer) = ask(&node, true).await;
    assert!(status == 200 && answer["missing"][0].as_str().unwrap().contains(&name), "{answer}");
    assert_eq!(answer["rows"], json!([{ "s": null }]));
    assert!(node.run(&["get partitions"]).0.contains("damaged"));
    let metrics = Client::new().get(format!("{}/metrics", node.url())).send().await.unwrap();
    assert!(metrics.text().await.unwrap().contains("edgemere_damaged_rows 2\n"));
    fs::write(path_in(&node, &name), whole).unwrap();
    assert!(node.run(&["test data"]).0.contains("Pass"));
    assert_eq!(ask(&node, false).await.1["rows"], json!([{ "s": 3 }]));
}

fn path_in(node: &Node, name: &str) -> PathBuf {
    node.folder.path().join("edgemere-data/rows/data/d/t").join(name)
}

#[test]
fn a_folder_without_rows_is_not_made_one() {
    let folder = tempfile::tempdir().unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &["data", "verify", "--data", "d"]));
    assert_eq!(code, 3, "{stderr}");
    assert!(stderr.contains("hint: ") && !folder.path().join("d").exists(), "{stderr}");
}
