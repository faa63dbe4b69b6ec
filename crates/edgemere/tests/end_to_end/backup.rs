//! `edgemere backup`, `restore` and `data repair` with a real node.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::support::{Node, parts, run};

const FREE: [&str; 5] = ["node", "--http", "127.0.0.1:0", "--network", "127.0.0.1:0"];

/// Stores rows with these numbers.
async fn put(node: &Node, key: &str, numbers: std::ops::Range<i64>) -> (u16, String) {
    let rows: Vec<_> = numbers.map(|n| format!("{{\"n\": {n}}}")).collect();
    let request = reqwest::Client::new().put(node.url()).header("dbms", "d").header("table", "t");
    let request = request.header("idempotency-key", key).body(format!("[{}]", rows.join(",")));
    let reply = request.send().await.unwrap();
    (reply.status().as_u16(), reply.text().await.unwrap())
}

fn count(node: &Node) -> String {
    let (stdout, stderr, code) =
        node.run(&["sql d format = mcp select count(*) c, sum(n) s from t"]);
    assert_eq!(code, 0, "{stderr}");
    stdout.split_whitespace().collect()
}

fn flush(node: &Node) {
    let (_, stderr, code) = node.run(&["flush buffers"]);
    assert_eq!(code, 0, "{stderr}");
}

/// The folders in a folder, in order.
fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

/// The Parquet files of the table in a data folder or in a backup.
fn parquet(data: &Path) -> Vec<PathBuf> {
    folders(&data.join("rows/data/d/t"))
}

