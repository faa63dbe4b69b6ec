//! `edgemere mcp --node URL`: the tools are served from this process, and a node that runs elsewhere
//! carries them out.

use std::process::ExitCode;

use edgemere_command::{Access, Principal};
use edgemere_tools::{Executor, Live, Offer, Origin, agent, programs_ended};
use mcp_serve::Server;
use tokio_util::sync::CancellationToken;

use crate::cli::client_runtime;
use crate::cli::node::agents;
use crate::cli::signals::Signals;
use crate::config::{self, Config, keys};
use crate::failure::Failure;
use crate::remote;
use crate::server::{BadTools, mcp};

/// Serves until stdin ends.
pub(super) fn run(config: &Config) -> anyhow::Result<ExitCode> {
    let runtime = client_runtime()?;
    let result = runtime.block_on(serve(config));
    // Reading stdin cannot be interrupted, and nothing else is left.
    runtime.shutdown_background();
    result
}

async fn serve(config: &Config) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let url = config::node_url(config.text(&keys::NODE)).map_err(Failure::input)?;
    let access: Access = config.text(&keys::AGENT_ACCESS).parse().map_err(Failure::input)?;
    let executor =
        Executor::new(remote::connect(url).await?, Principal::new(agent().name(), access));
    let server = Server::new(mcp::identity(), agents(config)?);
    let offer = Offer::new(executor, &server);
    let tools = Origin::of(config.get(&keys::TOOLS));
    let live = Live::start(server.clone(), offer, tools).await.map_err(BadTools)?;
    let stop = CancellationToken::new();
    let watching = tokio::spawn(live.watch(stop.clone()));
    let principal = mcp_serve::Principal::new(agent().name());
    let served = tokio::select! {
        served = server.serve_as(principal, tokio::io::stdin(), tokio::io::stdout()) => served,
        () = signals.any() => Ok(()),
    };
    stop.cancel();
    server.close().await;
    programs_ended().await;
    watching.await?;
    Ok(served.map(|()| ExitCode::SUCCESS)?)
}
