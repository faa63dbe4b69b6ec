//! `edgemere demo`.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{edgemere, end, parts, run, signal};

#[test]
fn the_demo_shows_an_answer_at_once_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let mut command = edgemere(folder.path(), &["demo"]);
    let mut demo = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut answer = String::new();
    BufReader::new(demo.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    // The limit is a second; a busy machine that runs other tests gets some more.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(answer.starts_with("device"), "{answer}");

    let mut stderr = BufReader::new(demo.stderr.take().unwrap());
    let mut talk = String::new();
    while !talk.contains("Ctrl-C stops it") {
        assert_ne!(stderr.read_line(&mut talk).unwrap(), 0, "{talk}");
    }
    let url = talk.split_once("curl '").unwrap().1.split_once("/?").unwrap().0.to_owned();
    let output = run(folder.path(), &["run", "get tables where format = mcp", "--node", &url]);
    let tables: serde_json::Value = serde_json::from_str(&parts(&output).0).unwrap();
    assert_eq!(tables.as_array().unwrap().len(), 4);

    // What it says to try has an answer.
    for line in talk.lines().filter(|line| line.contains(" sql water ")) {
        let sql = line.split('"').nth(1).unwrap();
        let (rows, talk, code) =
            parts(&run(folder.path(), &["sql", "water", sql, "--node", &url, "--format", "csv"]));
        assert_eq!(code, 0, "{sql}: {talk}");
        assert!(rows.lines().count() > 2, "{sql}: {rows}");
    }
    let count = "select count(*) as n from pumps where timestamp > now() - 2 days";
    let (rows, _, _) = parts(&run(folder.path(), &["sql", "water", count, "--node", &url]));
    assert_eq!(rows, "n\n864\n");

    signal(&demo, "INT");
    assert_eq!(end(&mut demo).code(), Some(0));
    stderr.read_to_string(&mut talk).unwrap();
    let left: Vec<_> = folder.path().read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}\n{talk}");
}
