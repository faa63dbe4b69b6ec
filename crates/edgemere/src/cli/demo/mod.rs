//! `edgemere demo`: a node with a sample company in its ledger, in a folder that is gone when it
//! stops.

mod sample;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use edgemere_command::{Access, Principal, Request, Role};
use edgemere_engine::sql::Limits;
use edgemere_engine::storage;
use edgemere_ledger::Scope;

use super::node::{ask, program};
use super::node_runtime;
use super::signals::Signals;
use crate::client::Answer;
use crate::server::{self, CannotListen, Options, Running};
use crate::terminal;

/// Where the demo is reached, when nothing else is there.
const HTTP_PORT: u16 = 32349;
const NETWORK_PORT: u16 = 32348;

/// The command that the demo shows the answer of.
const SHOWN: &str = "blockchain get device bring.table [*][name] [*][kind] [*][site]";

/// Start a node with a sample company, to look around; nothing of it is kept
#[derive(Debug, clap::Args)]
pub(crate) struct Demo {}

impl Demo {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let runtime = node_runtime()?;
        let result = runtime.block_on(demo());
        runtime.shutdown_background();
        result
    }
}

async fn demo() -> anyhow::Result<ExitCode> {
    let signals = Signals::listen()?;
    let folder = tempfile::Builder::new().prefix("edgemere-demo-").tempdir();
    let folder = folder.context("cannot make a temporary folder")?;
    let running = start(folder.path()).await?;
    let policies = sample::policies()?;
    running.node().ledger().insert_all(policies, Scope::Global)?;
    introduce(&running).await?;
    let code = signals.wait(running).await?;
    folder.close().context("cannot remove the temporary folder")?;
    Ok(code)
}

/// Starts the node at its usual ports, or at any free ones when those are taken.
async fn start(data: &Path) -> anyhow::Result<Running> {
    match server::start(options(data, HTTP_PORT, NETWORK_PORT)).await {
        Err(error) if error.is::<CannotListen>() => server::start(options(data, 0, 0)).await,
        result => result,
    }
}

fn options(data: &Path, http_port: u16, network_port: u16) -> Options {
    Options {
        name: "demo".into(),
        roles: Role::ALL.to_vec(),
        data: data.into(),
        http: SocketAddr::from((Ipv4Addr::LOCALHOST, http_port)),
        network: SocketAddr::from((Ipv4Addr::LOCALHOST, network_port)),
        company: sample::COMPANY.into(),
        cluster: "demo-cluster".into(),
        master: None,
        register: true,
        access: Access::Admin,
        storage: storage::Options::default(),
        limits: Limits::default(),
    }
}

/// Says what this is and what to try, and shows the answer of a command.
async fn introduce(running: &Running) -> anyhow::Result<()> {
    let http = running.http();
    let policies = running.node().ledger().len();
    terminal::say(&format!(
        "A node with the sample company \"{}\" and {policies} policies in its ledger is at \
         http://{http}.\nNothing of it is kept. In another terminal, try:\n\n  \
         curl 'http://{http}/?command=get%20status'\n  {}\n  {}\n  {} shell{}\n\n\
         Here is what it answers to \"{SHOWN}\":\n",
        sample::COMPANY,
        ask(running, "get columns where dbms = water and table = pumps"),
        ask(running, "blockchain get operator where name = mill-operator"),
        program(),
        node_flag(http),
    ));
    let principal = Principal::new("the demo", Access::Read);
    let outcome = edgemere_command::execute(running.node(), &Request::new(SHOWN, principal)).await;
    let rendered = outcome.result?;
    let media = rendered.media;
    terminal::print_reply(&Answer { media, body: rendered.into_text().await? })?;
    terminal::say("\nCtrl-C stops it.");
    Ok(())
}

fn node_flag(http: SocketAddr) -> String {
    match http.port() {
        HTTP_PORT => String::new(),
        _ => format!(" --node {http}"),
    }
}
