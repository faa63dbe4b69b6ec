//! The configuration: every key through every way, and what is wrong in a file.

use std::fs;

use tempfile::TempDir;

use crate::support::{edgemere, parts, run};

/// A value of every key that is not its default: as a flag, and as TOML.
const VALUES: [(&str, &str, &str); 34] = [
    ("name", "plant 1", "\"plant 1\""),
    ("role", "master,query", "[\"master\", \"query\"]"),
    ("data", "/d", "\"/d\""),
    ("http", "127.0.0.1:1", "\"127.0.0.1:1\""),
    ("network", "127.0.0.1:2", "\"127.0.0.1:2\""),
    ("advertise", "127.0.0.1:5", "\"127.0.0.1:5\""),
    ("network-key", "/k", "\"/k\""),
    ("company", "C", "\"C\""),
    ("cluster", "c", "\"c\""),
    ("master", "example.com:3", "\"example.com:3\""),
    ("register", "false", "false"),
    ("access", "read", "\"read\""),
    ("allow-origin", "http://a:1,https://b", "[\"http://a:1\", \"https://b\"]"),
    ("allow-host", "db,db.example.com:5", "[\"db\", \"db.example.com:5\"]"),
    ("agent-access", "write", "\"write\""),
    ("agent-calls", "8", "8"),
    ("agent-rate", "100", "100"),
    ("tools", "/t.yaml", "\"/t.yaml\""),
    ("cli-tools", "true", "true"),
    ("query-memory", "64MiB", "\"64MiB\""),
    ("query-memory-total", "2GB", "\"2GB\""),
    ("query-spill", "0", "\"0\""),
    ("query-time", "60", "60"),
    ("ledger-age-max", "60", "60"),
    ("job-disk", "2MiB", "\"2MiB\""),
    ("job-disk-total", "1GB", "\"1GB\""),
    ("job-keep", "7", "7"),
    ("body-memory", "32MiB", "\"32MiB\""),
    ("fresh-memory", "8MiB", "\"8MiB\""),
    ("compact-memory", "9MiB", "\"9MiB\""),
    ("disk-reserve", "10MiB", "\"10MiB\""),
    ("node", "http://127.0.0.1:4", "\"http://127.0.0.1:4\""),
    ("log", "debug", "\"debug\""),
    ("log-format", "json", "\"json\""),
];

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// The line of a key in `config show`: its value and where it came from.
fn line(shown: &str, key: &str) -> (String, String) {
    let line = shown.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
    let (assignment, source) = line.split_once("  # ").unwrap();
    let value = assignment.split_once(" = ").unwrap().1;
    (value.trim().to_owned(), source.to_owned())
}

