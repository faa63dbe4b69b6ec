//! `edgemere shell` from a pipe.

use crate::support::{Node, parts, run_with_input};

fn shell(node: &Node, input: &str) -> (String, String, i32) {
    parts(&run_with_input(node.folder.path(), &["shell", "--node", &node.http], input))
}

#[test]
fn commands_are_read_line_by_line_and_blocks_are_one_command() {
    let node = Node::start(&[]);
    let input = "# a comment\n\na = 1\n<b =\n  two>\nget !a\nget !b";
    assert_eq!(shell(&node, input), ("1\ntwo\n".into(), String::new(), 0));
}

#[test]
fn exit_and_quit_leave_and_the_node_goes_on() {
    let node = Node::start(&[]);
    for leave in ["exit", "QUIT"] {
        let (stdout, _, code) = shell(&node, &format!("print x\n{leave}\nget nonsense\n"));
        assert_eq!((stdout.as_str(), code), ("x\n", 0));
    }
    assert_eq!(node.run(&["get status"]).2, 0);
}

#[test]
fn the_first_failure_ends_it_with_its_exit_code() {
    let node = Node::start(&[]);
    let (stdout, stderr, code) = shell(&node, "print x\nget statu\nprint y\n");
    assert_eq!((stdout.as_str(), code), ("x\n", 2));
    assert!(stderr.starts_with("error: line 2: unknown command \"get statu\""), "{stderr}");
    assert!(stderr.contains("did you mean \"get status\"?"), "{stderr}");
    assert_eq!(shell(&node, "get !nothing\n").2, 3);
    assert_eq!(shell(&node, "<get status\n").2, 2);
}

#[test]
fn without_a_node_it_says_how_to_start_one() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["shell", "--node", "127.0.0.1:1"];
    let (_, stderr, code) = parts(&run_with_input(folder.path(), &args, "help\n"));
    assert_eq!(code, 6);
    assert!(stderr.contains("edgemere node"), "{stderr}");
}
