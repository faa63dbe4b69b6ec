//! `cargo xtask docs`: the reference page of the commands, from their declarations.
//!
//! The page is printed by `xtask/examples/reference.rs`, which links the command crate; the
//! chores do not, so that `cargo xtask` stays quick to build.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// Where the page is, from the root of the workspace.
const PAGE: &str = "docs/reference/commands.md";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only say whether the page is current
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check { check() } else { write() }
}

/// Fails when the page is not what the declarations give.
pub(crate) fn check() -> Result<()> {
    let page = fs::read_to_string(cargo::root().join(PAGE)).unwrap_or_default();
    if page != generate()? {
        bail!("{PAGE} is not current: run `cargo xtask docs`");
    }
    println!("   {PAGE} is current");
    Ok(())
}

fn write() -> Result<()> {
    let page = generate()?;
    let path = cargo::root().join(PAGE);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(&path, page).with_context(|| format!("cannot write {PAGE}"))?;
    println!("wrote {PAGE}");
    Ok(())
}

fn generate() -> Result<String> {
    cargo::output(&mut Command::new(cargo::build_example("reference")?))
}
