//! `cargo xtask docs`: the reference page of the commands, from their declarations, and the page of what
//! is not as in EdgeLake, which `crate::replay::page` makes of the lists beside the replay.
//!
//! The first is printed by `xtask/examples/reference.rs`, which links the command crate; the
//! chores do not, so that `cargo xtask` stays quick to build.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::replay::page;

/// A page: where it is, from the root of the workspace, and what makes it.
type Page = (&'static str, fn() -> Result<String>);

const PAGES: [Page; 2] =
    [("docs/reference/commands.md", commands), ("docs/reference/edgelake.md", page::page)];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only say whether the pages are current
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check { check() } else { write() }
}

/// Fails when a page is not what it is made of.
pub(crate) fn check() -> Result<()> {
    for (path, generate) in PAGES {
        let page = fs::read_to_string(cargo::root().join(path)).unwrap_or_default();
        if page != generate()? {
            bail!("{path} is not current: run `cargo xtask docs`");
        }
        println!("   {path} is current");
    }
    Ok(())
}

fn write() -> Result<()> {
    for (path, generate) in PAGES {
        let page = generate()?;
        let file = cargo::root().join(path);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&file, page).with_context(|| format!("cannot write {path}"))?;
        println!("wrote {path}");
    }
    Ok(())
}

fn commands() -> Result<String> {
    cargo::output(&mut Command::new(cargo::build_example("reference")?))
}
