//! `edgemere import`: files of every form into a real node.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Node, parts, run, run_with_input};

/// Imports with these arguments into the database d: what it says, and its exit code.
fn import(node: &Node, args: &[&str]) -> (String, i32) {
    let fixed = ["--dbms", "d", "--node", &node.http];
    said(&run(node.folder.path(), &[&["import"], args, &fixed].concat()))
}

fn said(output: &Output) -> (String, i32) {
    let (stdout, stderr, code) = parts(output);
    assert_eq!(stdout, "", "talk belongs to stderr");
    (stderr, code)
}

fn write(node: &Node, name: &str, content: impl AsRef<[u8]>) {
    fs::write(node.folder.path().join(name), content).unwrap();
}

/// The rows of a query.
fn rows(node: &Node, sql: &str) -> Vec<Value> {
    let args = ["sql", "d", sql, "--format", "json:list", "--node", &node.http];
    let (stdout, stderr, code) = parts(&run(node.folder.path(), &args));
    assert_eq!(code, 0, "{stderr}");
    serde_json::from_str(&stdout).unwrap()
}

fn count(node: &Node, table: &str) -> u64 {
    rows(node, &format!("select count(*) as n from {table}"))[0]["n"].as_u64().unwrap()
}

#[test]
fn quoted_lines_survive_the_borders_of_pieces() {
    let node = Node::start(&[]);
    let note = |n: u64| format!("it's {n},\n\"quoted\"\r\nand \u{e9}");
    let mut csv = String::from("\u{feff}N,Note\r\n");
    for n in 0..25 {
        csv.push_str(&format!("{n},\"{}\"\r\n", note(n).replace('"', "\"\"")));
    }
    write(&node, "Pump Notes.csv", csv);
    let (talk, code) = import(&node, &["Pump Notes.csv", "--batch-rows", "2", "--jobs", "3"]);
    assert_eq!(code, 0, "{talk}");
    assert!(
        talk.starts_with(
            "created table d.pump_notes (n int from \"N\", note char(23) from \"Note\")\n"
        ),
        "{talk}"
    );
    assert!(talk.contains("\nPump Notes.csv → d.pump_notes: 25 rows stored in "), "{talk}");
    let next = "sql d 'select count(*) from pump_notes'";
    assert!(talk.contains(next) && talk.contains(&node.http), "{talk}");
    let found = rows(&node, "select n, note from pump_notes order by n");
    let expected: Vec<_> = (0..25).map(|n| json!({ "n": n, "note": note(n) })).collect();
    assert_eq!(found, expected);
}

#[test]
fn json_comes_as_a_list_as_one_object_and_as_many() {
    let node = Node::start(&[]);
    let list: Vec<_> = (0..10).map(|n| json!({ "n": n, "o": { "s": "]},{[\"\\" } })).collect();
    write(&node, "list.json", serde_json::to_string_pretty(&list).unwrap());
    write(&node, "one.json", "{\n  \"n\": 10\n}\n");
    write(&node, "many.json", "{\"n\": 11} {\"n\":\n12}{\"n\": 13}\n");
    write(&node, "lines.ndjson", "{\"n\": 14}\n\n{\"n\": 15}\r\n");
    let files = ["list.json", "one.json", "many.json", "lines.ndjson"];
    let (talk, code) =
        import(&node, &[&files[..], &["--table", "t", "--batch-rows", "3"]].concat());
    assert_eq!(code, 0, "{talk}");
    assert!(talk.contains("4 files: 16 rows stored in "), "{talk}");
    let found = rows(&node, "select n, o from t order by n");
    assert!(found.iter().map(|row| row["n"].as_u64().unwrap()).eq(0..16));
    assert_eq!(found[9]["o"], "{\"s\":\"]},{[\\\"\\\\\"}");
}

