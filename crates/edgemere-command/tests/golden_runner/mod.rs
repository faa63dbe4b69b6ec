//! Runs golden scripts on nodes of this process, which reach each other without sockets.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use edgemere_command::{
    Access, Error as CommandError, Kind, Method, Node, Peers, Principal, Rendered, Request, Role,
    Settings, execute, ingest,
};
use edgemere_engine::Engine;
use edgemere_engine::ingest::Input;
use edgemere_ledger::Ledger;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use goldenscript::Context;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The first node's ports; the others' follow.
const NETWORK_PORT: u16 = 33001;
const HTTP_PORT: u16 = 34001;

pub(crate) struct Runner {
    runtime: tokio::runtime::Runtime,
    network: Arc<Network>,
    nodes: BTreeMap<String, TestNode>,
    numbers: regex::Regex,
    dates: regex::Regex,
    hashes: regex::Regex,
}

struct TestNode {
    node: Arc<Node>,
    folder: TempDir,
    roles: Vec<Role>,
    index: u16,
}

#[derive(goldenscript::Command)]
pub(crate) enum Command {
    Node {
        name: String,
        #[arg(key, optional)]
        roles: String,
    },
    Stop(String),
    Restart(String),
    File {
        name: String,
        text: String,
    },
    /// Stores rows: JSON, or CSV when it does not begin with a bracket.
    Put {
        table: String,
        rows: String,
    },
    Send {
        command: String,
        #[arg(key)]
        destination: Option<String>,
        #[arg(key, optional)]
        subset: bool,
    },
    #[command(other)]
    Run(goldenscript::Command),
}

impl Runner {
    pub(crate) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut runner = Self {
            runtime,
            network: Arc::default(),
            nodes: BTreeMap::new(),
            numbers: regex::Regex::new(r" *[0-9][0-9,.]*").unwrap(),
            hashes: regex::Regex::new("[0-9a-f]{64}").unwrap(),
            dates: regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z").unwrap(),
        };
        runner.start("n1", Role::ALL.to_vec());
        runner
    }

    fn start(&mut self, name: &str, roles: Vec<Role>) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("scripts")).unwrap();
        let index = u16::try_from(self.nodes.len()).unwrap();
        let node = self.open(name, &roles, folder.path(), index);
        self.nodes.insert(name.into(), TestNode { node, folder, roles, index });
    }

    fn open(&self, name: &str, roles: &[Role], folder: &Path, index: u16) -> Arc<Node> {
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port + index));
        let (ledger, _) = Ledger::open(folder).unwrap();
        let (engine, _) = Engine::open(&folder.join("rows")).unwrap();
        let node = Node::new(Settings {
            name: name.into(),
            roles: roles.to_vec(),
            company: "New Company".into(),
            cluster: format!("{name}-cluster"),
            network: address(NETWORK_PORT),
            http: address(HTTP_PORT),
            master: None,
            data: folder.into(),
            ledger,
            engine,
            peers: Arc::clone(&self.network) as Arc<dyn Peers>,
            shutdown: CancellationToken::new(),
        });
        let network = node.settings().network.to_string();
        self.network.nodes.lock().unwrap().insert(network, Arc::clone(&node));
        node
    }

    /// Forgets a node, so that its ledger is closed and nobody reaches it.
    fn stop(&mut self, name: &str) -> (TempDir, Vec<Role>, u16) {
        let TestNode { node, folder, roles, index } =
            self.nodes.remove(name).expect("no such node");
        self.network.nodes.lock().unwrap().remove(&node.settings().network.to_string());
        (folder, roles, index)
    }

    fn restart(&mut self, name: &str) {
        let (folder, roles, index) = self.stop(name);
        let node = self.open(name, &roles, folder.path(), index);
        self.nodes.insert(name.into(), TestNode { node, folder, roles, index });
    }

    fn request(&self, text: &str, tags: &BTreeSet<String>) -> Request {
        let access = match (tags.contains("reader"), tags.contains("writer")) {
            (true, _) => Access::Read,
            (_, true) => Access::Write,
            _ => Access::Admin,
        };
        let method = |tag: &str, method| tags.contains(tag).then_some(method);
        let method = method("get", Method::Get).or(method("post", Method::Post));
        Request { method, ..Request::new(text, Principal::new("the tester", access)) }
    }

    fn run_request(&self, request: &Request, context: &Context) -> Result<String, Box<dyn Error>> {
        let name = context.prefix.as_deref().unwrap_or("n1");
        let node = &self.nodes.get(name).ok_or("no such node")?.node;
        let result =
            self.runtime.block_on(async { execute(node, request).await.result?.into_text().await });
        let said = match &result {
            Ok(text) => text.clone(),
            Err(error) => describe(error, &request.command),
        };
        let said = self.masked(&said, context.tags.contains("shape"));
        match result {
            Ok(_) => Ok(said),
            Err(_) => Err(said.into()),
        }
    }

    fn put(&self, table: &str, rows: &str, context: &Context) -> Result<String, Box<dyn Error>> {
        let name = context.prefix.as_deref().unwrap_or("n1");
        let node = &self.nodes.get(name).ok_or("no such node")?.node;
        let (dbms, table) = table.split_once('.').ok_or("no database")?;
        let input = if rows.starts_with(['[', '{']) { Input::Json } else { Input::Csv };
        let put = ingest::put(node, dbms, table, input, rows.as_bytes());
        let put = self.runtime.block_on(put).map_err(|error| describe(&error, ""))?;
        let mut said = format!("stored {}", put.stored);
        for rejected in &put.rejected {
            said.push_str(&format!("\nrejected {rejected:?}"));
        }
        Ok(said)
    }

    /// What differs from run to run is shown by its name.
    fn masked(&self, said: &str, shape: bool) -> String {
        let mut said = self.dates.replace_all(said, "<DATE>").into_owned();
        said = self.hashes.replace_all(&said, "<HASH>").into_owned();
        for (name, TestNode { node, folder, .. }) in &self.nodes {
            said = said.replace(&node.ledger().version(), &format!("<{name} VERSION>"));
            said = said.replace(&folder.path().display().to_string(), &format!("<{name} DATA>"));
        }
        match shape {
            true => self.numbers.replace_all(&said, "N").replace("-N", "N"),
            false => said,
        }
    }
}

