//! `edgemere run`: replies, errors and their exit codes.

use crate::support::{Node, parts, run};

#[test]
fn a_reply_is_plain_in_a_pipe_and_ends_with_one_new_line() {
    let node = Node::start(&["--name", "plant-1"]);
    let (stdout, stderr, code) = node.run(&["get status"]);
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(stdout.starts_with("plant-1@127.0.0.1:") && stdout.ends_with(" running\n"), "{stdout}");
    let (table, _, _) = node.run(&["blockchain get operator bring.table [*][name]"]);
    assert!(table.starts_with("Name"), "{table}");
    assert!(table.ends_with("|\n") && !table.ends_with("\n\n"), "{table:?}");
    let (json, _, _) = node.run(&["get status where format = json"]);
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
    assert_eq!(json.lines().count(), 1);
}

#[test]
fn in_a_pipe_a_reply_is_the_bytes_that_came() {
    let node = Node::start(&[]);
    assert_eq!(node.run(&["x = \"a\u{1b}[31m b\""]).2, 0);
    assert_eq!(node.run(&["get !x"]).0, "a\u{1b}[31m b\n");
    let (painted, _, _) = node.run(&["get !x", "--color", "always"]);
    assert_eq!(painted, "a\\u{1b}[31m b\n");
}

#[test]
fn words_without_quotes_are_a_command() {
    let node = Node::start(&[]);
    assert_eq!(node.run(&["get", "status"]), node.run(&["get status"]));
}

#[test]
fn what_changes_the_node_is_sent_too() {
    let node = Node::start(&[]);
    assert_eq!(node.run(&["greeting = \"grüß + 100% & so\""]).2, 0);
    assert_eq!(node.run(&["get !greeting"]).0, "grüß + 100% & so\n");
    assert_eq!(node.run(&["!greeting"]).0, "grüß + 100% & so\n");
}

#[test]
fn a_wrong_command_is_shown_with_the_place_and_the_near_one_and_is_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (stdout, stderr, code) = parts(&run(folder.path(), &["run", "get statu"]));
    assert_eq!(
        stderr,
        "error: unknown command \"get statu\"\n  get statu\n      ^^^^^\n\
         hint: did you mean \"get status\"?\n"
    );
    assert_eq!((stdout.as_str(), code), ("", 2));
}

#[test]
fn the_exit_code_tells_the_kind_of_failure() {
    let node = Node::start(&["--access", "write"]);
    let code = |command: &str| node.run(&[command]).2;
    let policy = "blockchain insert where policy = {\"device\": {\"name\": \"d\", \"id\": \"d1\"}} \
                  and local = true";
    assert_eq!(code(policy), 0);
    assert_eq!(code("get columns where dbms = x"), 2);
    assert_eq!(code("get columns where dbms = x and table = y"), 3);
    assert_eq!(code("exit node"), 4);
    assert_eq!(code(policy), 5);
    // An address that is not of the ledger is for admins, who get the error that nobody is there.
    let stranger = ["get status", "--destination", "127.0.0.1:1"];
    let (_, stderr, code) = node.run(&stranger);
    assert_eq!(code, 4, "{stderr}");
    let (_, stderr, code) = Node::start(&[]).run(&stranger);
    assert_eq!(code, 6, "{stderr}");
}

#[test]
fn a_node_that_is_not_there_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["run", "get status", "--node", "127.0.0.1:1"]);
    let (stdout, stderr, code) = parts(&output);
    assert_eq!((stdout.as_str(), code), ("", 6));
    assert!(stderr.starts_with("error: no node answers at http://127.0.0.1:1\nhint: "), "{stderr}");
    assert!(stderr.contains("edgemere node"), "{stderr}");
}

#[test]
fn colour_comes_when_it_is_asked_for() {
    let node = Node::start(&[]);
    let (painted, _, _) = node.run(&["get status where format = json", "--color", "always"]);
    assert!(painted.contains("\u{1b}["), "{painted}");
    let (plain, _, _) = node.run(&["get status where format = json", "--color", "never"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
}

#[test]
fn completions_help_and_version_are_there() {
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let (stdout, _, code) = parts(&run(folder.path(), &["completions", shell]));
        assert!(code == 0 && stdout.contains("edgemere"), "{shell}");
    }
    let (stdout, _, _) = parts(&run(folder.path(), &["--version"]));
    assert_eq!(stdout, concat!("edgemere ", env!("CARGO_PKG_VERSION"), "\n"));
    let (stdout, _, code) = parts(&run(folder.path(), &["--help"]));
    assert!(code == 0 && stdout.contains("Examples:\n"), "{stdout}");
}
