//! `edgemere demo`: a node with a sample company in its ledger and a day of its rows, in a folder
//! that is gone when it stops.

mod rows;
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

/// The query that the demo shows the answer of.
const SHOWN: &str = "select device, count(*) as readings, max(temperature) as hottest from pumps \
                     group by device order by hottest desc";

/// Queries to try.
const TRY: [&str; 2] = [
    "select timestamp, device, temperature from pumps where temperature > 80",
    "select increments(hour, 6, timestamp), max(timestamp) as until, avg(litres_per_second) as mean \
     from flow",
];

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
    rows::store(&running).await?;
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
        advertise: None,
        network_key: None,
        company: sample::COMPANY.into(),
        cluster: "demo-cluster".into(),
        master: None,
        register: true,
        access: Access::Admin,
        storage: storage::Options::default(),
        limits: Limits::default(),
    }
}

/// Says what this is and what to try, and shows the answer of a query.
async fn introduce(running: &Running) -> anyhow::Result<()> {
    let http = running.http();
    let policies = running.node().ledger().len();
    let rows = running.node().engine().storage().stats().total.rows;
    let [first, second] =
        TRY.map(|sql| format!("{} sql {} \"{sql}\"{}", program(), sample::DBMS, node_flag(http)));
    terminal::say(&format!(
        "A node with the sample company \"{}\", {policies} policies in its ledger and {rows} rows of the \
         last day is at http://{http}.\nNothing of it is kept. In another terminal, try:\n\n  {first}\n  \
         {second}\n  curl 'http://{http}/?command=get%20status'\n  {}\n  {} shell{}\n\n\
         Here is what it answers to \"{SHOWN}\":\n",
        sample::COMPANY,
        ask(running, "blockchain get operator where name = mill-operator"),
        program(),
        node_flag(http),
    ));
    let options = "format = table and stat = false";
    let command = edgemere_command::sql_command(sample::DBMS, options, SHOWN);
    let principal = Principal::new("the demo", Access::Read);
    let request = Request::new(command, principal);
    let outcome = edgemere_command::execute(running.node(), &request).await;
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
