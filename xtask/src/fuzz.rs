//! `cargo xtask fuzz`: random input for everything that reads bytes from outside.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::{
    cargo::{cargo, root, run as run_command},
    install, replay,
};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// One target; all of them when left out
    target: Option<String>,
    /// How long each target runs
    #[arg(long, default_value_t = 60)]
    seconds: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let all = targets()?;
    let chosen = match &args.target {
        Some(target) if all.contains(target) => vec![target.clone()],
        Some(target) => bail!("no target \"{target}\", only {}", all.join(", ")),
        None => all,
    };
    install::ensure(&install::CARGO_FUZZ)?;
    write_corpus()?;
    chosen.iter().try_for_each(|target| one(target, args.seconds))
}

fn one(target: &str, seconds: u64) -> Result<()> {
    let mut command =
        cargo(&["fuzz", "run", "--features", "run", target, "--", "-rss_limit_mb=4096"]);
    command.arg(format!("-max_total_time={seconds}"));
    // cargo-fuzz passes flags that only nightly takes; this has a stable compiler take them.
    run_command(command.env("RUSTC_BOOTSTRAP", "1"))
}

/// The names of the files in `fuzz/fuzz_targets`.
fn targets() -> Result<Vec<String>> {
    let folder = root().join("fuzz/fuzz_targets");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).context("fuzz/fuzz_targets is missing")? {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// What the targets begin with, so that they need not invent commands, SQL and rows first.
fn write_corpus() -> Result<()> {
    let commands = replay::captured_commands()?;
    write("parse", commands.into_iter().map(|(command, id)| (id, command)))?;
    let mut statements = Vec::new();
    for name in ["allowed", "statements"] {
        let path = format!("crates/edgemere-query/tests/sql_hostile/{name}.sql");
        let text = fs::read_to_string(root().join(&path)).context(path)?;
        let lines = text.lines().filter(|line| !line.starts_with("--")).enumerate();
        statements.extend(lines.map(|(index, line)| (format!("{name}-{index}"), line.to_owned())));
    }
    write("sql_parse", statements.into_iter())?;
    write("ingest_json", numbered(&JSON))?;
    write("ingest_csv", numbered(&CSV))
}

/// Rows of every type, as a list, as one object and as lines.
const JSON: [&str; 4] = [
    r#"[{"a": 1, "d": 1.5e3, "e": true, "i": "it's", "j": null}, {"a": "x", "k": {"l": [1, "\u00fc"]}}]"#,
    r#"{"f": "2026-02-29", "g": "23:59:59.5", "h": "2026-01-01T00:00:00+02:00"}"#,
    "{\"c\": 123456789012345678901234567890}\n{\"c\": -0.0, \"C\": 1}\n",
    r#"[{"row_id": 1, "": "", "\ud83d\ude00": "\ud83d"}]"#,
];

/// The same with commas, quotes and lines that are too short and too long.
const CSV: [&str; 3] = [
    "a,d,e,i\n1,1.5,true,\"it's, \"\"quoted\"\"\"\n,,,\n",
    "a,h\r\n1,2026-01-01 00:00:00\r\nx,y,z\r\n2\r\n",
    "\u{feff}a,A,row_id\n1,2,3",
];

fn numbered(texts: &'static [&'static str]) -> impl Iterator<Item = (String, String)> {
    texts.iter().enumerate().map(|(index, text)| (index.to_string(), (*text).to_owned()))
}

/// Writes what a target begins with, each under a name.
fn write(target: &str, inputs: impl Iterator<Item = (String, String)>) -> Result<()> {
    let folder = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&folder)?;
    for (name, input) in inputs {
        fs::write(folder.join(name), input)?;
    }
    Ok(())
}
