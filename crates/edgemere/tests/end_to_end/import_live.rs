//! Rows that come over time, on stdin or through a pipe with a name: they are stored while the pipe is
//! open, and a signal ends the import when all that was read is stored.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use crate::support::{Node, edgemere, end, parts, run, signal, wait_for};

/// How many rows the table has; none before it is made.
fn count(node: &Node, table: &str) -> u64 {
    let sql = format!("select count(*) as n from {table}");
    let args = ["sql", "d", &sql, "--format", "csv", "--node", &node.http];
    let (stdout, _, _) = parts(&run(node.folder.path(), &args));
    stdout.strip_prefix("n\n").and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

fn wait_for_rows(node: &Node, table: &str, rows: u64) {
    wait_for("the rows", || (count(node, table) == rows).then_some(()));
}

fn import(node: &Node, args: &[&str]) -> Child {
    let fixed = ["--dbms", "d", "--table", "t", "--node", &node.http];
    let args = [&["import"], args, &fixed].concat();
    let mut command = edgemere(node.folder.path(), &args);
    command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn talk(child: Child) -> String {
    String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap()
}

#[test]
fn rows_on_stdin_are_stored_while_it_is_open_and_a_signal_loses_none() {
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let node = Node::start(&[]);
        let mut import = import(&node, &["-", "--format", "ndjson"]);
        let mut stdin = import.stdin.take().unwrap();
        stdin.write_all(b"{\"n\": 1}\n\n{\"n\": 2}\n").unwrap();
        wait_for_rows(&node, "t", 2);
        // Half a row does not hold up the whole ones before it.
        stdin.write_all(b"{\"n\": 3}\n{\"n\"").unwrap();
        wait_for_rows(&node, "t", 3);
        stdin.write_all(b": 4}\n{\"n\": 5}\n{\"n\": 66").unwrap();
        wait_for_rows(&node, "t", 5);
        signal(&import, name);
        let status = end(&mut import);
        let talk = talk(import);
        assert_eq!(status.code(), Some(code), "{talk}");
        assert!(talk.contains("created table d.t (n int)\n"), "{talk}");
        assert!(talk.contains("interrupted: 5 rows stored in "), "{talk}");
        assert_eq!(count(&node, "t"), 5);
        drop(stdin);
    }
}

/// The rows are in the import's hands, and in no piece yet, when the signal comes.
#[test]
fn a_signal_stores_what_was_read_also_before_its_second_is_over() {
    let node = Node::start(&[]);
    let mut import = import(&node, &["-", "--format", "csv"]);
    let mut stdin = import.stdin.take().unwrap();
    stdin.write_all(b"n,s\n0,first\n").unwrap();
    wait_for_rows(&node, "t", 1);
    for n in 1..=500 {
        stdin.write_all(format!("{n},\"a\nb\"\n").as_bytes()).unwrap();
    }
    // The pipe is empty when all was read: it holds less than the rows that follow.
    stdin.write_all(&[b'\n'; 128 << 10]).unwrap();
    signal(&import, "INT");
    let status = end(&mut import);
    let talk = talk(import);
    assert_eq!(status.code(), Some(130), "{talk}");
    assert_eq!(count(&node, "t"), 501, "{talk}");
}

#[test]
fn a_pipe_with_a_name_is_read_as_stdin_is() {
    let node = Node::start(&[]);
    let pipe = node.folder.path().join("rows.pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut import = import(&node, &["rows.pipe", "--format", "json"]);
    let mut writer = OpenOptions::new().write(true).open(&pipe).unwrap();
    writer.write_all(b"[{\"n\": 1}, {\"n\": 2}").unwrap();
    // The second ends with the comma behind it, which has not come.
    wait_for_rows(&node, "t", 1);
    writer.write_all(b", {\"n\": 3}]").unwrap();
    wait_for_rows(&node, "t", 3);
    drop(writer);
    assert_eq!(end(&mut import).code(), Some(0));
    assert!(talk(import).contains("rows.pipe → d.t: 3 rows stored in "));

    // Nobody writes: a signal ends it all the same.
    let mut waiting = self::import(&node, &["rows.pipe", "--format", "ndjson"]);
    wait_for("the import to listen", || is_caught(&waiting, 2).then_some(()));
    signal(&waiting, "INT");
    assert_eq!(end(&mut waiting).code(), Some(130));
}

/// Whether a process catches a signal, by what the system says of it.
fn is_caught(child: &Child, number: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (number - 1) & 1 == 1
}