#[test]
fn every_key_is_listed_above() {
    let (shown, _, code) = parts(&run(folder().path(), &["config", "show"]));
    assert_eq!(code, 0);
    let name = |line: &str| line.trim_start_matches("# ").split(' ').next().unwrap().to_owned();
    let keys: Vec<_> = shown.lines().map(name).collect();
    assert_eq!(keys, VALUES.map(|(key, ..)| key));
    assert!(shown.contains("  # default"), "{shown}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_node_takes_follows_the_memory_that_it_may_have() {
    let folder = folder();
    let program = edgemere(folder.path(), &[]);
    let mut command = std::process::Command::new("sh");
    // 2 GiB of address space, in units of 1 KiB.
    command.args(["-c", "ulimit -v 2097152; exec \"$0\" config show"]).arg(program.get_program());
    command.env_clear().current_dir(folder.path()).env("HOME", folder.path());
    let (shown, stderr, code) = parts(&command.output().unwrap());
    assert_eq!(code, 0, "{stderr}");
    for (key, expected) in [
        ("query-memory", "256MiB"),
        ("query-memory-total", "512MiB"),
        ("body-memory", "256MiB"),
        ("fresh-memory", "128MiB"),
        ("compact-memory", "64MiB"),
    ] {
        assert_eq!(line(&shown, key), (format!("\"{expected}\""), "default".into()), "{shown}");
    }
}

#[test]
fn every_key_works_as_a_flag() {
    let folder = folder();
    for (key, text, toml) in VALUES {
        let flag = format!("--{key}");
        let (shown, stderr, code) = parts(&run(folder.path(), &["config", "show", &flag, text]));
        assert_eq!(code, 0, "{stderr}");
        assert_eq!(line(&shown, key), (toml.into(), flag));
    }
}

#[test]
fn every_key_works_as_an_environment_variable() {
    let folder = folder();
    for (key, text, toml) in VALUES {
        let variable = format!("EDGEMERE_{}", key.to_uppercase().replace('-', "_"));
        let mut command = edgemere(folder.path(), &["config", "show"]);
        let (shown, stderr, code) = parts(&command.env(&variable, text).output().unwrap());
        assert_eq!(code, 0, "{stderr}");
        assert_eq!(line(&shown, key), (toml.into(), variable));
    }
}

#[test]
fn every_key_works_in_the_file() {
    let folder = folder();
    for (key, _, toml) in VALUES {
        fs::write(folder.path().join("edgemere.toml"), format!("{key} = {toml}\n")).unwrap();
        let named = ["config", "show", "--config", "edgemere.toml"];
        let (shown, stderr, code) = parts(&run(folder.path(), &named));
        assert_eq!(code, 0, "{stderr}");
        assert_eq!(line(&shown, key), (toml.into(), "edgemere.toml".into()));
    }
}

#[test]
fn a_flag_counts_over_the_environment_and_that_over_the_file() {
    let folder = folder();
    fs::write(folder.path().join("edgemere.toml"), "name = \"file\"\n").unwrap();
    let shown = |args: &[&str], variable: Option<&str>| {
        let mut command = edgemere(folder.path(), &[&["config", "show"], args].concat());
        command.envs(variable.map(|value| ("EDGEMERE_NAME", value)));
        line(&parts(&command.output().unwrap()).0, "name").0
    };
    assert_eq!(shown(&[], None), "\"file\"");
    assert_eq!(shown(&[], Some("env")), "\"env\"");
    assert_eq!(shown(&["--name", "flag"], Some("env")), "\"flag\"");
}

#[test]
fn the_file_is_found_in_its_places() {
    let folder = folder();
    let of_user = folder.path().join(".config/edgemere");
    fs::create_dir_all(&of_user).unwrap();
    fs::write(of_user.join("edgemere.toml"), "name = \"user\"\n").unwrap();
    let named = |args: &[&str]| {
        let output = run(folder.path(), &[&["config", "show"], args].concat());
        line(&parts(&output).0, "name").0
    };
    assert_eq!(named(&[]), "\"user\"");
    fs::write(folder.path().join("edgemere.toml"), "name = \"here\"\n").unwrap();
    assert_eq!(named(&[]), "\"here\"");
    fs::write(folder.path().join("other.toml"), "name = \"other\"\n").unwrap();
    assert_eq!(named(&["--config", "other.toml"]), "\"other\"");
    let (_, stderr, code) = parts(&run(folder.path(), &["config", "show", "--config", "none"]));
    assert_eq!(code, 3, "{stderr}");
}

#[test]
fn what_init_writes_changes_nothing_and_is_not_written_over() {
    let folder = folder();
    let values = |shown: &str| -> Vec<String> {
        shown.lines().map(|line| line.split("  # ").next().unwrap().trim().to_owned()).collect()
    };
    let (before, _, _) = parts(&run(folder.path(), &["config", "show"]));
    assert_eq!(parts(&run(folder.path(), &["config", "init"])).2, 0);
    let (after, stderr, code) = parts(&run(folder.path(), &["config", "show"]));
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(values(&before), values(&after));
    assert_eq!(line(&after, "name").1, "edgemere.toml");

    fs::write(folder.path().join("edgemere.toml"), "name = \"mine\"\n").unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &["config", "init"]));
    assert_eq!(code, 5);
    assert!(stderr.contains("--force"), "{stderr}");
    assert_eq!(parts(&run(folder.path(), &["config", "init", "--force"])).2, 0);
    let text = fs::read_to_string(folder.path().join("edgemere.toml")).unwrap();
    assert!(text.contains("name = \"edgemere\""), "{text}");
}

