//! `edgemere run`: one command to a node, its reply on stdout.

use std::process::ExitCode;

use super::client_runtime;
use crate::client::{Client, Question};
use crate::config::{self, ClientKeys, Config, Flags, keys};
use crate::failure::Failure;
use crate::terminal;

/// Send one command to a node and print its reply
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Send one command to a node and print its reply: painted on a terminal, as it \
                  came in a pipe.\n\nExit codes: 0 done, 2 wrong input, 3 not found, 4 denied, 5 \
                  conflict, 6 unavailable, 70 a fault of the program or the node.",
    after_help = "Examples:\n  edgemere run 'get status'\n  edgemere run help\n  \
                  edgemere run 'blockchain get operator where company = \"My Company\"'\n  \
                  edgemere run 'get tables where format = json' | jq\n  \
                  edgemere run 'get status' --destination 127.0.0.1:32148"
)]
pub(crate) struct Run {
    /// The command; quotes around it keep the shell from reading it first
    #[arg(required = true, value_name = "COMMAND")]
    command: Vec<String>,

    #[command(flatten)]
    pub(super) keys: Flags<ClientKeys>,

    /// The nodes to run it on, when it is not the one that is asked: addresses or names with commas
    /// between them, a ledger query, or "network" for the operators of the table that it is about
    #[arg(long, value_name = "NODES")]
    destination: Option<String>,

    /// Take the answers of those nodes that answer
    #[arg(long)]
    subset: bool,

    /// How long each of the nodes has to answer
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: Option<u64>,
}

impl Run {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let client = client(config)?;
        let reply = client_runtime()?.block_on(client.ask(&self.question()))?;
        terminal::print_reply(&reply)?;
        Ok(ExitCode::SUCCESS)
    }

    /// What the node is asked.
    pub(super) fn question(self) -> Question {
        Question {
            command: self.command.join(" "),
            destination: self.destination,
            subset: self.subset,
            timeout_s: self.timeout,
            for_programs: !terminal::is_for_people(),
        }
    }
}

/// The way to the node that the configuration names.
pub(super) fn client(config: &Config) -> anyhow::Result<Client> {
    Client::new(config::node_url(config.text(&keys::NODE)).map_err(Failure::input)?)
}
