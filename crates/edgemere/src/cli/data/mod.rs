//! `edgemere data`: looks after the rows that a node keeps, while it is not running. A file for each
//! command.

mod repair;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use clap_serve::{CommandExt as _, Effect};
use edgemere_command::Kind;

use crate::config::{Config, Entry, keys};
use crate::failure::Failure;
use crate::server;

/// Verify or repair the rows of a stopped node
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(effect = Effect::Read)]
    Verify(verify::Verify),
    #[command(effect = Effect::Destructive)]
    Repair(repair::Repair),
}

impl Command {
    /// The keys of the configuration that flags and the environment give.
    pub(super) fn given(&self) -> Vec<Entry> {
        match self {
            Self::Verify(verify) => verify.keys.entries(),
            Self::Repair(repair) => repair.keys.entries(),
        }
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        match self {
            Self::Verify(verify) => verify.run(config),
            Self::Repair(repair) => repair.run(config),
        }
    }
}

/// The folder of the node's rows, which must be there: a check makes nothing.
fn rows_folder(config: &Config) -> Result<PathBuf, Failure> {
    let data = PathBuf::from(config.text(&keys::DATA));
    let folder = server::rows_folder(&data);
    if folder.is_dir() {
        return Ok(folder);
    }
    let message = format!("no node has kept rows in \"{}\"", data.display());
    Err(Failure::new(Kind::NotFound, message).with_hint("name its data folder with --data DIR"))
}
