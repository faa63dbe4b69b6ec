//! The golden scripts: commands in, replies out, for nodes in this process. Each file under
//! `tests/golden` is a test. Write a script without replies, run
//! `UPDATE_GOLDENFILES=1 cargo test -p edgemere-command --test golden`, and read what it wrote.
//!
//! A line `> get status` runs a command on node n1, `n2:> get status` on node n2, and `!> get statu`
//! must fail. Tags: `[reader]` and `[writer]` run it for somebody with less access than all, `[get]`
//! and `[post]` as if it came with that REST method, `[shape]` shows numbers as N. Other lines:
//!
//! - `node NAME roles=operator` makes a further node; n1 has all roles and is always there. With
//!   `master=n1` it follows n1, and `sync NAME` brings it in step: it fetches, publishes its own
//!   policies and sends what waits.
//! - `assign COMMAND body=TEXT` sends a command with a body that brings its variables.
//! - `stop NAME` makes a node unreachable; `restart NAME` opens its ledger again.
//! - `file NAME TEXT` writes a script into n1's scripts folder.
//! - `send COMMAND destination=… subset=true` runs a command as a REST request would.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may end where it fails"
)]

mod golden_runner;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Trial};

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut trials = Vec::new();
    for script in scripts(&root) {
        let name = script.strip_prefix(&root).unwrap_or(&script).display().to_string();
        trials.push(Trial::test(name, move || {
            let mut runner = golden_runner::Runner::new();
            goldenscript::run(&mut runner, &script).map_err(Into::into)
        }));
    }
    trials.push(Trial::test("every_command_is_in_a_script", move || {
        let missing = missing_commands(&scripts(&root));
        if missing.is_empty() { Ok(()) } else { Err(format!("in no script: {missing:?}").into()) }
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// The commands that no script runs.
fn missing_commands(scripts: &[PathBuf]) -> Vec<&'static str> {
    let texts: Vec<_> = scripts.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let commands = texts.iter().flat_map(|text| text.lines()).filter_map(|line| {
        let (_, command) = line.split_once("> ")?;
        edgemere_command::parse(command).ok()
    });
    let run: BTreeSet<_> = commands.map(|command| command.declaration().name).collect();
    let declared = edgemere_command::declarations().iter().map(|declaration| declaration.name);
    declared.filter(|name| !run.contains(name)).collect()
}

fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut scripts = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => scripts.extend(self::scripts(&path)),
            false => scripts.push(path),
        }
    }
    scripts.sort();
    scripts
}
