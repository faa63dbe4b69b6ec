//! `edgemere mcp`: serves agents on stdin and stdout, from a node inside of this process, or with what
//! another one answers (`remote`); and writes it into the files of clients (`install`).

mod install;
mod remote;

use std::process::ExitCode;

use edgemere_tools::agent;

use super::node::options;
use super::node_runtime;
use super::signals::Signals;
use crate::config::{ClientKeys, Config, Entry, Flags, NodeKeys, Source, keys};
use crate::failure::Failure;
use crate::server::{self, Options};
use crate::terminal;

/// Serve agents over MCP on stdin and stdout
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Serve agents on stdin and stdout; MCP clients start this command \
                  themselves.\n\nThe process contains a node with the rows of its data folder, \
                  and stops when stdin ends. Its HTTP and network ports are free ports unless \
                  flags name them.\n\nWith --node, a running node answers the calls, of Edgemere \
                  or of EdgeLake, and this process stores nothing.",
    after_help = "Examples:\n  edgemere mcp --data /var/lib/plant-1\n  edgemere mcp --tools tools.yaml\n  \
                  edgemere mcp --node http://127.0.0.1:32349\n  edgemere mcp install claude"
)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    keys: Flags<NodeKeys>,

    #[command(flatten)]
    node: Flags<ClientKeys>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Install(install::Install),
}

impl Mcp {
    /// The keys of the configuration that flags and the environment give.
    pub(super) fn given(&self) -> Vec<Entry> {
        let own = [self.keys.entries(), self.node.entries()].concat();
        match &self.command {
            Some(Command::Install(install)) => [install.given(), own].concat(),
            None => own,
        }
    }

    /// Whether a node that runs elsewhere answers. The folder of a node of this process counts more than
    /// a node that only the environment names, and beside one that a flag names it makes no sense.
    fn is_elsewhere(&self) -> Result<bool, Failure> {
        let is_flag = |entry: &Entry| matches!(entry.source, Source::Flag(_));
        let has_folder = self.keys.entries().iter().any(|e| e.key == &keys::DATA && is_flag(e));
        let node = self.node.entries().into_iter().next();
        match node {
            Some(node) if has_folder && is_flag(&node) => {
                let message =
                    "--data is the folder of a node in this process, and --node a node elsewhere";
                Err(Failure::input(message).with_hint("leave one of them out"))
            }
            Some(_) if has_folder => {
                terminal::say("note: --data is given: EDGEMERE_NODE is not asked");
                Ok(false)
            }
            node => Ok(node.is_some()),
        }
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        if let Some(Command::Install(install)) = self.command {
            return install.run(config);
        }
        if self.is_elsewhere()? {
            return remote::run(config);
        }
        let options = any_ports(options(config)?, config);
        let runtime = node_runtime()?;
        let result = runtime.block_on(serve(options));
        // Reading stdin cannot be interrupted, and nothing else is left.
        runtime.shutdown_background();
        result
    }
}

/// A node that nobody else is to find needs no certain ports, and several may run at once.
fn any_ports(mut options: Options, config: &Config) -> Options {
    for (key, address) in [(&keys::HTTP, &mut options.http), (&keys::NETWORK, &mut options.network)]
    {
        if config.is_default(key) {
            address.set_port(0);
        }
    }
    options
}

async fn serve(options: Options) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let running = server::start(options).await?;
    let server = running.mcp().server().clone();
    let principal = mcp_serve::Principal::new(agent().name());
    let (stdin, stdout) = (tokio::io::stdin(), tokio::io::stdout());
    let served = tokio::select! {
        served = server.serve_as(principal, stdin, stdout) => served,
        () = signals.any() => Ok(()),
        () = running.node().settings().shutdown.cancelled() => Ok(()),
    };
    running.shutdown();
    running.wait().await?;
    Ok(served.map(|()| ExitCode::SUCCESS)?)
}