#[tokio::test]
async fn a_backup_of_a_running_node_is_restored_and_starts() {
    let mut node = Node::start(&[]);
    assert_eq!(put(&node, "a", 0..10).await.0, 200);
    flush(&node);
    assert_eq!(put(&node, "b", 10..20).await.0, 200);
    // A key that comes with other rows is refused.
    let (status, reply) = put(&node, "b", 20..30).await;
    assert_eq!(status, 409, "{reply}");
    assert!(reply.contains("used before for other content"), "{reply}");
    let twenty = count(&node);
    let (stdout, stderr, code) = parts(&run(node.folder.path(), &["backup", "backups"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with("backed up to "), "{stdout}");
    // The second one has more, and shares what has not changed.
    assert_eq!(put(&node, "c", 20..30).await.0, 200);
    let (stdout, stderr, code) = parts(&run(node.folder.path(), &["backup", "backups"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("1 files are shared"), "{stdout}");
    let thirty = count(&node);
    node.stop("TERM");
    let folder = node.take_folder();
    let data = folder.path().join("edgemere-data");
    let backups = folders(&folder.path().join("backups"));
    assert_eq!(backups.len(), 2, "{backups:?}");
    let inode = |backup: &PathBuf| fs::metadata(&parquet(backup)[0]).unwrap().ino();
    assert_eq!(inode(&backups[0]), inode(&backups[1]));
    assert_ne!(inode(&backups[0]), inode(&data), "a backup is not the node's own file");
    assert_eq!(fs::read_dir(data.join("backup")).unwrap().count(), 1, "only the lock is left");
    // Only its owner may read the data folder.
    for (place, mode) in
        [("", 0o700), ("rows", 0o700), ("rows/fresh.redb", 0o600), ("ledger/ledger.log", 0o600)]
    {
        let found = fs::metadata(data.join(place)).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{place}");
    }
    // What is there is not overwritten, and with --force it is moved aside.
    let first = backups[0].to_str().unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &["restore", first]));
    assert_eq!(code, 5, "{stderr}");
    let (stdout, stderr, code) = parts(&run(folder.path(), &["restore", first, "--force"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("edgemere-data.before-restore-"), "{stdout}");
    let mut node = Node::start_in(folder, &[]);
    assert_eq!(count(&node), twenty);
    assert_eq!(put(&node, "b", 10..20).await.0, 200);
    assert_eq!(count(&node), twenty, "a key of before is known");
    node.stop("TERM");
    // One that is damaged is not restored; the newest one of the folder is.
    let folder = node.take_folder();
    let file = parquet(&backups[0]).remove(0);
    let mut bytes = fs::read(&file).unwrap();
    bytes[20] ^= 1;
    fs::remove_file(&file).unwrap();
    fs::write(&file, bytes).unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &["restore", first, "--data", "third"]));
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("is damaged"), "{stderr}");
    assert!(!folder.path().join("third").exists());
    let (_, stderr, code) = parts(&run(folder.path(), &["restore", "backups", "--force"]));
    assert_eq!(code, 0, "{stderr}");
    let node = Node::start_in(folder, &[]);
    assert_eq!(count(&node), thirty);
}

#[tokio::test]
async fn an_older_manifest_stops_the_node_until_it_is_repaired() {
    let mut node = Node::start(&[]);
    put(&node, "a", 0..10).await;
    flush(&node);
    node.stop("TERM");
    let folder = node.take_folder();
    let fresh = folder.path().join("edgemere-data/rows/fresh.redb");
    let old = fs::read(&fresh).unwrap();
    let mut node = Node::start_in(folder, &[]);
    put(&node, "b", 10..20).await;
    flush(&node);
    let twenty = count(&node);
    node.stop("TERM");
    let folder = node.take_folder();
    fs::write(&fresh, old).unwrap();
    let files = parquet(&folder.path().join("edgemere-data"));
    let (_, stderr, code) = parts(&run(folder.path(), &FREE));
    assert_eq!(code, 5, "{stderr}");
    assert!(stderr.contains("is older than its Parquet files"), "{stderr}");
    assert!(
        stderr.contains("edgemere data repair") && stderr.contains("edgemere restore"),
        "{stderr}"
    );
    assert_eq!(parquet(&folder.path().join("edgemere-data")), files);
    let (stdout, stderr, code) = parts(&run(folder.path(), &["data", "repair"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.starts_with("repaired: tables 1, ") && stdout.contains("rows 20"), "{stdout}");
    // A backup of a node that does not run.
    let (_, stderr, code) = parts(&run(folder.path(), &["backup", "backups"]));
    assert_eq!(code, 0, "{stderr}");
    let (_, stderr, code) = parts(&run(folder.path(), &["backup", "edgemere-data/backups"]));
    assert_eq!(code, 2, "{stderr}");
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &["backup", "."]));
    assert_eq!(code, 2, "{stderr}");
    let node = Node::start_in(folder, &[]);
    assert_eq!(count(&node), twenty);
}

#[tokio::test]
async fn a_backup_of_a_node_with_a_damaged_file_has_everything_else() {
    let mut node = Node::start(&[]);
    for (key, first) in [("a", 0), ("b", 10)] {
        assert_eq!(put(&node, key, first..first + 10).await.0, 200);
        flush(&node);
    }
    assert_eq!(put(&node, "c", 20..30).await.0, 200);
    let thirty = count(&node);
    let (_, stderr, code) = parts(&run(node.folder.path(), &["backup", "whole"]));
    assert_eq!(code, 0, "{stderr}");
    let file = parquet(&node.folder.path().join("edgemere-data")).remove(0);
    let mut bytes = fs::read(&file).unwrap();
    bytes[20] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let (_, _, code) = node.run(&["test data"]);
    assert_ne!(code, 70);
    let name = file.file_name().unwrap().to_str().unwrap();
    // With a backup that has the file as it was, it is whole; without one it says what is not in it.
    let is_partial = |folder: &Path| {
        let (stdout, stderr, code) = parts(&run(folder, &["backup", "partial"]));
        assert_eq!(code, 6, "{stdout}{stderr}");
        assert!(stdout.starts_with("backed up to ") && stderr.contains(name), "{stdout}{stderr}");
    };
    let (stdout, stderr, code) = parts(&run(node.folder.path(), &["backup", "whole"]));
    assert_eq!(code, 0, "{stdout}{stderr}");
    is_partial(node.folder.path());
    node.stop("TERM");
    let folder = node.take_folder();
    // The same of a node that does not run.
    is_partial(folder.path());
    let (stdout, stderr, code) = parts(&run(folder.path(), &["restore", "whole", "--force"]));
    assert_eq!(code, 0, "{stdout}{stderr}");
    let mut node = Node::start_in(folder, &[]);
    assert_eq!(count(&node), thirty);
    node.stop("TERM");
    let folder = node.take_folder();
    let (stdout, stderr, code) = parts(&run(folder.path(), &["restore", "partial", "--force"]));
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains("missing now") && stdout.contains(name), "{stdout}");
    let node = Node::start_in(folder, &[]);
    let (_, stderr, code) = node.run(&["sql d format = mcp select sum(n) s from t"]);
    assert!(code == 6 && stderr.contains(name), "{code}: {stderr}");
}
