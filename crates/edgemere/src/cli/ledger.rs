//! `edgemere ledger`: checks and repairs the ledger of a node that is not running.

use std::path::PathBuf;
use std::process::ExitCode;

use clap_serve::{CommandExt as _, Effect};
use edgemere_command::Kind;
use edgemere_ledger::{Cut, Ledger};

use crate::config::{Config, DataKeys, Entry, Flags, keys};
use crate::failure::Failure;
use crate::server;
use crate::terminal;

/// Check or repair the ledger of a node that is not running
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Check every entry of the ledger
    #[command(effect = Effect::Read)]
    Verify(Where),
    /// Cut a damaged ledger back to its last whole entry; what is cut is saved beside it
    #[command(effect = Effect::Destructive)]
    Repair(Where),
}

/// Where the ledger is.
#[derive(Debug, clap::Args)]
pub(crate) struct Where {
    #[command(flatten)]
    keys: Flags<DataKeys>,
}

impl Command {
    /// The keys of the configuration that flags and the environment give.
    pub(super) fn given(&self) -> Vec<Entry> {
        match self {
            Self::Verify(place) | Self::Repair(place) => place.keys.entries(),
        }
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let folder = folder(config)?;
        let found = match self {
            Self::Verify(_) => verify(folder)?,
            Self::Repair(_) => repair(folder)?,
        };
        terminal::print(&found)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The ledger's folder, which must be there: a check makes nothing.
fn folder(config: &Config) -> Result<PathBuf, Failure> {
    let data = PathBuf::from(config.text(&keys::DATA));
    let folder = server::ledger_folder(&data);
    if folder.join("ledger.log").is_file() {
        return Ok(folder);
    }
    let message = format!("no node has kept a ledger in \"{}\"", data.display());
    Err(Failure::new(Kind::NotFound, message).with_hint("name its data folder with --data DIR"))
}

fn verify(folder: PathBuf) -> anyhow::Result<String> {
    let (ledger, recovery) = Ledger::open(&folder)?;
    let verified = ledger.verify()?;
    let cut = recovery.cut.map(|cut| format!("\n{}", describe(&cut))).unwrap_or_default();
    let (entries, policies) = (verified.entries, verified.policies);
    Ok(format!(
        "the ledger is whole: entries {entries}, policies {policies}, head {}{cut}",
        verified.head
    ))
}

fn repair(folder: PathBuf) -> anyhow::Result<String> {
    let recovery = edgemere_ledger::repair(&folder)?;
    let kept = format!("entries {}, policies {}", recovery.entries, recovery.policies);
    Ok(match &recovery.cut {
        None => format!("nothing to repair: {kept}"),
        Some(cut) => format!("repaired: {kept}\n{}", describe(cut)),
    })
}

fn describe(cut: &Cut) -> String {
    format!(
        "cut {} bytes from line {} on ({}), saved to \"{}\"",
        cut.bytes,
        cut.line,
        cut.reason,
        cut.saved.display()
    )
}