/// What a node settled is Parquet that can be imported again.
#[test]
fn a_parquet_file_comes_in_batch_by_batch() {
    let node = Node::start(&[]);
    let row =
        |n: i64| format!("{n},{}.5,2026-01-01T00:00:{:02}Z,it's {n},{}\n", n, n % 60, n % 2 == 0);
    write(&node, "a.csv", "n,f,t,s,b\n".to_owned() + &(0..100).map(row).collect::<String>());
    assert_eq!(import(&node, &["a.csv"]).1, 0);
    let (stdout, stderr, code) = node.run(&["flush buffers"]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let folder = node.folder.path().join("edgemere-data/rows/data/d/a");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let (talk, code) =
        import(&node, &[file.to_str().unwrap(), "--table", "b", "--batch-rows", "7"]);
    assert_eq!(code, 0, "{talk}");
    assert!(talk.contains("d.b: 100 rows stored"), "{talk}");
    let columns = "n, f, t, s, b";
    let of = |table: &str| rows(&node, &format!("select {columns} from {table} order by n"));
    assert_eq!(of("a"), of("b"));
    let (talk, code) = import(&node, &["a.csv", "--format", "parquet"]);
    assert_eq!(code, 2);
    assert!(talk.contains("a.csv: not Parquet that can be read"), "{talk}");
}

#[test]
fn rejected_rows_are_told_by_their_row_and_line_in_the_file() {
    let node = Node::start(&[]);
    write(&node, "a.csv", "n,s\n1,a\n\n2,\"b\nc\"\nx,d\n3,e\n4,f,too many\n5,g\n6,h\ny,i\n");
    let (talk, code) = import(&node, &["a.csv", "--batch-rows", "2"]);
    assert_eq!(code, 1, "{talk}");
    for line in [
        "rejected: a.csv row 3 (line 6), column \"n\": \"x\": not a number\n",
        "rejected: a.csv row 5 (line 8): \"4,f,too many\": has 3 fields and not 2\n",
        "rejected: a.csv row 8 (line 11), column \"n\": \"y\": not a number\n",
        "a.csv → d.a: 5 rows stored, 3 rejected in ",
    ] {
        assert!(talk.contains(line), "{line}: {talk}");
    }
    assert_eq!(count(&node, "a"), 5);

    // Every other row is bad: the first are reported, all are counted.
    let lines =
        (0..100).map(|n| if n % 2 == 0 { format!("{{\"n\": {n}}}\n") } else { "{\n".into() });
    write(&node, "many.ndjson", lines.collect::<String>());
    let (talk, code) = import(&node, &["many.ndjson", "--batch-rows", "7"]);
    assert_eq!(code, 1, "{talk}");
    assert_eq!(talk.matches("rejected: ").count(), 20, "{talk}");
    let first =
        "many.ndjson row 2 (line 2): \"{\": not JSON: the line ends too early at column 2\n";
    assert!(talk.contains(first) && talk.contains("… and 30 more rejected rows\n"), "{talk}");
    assert_eq!(count(&node, "many"), 50);

    // With --strict the pieces after it are not sent.
    let (talk, code) = import(&node, &["a.csv", "--table", "s", "--batch-rows", "2", "--strict"]);
    assert_eq!(code, 1);
    assert!(talk.contains("stopped at the first rejected row of a.csv: 3 rows stored"), "{talk}");
    assert_eq!(count(&node, "s"), 3);
}

/// As guides/import.md shows it.
#[test]
fn an_odd_value_in_a_new_table_is_a_rejected_row_or_makes_a_text_that_is_told() {
    let node = Node::start(&[]);
    let csv = "pump,rpm,since\np1,10,2026-01-01\np2,11,2026-01-02\np3,x,2026-01-03\np4,,n/a\n";
    write(&node, "pumps.csv", csv);
    let (talk, code) = import(&node, &["pumps.csv"]);
    assert_eq!(code, 1, "{talk}");
    for line in [
        "created table d.pumps (pump char(2), rpm int, since date)\n",
        "rejected: pumps.csv row 3 (line 4), column \"rpm\": \"x\": not a number\n",
        "pumps.csv → d.pumps: 3 rows stored, 1 rejected in ",
        "with --infer",
    ] {
        assert!(talk.contains(line), "{line}: {talk}");
    }
    assert_eq!(rows(&node, "select sum(rpm) as s, count(since) as c from pumps")[0]["s"], 21);

    let (talk, code) = import(&node, &["pumps.csv", "--infer", "--table", "texts"]);
    assert_eq!(code, 0, "{talk}");
    assert!(
        talk.contains("created table d.texts (pump char(2), rpm varchar, since date)\n"),
        "{talk}"
    );
    assert!(talk.contains("rpm is text because of pumps.csv row 3 (line 4): \"x\"\n"), "{talk}");
    assert_eq!(count(&node, "texts"), 4);

    // A column has no type before its first value.
    let empty: String = (0..50).map(|n| format!("{n},\n")).collect();
    write(&node, "late.csv", format!("n,v\n{empty}50,1.5\n51,x\n52,2.5\n53,3\n"));
    let (talk, code) = import(&node, &["late.csv", "--batch-rows", "10"]);
    assert_eq!(code, 1, "{talk}");
    assert!(talk.contains("column \"v\": \"x\": not a number"), "{talk}");
    assert_eq!(rows(&node, "select max(v) as m, count(*) as n from late")[0]["m"], 3.0);
}

#[test]
fn a_file_is_stored_once_unless_it_is_said_otherwise() {
    let node = Node::start(&[]);
    // Two pieces with the same rows are two pieces.
    write(&node, "a.csv", "n\n1\n1\n1\n1\n");
    let pieces = ["a.csv", "--batch-rows", "2"];
    assert_eq!(import(&node, &pieces).1, 0);
    assert_eq!(count(&node, "a"), 4);
    let (talk, code) = import(&node, &pieces);
    assert_eq!(code, 0);
    assert!(talk.contains("0 rows stored, 4 stored before in "), "{talk}");
    assert!(talk.contains("--again stores them again"), "{talk}");
    assert_eq!(count(&node, "a"), 4);
    assert_eq!(import(&node, &[&pieces[..], &["--again"]].concat()).1, 0);
    assert_eq!(count(&node, "a"), 8);
    assert_eq!(import(&node, &[&pieces[..], &["--table", "b"]].concat()).1, 0);
    assert_eq!(count(&node, "b"), 4);
    let (talk, code) = import(&node, &["a.csv", "--skip-rows", "3", "--table", "b", "--quiet"]);
    assert_eq!((talk.as_str(), code), ("", 0));
    assert_eq!(count(&node, "b"), 5);
}

#[test]
fn stdin_is_a_file_whose_form_and_table_must_be_said() {
    let node = Node::start(&[]);
    let from_stdin = |args: &[&str], input: &str| {
        let fixed = ["--dbms", "d", "--node", &node.http];
        let args = [&["import", "-"], args, &fixed].concat();
        said(&run_with_input(node.folder.path(), &args, input))
    };
    let lines = "{\"n\": 1}\n{\"n\": 2}\n{\"n\": 3}\n";
    for round in 1..=2 {
        let (talk, code) =
            from_stdin(&["--format", "ndjson", "--table", "t", "--batch-rows", "2"], lines);
        assert_eq!(code, 0, "{talk}");
        assert!(talk.contains("stdin → d.t: 3 rows stored"), "{talk}");
        assert_eq!(count(&node, "t"), 3 * round);
    }
    for args in
        [&["--format", "csv"][..], &["--table", "t"], &["--format", "parquet", "--table", "t"]]
    {
        assert_eq!(from_stdin(args, "").1, 2, "{args:?}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_line_and_nothing_after_it_is_sent() {
    let node = Node::start(&[]);
    write(&node, "good.csv", "n\n1\n");
    fs::create_dir(node.folder.path().join("folder.csv")).unwrap();
    for (args, expected) in [
        (["good.csv", "missing.csv"], "cannot read \"missing.csv\": No such file"),
        (["good.csv", "folder.csv"], "cannot read \"folder.csv\": it is a folder"),
        (["good.csv", "log"], "cannot tell how the rows of \"log\" are written"),
    ] {
        let (talk, code) = import(&node, &args);
        assert_eq!(code, 2, "{talk}");
        assert!(talk.contains(expected), "{talk}");
    }
    // None of the good ones was sent.
    assert_eq!(node.run(&["get rows count where format = json"]).0.trim(), "{}");
    for (name, content, expected) in [
        (
            "latin.csv",
            &b"n\n1\n2\ncaf\xe9\n"[..],
            "latin.csv: not UTF-8 at line 4, column 4; 2 rows",
        ),
        (
            "open.csv",
            b"n\n1\n2\n\"3\n4\n",
            "open.csv: a quote in the row at line 4 is never closed",
        ),
        (
            "torn.json",
            b"[{\"n\": 1},\n{\"n\": 2},\n{\"n\":",
            "torn.json: not JSON at line 3, column 6",
        ),
        ("twice.csv", b"n,n\n1,2\n", "the columns \"n\" and \"n\" have the same name"),
    ] {
        write(&node, name, content);
        let (talk, code) = import(&node, &[name, "--batch-rows", "2"]);
        assert_eq!(code, 2, "{talk}");
        assert!(talk.contains(expected), "{talk}");
    }
    for (name, content) in [("empty.csv", ""), ("header.csv", "a,b\n"), ("list.json", "[]")] {
        write(&node, name, content);
        let (talk, code) = import(&node, &[name]);
        assert_eq!(code, 0, "{talk}");
        assert!(talk.contains(": no rows, nothing to store\n"), "{talk}");
    }
    let (talk, code) = import(&node, &["good.csv", "--table", "no/table"]);
    assert_eq!(code, 2, "{talk}");
    assert!(talk.contains("good.csv: ") && talk.contains("0 rows of it are stored"), "{talk}");
}

#[test]
fn the_help_has_examples_and_the_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    let (help, _, code) = parts(&run(folder.path(), &["import", "--help"]));
    assert_eq!(code, 0);
    assert!(help.contains("Examples:\n") && help.contains("Exit codes: 0 all"), "{help}");
}
