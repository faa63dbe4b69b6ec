//! `edgemere ledger`: checks, repairs and changes the ledger of a node that is not running.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap_serve::{CommandExt as _, Effect};
use edgemere_command::Kind;
use edgemere_ledger::{Cut, Ledger, Network};

use crate::config::{Config, DataKeys, Entry, Flags, keys};
use crate::failure::Failure;
use crate::server;
use crate::terminal;

/// Verify, repair or change the ledger of a stopped node
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Verify the hash of every entry of the ledger
    #[command(effect = Effect::Read)]
    Verify(Where),
    /// Truncate a damaged ledger after its last valid entry, and save the rest next to it
    #[command(effect = Effect::Destructive)]
    Repair(Where),
    /// Accept the master's ledger at the next start, whatever it drops from this node's copy
    #[command(effect = Effect::Destructive)]
    Accept(Where),
    /// Make this node's copy the network's ledger; the node can then start as the master
    #[command(effect = Effect::Destructive)]
    Promote(Where),
    /// Remove policies from the ledger by their ids
    #[command(effect = Effect::Destructive)]
    Drop(Drop),
}

/// Which policies, and where the ledger is.
#[derive(Debug, clap::Args)]
pub(crate) struct Drop {
    /// The ids of the policies
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    #[command(flatten)]
    place: Where,
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
            Self::Verify(place)
            | Self::Repair(place)
            | Self::Accept(place)
            | Self::Promote(place) => place.keys.entries(),
            Self::Drop(drop) => drop.place.keys.entries(),
        }
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let folder = folder(config)?;
        let found = match self {
            Self::Verify(_) => verify(folder)?,
            Self::Repair(_) => repair(folder)?,
            Self::Accept(_) => accept(&folder)?,
            Self::Promote(_) => promote(&folder)?,
            Self::Drop(drop) => take_out(&folder, &drop.ids)?,
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

fn accept(folder: &Path) -> anyhow::Result<String> {
    let (ledger, _) = Ledger::open(folder)?;
    if ledger.position().is_none() && ledger.network().is_none() {
        return Ok("nothing to accept: the node has no ledger of a network yet".into());
    }
    ledger.accept()?;
    let said = "the master's ledger is taken at the next start, whatever it drops; the ledger \
                before is saved beside it then, to ledger.before-N";
    Ok(said.into())
}

fn promote(folder: &Path) -> anyhow::Result<String> {
    let (ledger, _) = Ledger::open(folder)?;
    let Network { id, term } = ledger.promote()?;
    Ok(format!(
        "the ledger is that of network {id} now, term {term}, with {} policies: start the node with \
         --role master,… and without --master, and the others with --master pointing to it",
        ledger.len()
    ))
}

fn take_out(folder: &Path, ids: &[String]) -> anyhow::Result<String> {
    let (ledger, _) = Ledger::open(folder)?;
    let removed = ledger.remove(ids)?;
    ledger.compact()?;
    Ok(format!("{} taken out, {} policies left", removed.len(), ledger.len()))
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
