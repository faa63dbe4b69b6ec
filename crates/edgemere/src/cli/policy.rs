//! `edgemere policy`: the policies of the network, as a node's copy of the ledger has them.

use std::process::ExitCode;

use clap_serve::{CommandExt as _, Effect};

use super::{client_runtime, run};
use crate::client::Question;
use crate::config::{ClientKeys, Config, Entry, Flags};
use crate::terminal;

/// Show the policies of the network: its tables, operators, clusters and other shared metadata
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print the policies of one type, or all policies
    #[command(effect = Effect::Read)]
    #[command(after_help = "Examples:\n  edgemere policy list\n  edgemere policy list operator")]
    List(List),
    /// Print the policy with an id
    #[command(effect = Effect::Read)]
    Show(Show),
}

#[derive(Debug, clap::Args)]
pub(crate) struct List {
    /// The type of the policies, such as table, operator or cluster [default: all]
    #[arg(value_parser = kind)]
    kind: Option<String>,

    #[command(flatten)]
    keys: Flags<ClientKeys>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The policy's id
    #[arg(value_parser = id)]
    id: String,

    #[command(flatten)]
    keys: Flags<ClientKeys>,
}

impl Command {
    /// The keys of the configuration that flags and the environment give.
    pub(super) fn given(&self) -> Vec<Entry> {
        match self {
            Self::List(list) => list.keys.entries(),
            Self::Show(show) => show.keys.entries(),
        }
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let question = Question { command: self.command(), ..Question::default() };
        let reply = client_runtime()?.block_on(run::client(config)?.ask(&question))?;
        terminal::print_reply(&reply)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The command for the node.
    fn command(&self) -> String {
        match self {
            Self::List(list) => format!("blockchain get {}", list.kind.as_deref().unwrap_or("*")),
            Self::Show(show) => format!("blockchain get * where id = {}", show.id),
        }
    }
}

fn kind(text: &str) -> Result<String, String> {
    let is_kind = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match !text.is_empty() && text.chars().all(is_kind) {
        true => Ok(text.to_owned()),
        false => Err("a kind has letters, digits and _".to_owned()),
    }
}

fn id(text: &str) -> Result<String, String> {
    match !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric()) {
        true => Ok(text.to_owned()),
        false => Err("an id has letters and digits".to_owned()),
    }
}
