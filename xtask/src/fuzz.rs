//! `cargo xtask fuzz`: random input for everything that reads bytes from outside.

use std::{fs, path::Path};

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

/// The captured commands, so that the fuzzer need not invent the language first.
fn write_corpus() -> Result<()> {
    let folder = root().join("fuzz/corpus/parse");
    fs::create_dir_all(&folder)?;
    for (command, id) in replay::captured_commands()? {
        fs::write(Path::new(&folder).join(id), command)?;
    }
    Ok(())
}
