//! `cargo xtask docs`: the generated pages of the reference.
//!
//! | page | made from |
//! |---|---|
//! | `commands.md` | the declarations of the commands, by `xtask/examples/reference.rs` |
//! | `edgelake.md` | the lists of the replay, by `crate::replay::page` |
//! | `cli.md`, `configuration.md` | clap's tree and the configuration keys, by `edgemere reference` |
//!
//! The chores link neither the command crate nor the binary, so that `cargo xtask` builds quickly.

use std::{fs, process::Command};

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::replay::page;

/// A page: where it is, from the root of the workspace, and what makes it.
type Page = (&'static str, fn() -> Result<String>);

const PAGES: [Page; 4] = [
    ("docs/reference/commands.md", commands),
    ("docs/reference/edgelake.md", page::page),
    ("docs/reference/cli.md", || of_binary("cli")),
    ("docs/reference/configuration.md", || of_binary("configuration")),
];

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

/// A page that the binary prints.
fn of_binary(page: &str) -> Result<String> {
    cargo::output(Command::new(cargo::build_dev()?).args(["reference", page]))
}

fn commands() -> Result<String> {
    cargo::output(&mut Command::new(cargo::build_example("reference")?))
}
