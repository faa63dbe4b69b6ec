//! `edgemere config`: what holds and where it came from, and a file to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap_serve::{CommandExt as _, Effect};
use edgemere_command::Kind;

use crate::config::{self, ClientKeys, Config, Entry, FILE_NAME, Flags, NodeKeys};
use crate::failure::Failure;
use crate::terminal;

/// Show the configuration and its sources, or write a configuration file
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(effect = Effect::Read)]
    Show(Box<Show>),
    #[command(effect = Effect::Write)]
    Init(Init),
}

/// Print every key, its value and its source, as TOML
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    #[command(flatten)]
    node: Flags<NodeKeys>,

    #[command(flatten)]
    client: Flags<ClientKeys>,
}

/// Write edgemere.toml with every key at its default
#[derive(Debug, clap::Args)]
pub(crate) struct Init {
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
}

impl Command {
    /// The keys of the configuration that flags and the environment give.
    pub(super) fn given(&self) -> Vec<Entry> {
        match self {
            Self::Show(show) => [show.node.entries(), show.client.entries()].concat(),
            Self::Init(_) => Vec::new(),
        }
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        match self {
            Self::Show(_) => terminal::print_toml(&config::show(config))?,
            Self::Init(init) => return init.run(None),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A file as `--config` names it, so that it is seen to be one of the current folder.
fn named(file: &Path) -> PathBuf {
    let is_bare = file.parent().is_some_and(|folder| folder.as_os_str().is_empty());
    if is_bare { Path::new(".").join(file) } else { file.to_owned() }
}

impl Init {
    /// Writes the file, under the name that was given with `--config` or its usual one.
    pub(super) fn run(&self, file: Option<PathBuf>) -> anyhow::Result<ExitCode> {
        let file = file.unwrap_or_else(|| PathBuf::from(FILE_NAME));
        let mut open = OpenOptions::new();
        open.write(true);
        match self.force {
            true => open.create(true).truncate(true),
            false => open.create_new(true),
        };
        let written = open.open(&file).and_then(|mut f| f.write_all(config::template().as_bytes()));
        match written {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let message = format!("\"{}\" is there already", file.display());
                let hint = "--force writes over it";
                return Err(Failure::new(Kind::Conflict, message).with_hint(hint).into());
            }
            written => written.with_context(|| format!("cannot write \"{}\"", file.display()))?,
        }
        terminal::say(&format!("wrote {}", file.display()));
        terminal::say(&format!("use it with --config {}", named(&file).display()));
        Ok(ExitCode::SUCCESS)
    }
}