#[test]
fn what_is_shown_can_be_used_as_a_file() {
    let folder = folder();
    let (shown, _, _) = parts(&run(folder.path(), &["config", "show", "--name", "n"]));
    fs::write(folder.path().join("edgemere.toml"), &shown).unwrap();
    let (again, stderr, code) = parts(&run(folder.path(), &["config", "show"]));
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(line(&again, "cluster").0, "\"n-cluster\"");
}

#[test]
fn what_is_wrong_in_the_file_is_told_with_its_place() {
    let folder = folder();
    fs::write(folder.path().join("edgemere.toml"), "# mine\nnmae = \"x\"\n").unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &["node"]));
    assert_eq!(code, 2);
    assert_eq!(
        stderr,
        "error: edgemere.toml:2:1: unknown key \"nmae\"\nhint: did you mean \"name\"?\n"
    );
    fs::write(folder.path().join("edgemere.toml"), "register = 1\n").unwrap();
    let (_, stderr, code) = parts(&run(folder.path(), &["run", "get status"]));
    assert_eq!(code, 2);
    assert!(stderr.starts_with("error: edgemere.toml:1:12: "), "{stderr}");
}

#[test]
fn a_file_that_nobody_has_named_brings_no_programs_and_no_other_node() {
    let folder = folder();
    let file = "name = \"here\"\nnode = \"http://127.0.0.1:9\"\ntools = \"tools.yaml\"\n";
    fs::write(folder.path().join("edgemere.toml"), file).unwrap();
    let (shown, stderr, code) = parts(&run(folder.path(), &["config", "show"]));
    assert_eq!(code, 0, "{stderr}");
    assert_eq!(line(&shown, "name"), ("\"here\"".into(), "edgemere.toml".into()));
    assert_eq!(line(&shown, "node").1, "default");
    assert!(shown.contains("# ignored: tools = \"tools.yaml\""), "{shown}");
    assert_eq!(stderr.matches("warning: ").count(), 1, "{stderr}");
    assert!(stderr.contains("\"node\"") && stderr.contains("--config ./edgemere.toml"), "{stderr}");
    // A node does not start with half of a configuration.
    let (_, stderr, code) = parts(&run(folder.path(), &["node"]));
    assert_eq!(code, 2, "{stderr}");
    assert!(
        stderr.contains("\"tools\"") && stderr.contains("--config ./edgemere.toml"),
        "{stderr}"
    );
    // Named, all of it holds.
    let named = ["config", "show", "--config", "./edgemere.toml"];
    let (shown, stderr, code) = parts(&run(folder.path(), &named));
    assert_eq!((code, stderr.as_str()), (0, ""), "{stderr}");
    assert_eq!(line(&shown, "tools").0, "\"tools.yaml\"");
}

#[test]
fn a_network_key_itself_is_not_taken_from_a_file() {
    let folder = folder();
    let secret = "0b".repeat(32);
    let file = format!("network-key = \"{secret}\"\n");
    fs::write(folder.path().join("edgemere.toml"), file).unwrap();
    for args in [&["config", "show"][..], &["node"], &["node", "--config", "edgemere.toml"]] {
        let (stdout, stderr, code) = parts(&run(folder.path(), args));
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains("EDGEMERE_NETWORK_KEY"), "{stderr}");
        assert!(!stderr.contains(&secret) && !stdout.contains(&secret), "{stderr}");
    }
}
