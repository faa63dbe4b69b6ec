//! `edgemere mcp`: serves agents on stdin and stdout, from a node inside of this process.

use std::process::ExitCode;

use edgemere_tools::agent;

use super::node::options;
use super::node_runtime;
use super::signals::Signals;
use crate::config::{Config, Flags, NodeKeys, keys};
use crate::server::{self, Options};

/// Serve agents on stdin and stdout, as MCP clients start it
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Serve agents on stdin and stdout, as MCP clients start it.\n\nThe node is inside of \
                  this process, with the rows of its data folder, and stops when stdin ends. Its \
                  HTTP and network ports are any free ones unless they are given.",
    after_help = "Examples:\n  edgemere mcp --data /var/lib/plant-1\n  edgemere mcp --tools tools.yaml"
)]
pub(crate) struct Mcp {
    #[command(flatten)]
    pub(super) keys: Flags<NodeKeys>,
}

impl Mcp {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
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