impl goldenscript::Runner for Runner {
    type Command = Command;

    fn run(&mut self, command: &Command, context: &Context) -> Result<String, Box<dyn Error>> {
        match command {
            Command::Node { name, roles } => {
                let roles = roles.split(',').map(|role| role.parse().unwrap());
                let roles = roles.collect();
                self.start(name, roles);
                Ok(String::new())
            }
            Command::Stop(name) => {
                self.stop(name);
                Ok(String::new())
            }
            Command::Restart(name) => {
                self.restart(name);
                Ok(String::new())
            }
            Command::File { name, text } => {
                let folder = self.nodes.get("n1").unwrap().node.scripts();
                std::fs::write(folder.join(name), text)?;
                Ok(String::new())
            }
            Command::Put { table, rows } => self.put(table, rows, context),
            Command::Send { command, destination, subset } => {
                let mut request = self.request(command, &context.tags);
                request.destination = destination.clone();
                request.subset = *subset;
                self.run_request(&request, context)
            }
            Command::Run(command) => {
                self.run_request(&self.request(&command.name, &context.tags), context)
            }
        }
    }
}

/// An error with everything that is known of it.
fn describe(error: &CommandError, command: &str) -> String {
    let mut said = format!("{:?} {}: {}", error.kind(), error.code(), error.message());
    if let Some(at) = error.at() {
        said.push_str(&format!("\n  {command}\n  {}", " ".repeat(at.start)));
        said.push_str(&"^".repeat(at.len()));
    }
    if let Some(hint) = error.hint() {
        said.push_str(&format!("\n  hint: {hint}"));
    }
    said
}

/// The nodes of this process, by their network addresses.
#[derive(Debug, Default)]
struct Network {
    nodes: Mutex<BTreeMap<String, Arc<Node>>>,
}

impl Peers for Network {
    fn call<'a>(
        &'a self,
        address: &'a str,
        command: &'a str,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<Rendered, CommandError>> {
        async move {
            let node = self.nodes.lock().unwrap().get(address).cloned();
            let Some(node) = node else {
                let reason = "connection refused".into();
                return Err(CommandError::PeerUnreachable { address: address.into(), reason });
            };
            let request = Request::new(command, Principal::new("a node", Access::Admin));
            execute(&node, &request).await.result.map_err(|error| CommandError::PeerFailed {
                address: address.into(),
                kind: error.kind(),
                code: error.code(),
                message: error.message(),
            })
        }
        .boxed()
    }

    fn rest_status<'a>(
        &'a self,
        address: &'a str,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<String, CommandError>> {
        async move {
            let nodes = self.nodes.lock().unwrap();
            let node = nodes.values().find(|node| node.settings().http.to_string() == address);
            match node {
                Some(node) => Ok(format!("{} running", node.assigned_name())),
                None => Err(CommandError::PeerFailed {
                    address: address.into(),
                    kind: Kind::Unavailable,
                    code: edgemere_command::Code { number: 15, text: "Network Error".into() },
                    message: "not there".into(),
                }),
            }
        }
        .boxed()
    }
}
