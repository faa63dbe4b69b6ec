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
    long_about = "Send one command to a node and print its reply: with colour on a terminal, \
                  unchanged in a pipe.\n\nExit codes: 0 done, 2 wrong input, 3 not found, 4 \
                  denied, 5 conflict, 6 unavailable, 70 an internal error of the program or the \
                  node.",
    after_help = "Examples:\n  edgemere run 'get status'\n  edgemere run help\n  \
                  edgemere run 'blockchain get operator where company = \"My Company\"'\n  \
                  edgemere run 'get tables where format = json' | jq\n  \
                  edgemere run 'get status' --destination 127.0.0.1:32148"
)]
pub(crate) struct Run {
    /// The command; quote it so that the shell does not interpret it
    #[arg(required = true, value_name = "COMMAND")]
    command: Vec<String>,

    #[command(flatten)]
    pub(super) keys: Flags<ClientKeys>,

    /// The nodes that run the command, if not the one it is sent to: addresses or names separated by
    /// commas, a ledger query, or "network" for the operators that hold the table
    #[arg(long, value_name = "NODES")]
    destination: Option<String>,

    /// Accept the replies of some nodes when others do not answer
    #[arg(long)]
    subset: bool,

    /// How long to wait for each node
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
