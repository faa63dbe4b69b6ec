//! The nodes of the demo: a master, operators and, when these have their rows, a query node; started and
//! stopped in order. It
//! knows how nodes are started, and nothing of what they hold.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use edgemere_command::{Kind, Role};
use reqwest::Url;

use super::process::{Place, Process};
use super::progress::Progress;
use super::sample::{COMPANY, SITES};
use crate::client::Client;
use crate::config::{Config, FILE_NAME, keys};
use crate::failure::Failure;

/// Where the query node is when nothing else is there: the node that the command line asks.
const USUAL: [&str; 2] = ["127.0.0.1:32349", "127.0.0.1:32348"];

/// Any free ports.
const FREE: [&str; 2] = ["127.0.0.1:0", "127.0.0.1:0"];

/// How often the nodes are looked at while they run.
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// A node that runs, and the way to it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) client: Client,
}

/// The nodes that there are before anybody can ask: the ledger's, and those that hold rows.
#[derive(Debug)]
pub(super) struct Stores {
    pub(super) master: Node,
    pub(super) operators: Vec<Node>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) stores: Stores,
    pub(super) query: Node,
}

/// The processes that they are.
#[derive(Debug)]
pub(super) struct Processes {
    folder: PathBuf,
    /// What every node is started with.
    args: Vec<String>,
    all: Vec<Process>,
}

impl Processes {
    /// None yet, in a folder.
    pub(super) fn new(folder: &Path, config: &Config) -> anyhow::Result<Self> {
        // The nodes must not find the user's own file.
        let file = folder.join(FILE_NAME);
        std::fs::write(&file, "# The demo gives its nodes everything as flags.\n")
            .with_context(|| format!("cannot write \"{}\"", file.display()))?;
        let mut args = [
            ["--config", FILE_NAME],
            ["--color", "never"],
            ["--company", COMPANY],
            ["--log-format", config.text(&keys::LOG_FORMAT)],
        ]
        .concat();
        args.extend(config.get(&keys::LOG).iter().flat_map(|log| ["--log", log]));
        let args = args.into_iter().map(String::from).collect();
        Ok(Self { folder: folder.into(), args, all: Vec::new() })
    }

    /// Starts the master and the operators, and waits until all are ready.
    pub(super) async fn start(
        &mut self,
        operators: usize,
        progress: &Progress,
    ) -> anyhow::Result<Stores> {
        progress.step("starting the master");
        let mut master = self.spawn("master", Role::Master, FREE, None)?;
        let place = master.ready().await;
        self.all.push(master);
        let master = node("master", place?)?;
        let address = master.place.network.to_string();
        progress.step("starting the operators");
        let mut starting = Vec::new();
        for site in SITES.iter().take(operators) {
            starting.push(self.spawn(site.name, Role::Operator, FREE, Some(&address))?);
        }
        let mut operators = Vec::new();
        for mut process in starting {
            let place = process.ready().await;
            operators.push(node(&process.name, place?)?);
            self.all.push(process);
        }
        Ok(Stores { master, operators })
    }

    /// Starts the query node at its usual ports, or at any free ones when those are taken.
    pub(super) async fn start_query(&mut self, stores: &Stores) -> anyhow::Result<Node> {
        let master = stores.master.place.network.to_string();
        let master = master.as_str();
        let mut process = self.spawn("query", Role::Query, USUAL, Some(master))?;
        let mut place = process.ready().await;
        if place.is_err() && process.has_ended_as(Kind::Unavailable) {
            process = self.spawn("query", Role::Query, FREE, Some(master))?;
            place = process.ready().await;
        }
        self.all.push(process);
        node("query", place?)
    }

    fn spawn(
        &self,
        name: &str,
        role: Role,
        [http, network]: [&str; 2],
        master: Option<&str>,
    ) -> anyhow::Result<Process> {
        let mut args = self.args.clone();
        args.extend(["--http", http, "--network", network].map(String::from));
        args.extend(master.iter().flat_map(|master| ["--master", master]).map(String::from));
        Process::start(&self.folder, name, role, &args)
    }

    /// Waits until a node ends by itself, and says which.
    pub(super) async fn ended(&mut self) -> Failure {
        loop {
            if let Some(failure) = self.all.iter_mut().find_map(Process::failure) {
                return failure;
            }
            tokio::time::sleep(LOOK_PAUSE).await;
        }
    }

    /// Stops the nodes: first who asks, then who is asked, and the master last.
    pub(super) async fn stop(&mut self) {
        for role in [Role::Query, Role::Operator, Role::Master] {
            let mut of_role: Vec<_> = self.all.iter_mut().filter(|p| p.role == role).collect();
            of_role.iter_mut().for_each(|process| process.ask_to_stop());
            for process in of_role {
                process.stopped().await;
            }
        }
    }

    /// Ends the nodes at once.
    pub(super) fn kill(&mut self) {
        self.all.iter_mut().for_each(Process::kill);
    }
}

fn node(name: &str, place: Place) -> anyhow::Result<Node> {
    let url = Url::parse(&format!("http://{}", place.http)).context("a node has no URL")?;
    Ok(Node { name: name.into(), place, client: Client::new(url)? })
}
