//! Runs golden scripts on nodes of this process, which reach each other without sockets. Only queries of
//! the network go over one.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use edgemere_command::results::{self, Answer, Budget};
use edgemere_command::{
    Access, Error as CommandError, Format, Kind, Method, Node, Peers, Principal, Published,
    Rendered, Request, Role, Settings, execute, ingest, sync,
};
use edgemere_ledger::{Changes, Identity, Ledger, Policy, Position};
use edgemere_query::Engine;
use edgemere_query::distributed::{Credentials, Operator, Worker};
use edgemere_service::jobs::{self, Jobs};
use edgemere_storage::decode::Input;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use goldenscript::Context;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

/// The first node's ports; the others' follow.
const NETWORK_PORT: u16 = 33001;
const HTTP_PORT: u16 = 34001;

pub(crate) struct Runner {
    runtime: Runtime,
    network: Arc<Network>,
    nodes: BTreeMap<String, TestNode>,
    stopped: BTreeMap<String, (TempDir, Kinds)>,
    /// Where the last page ended.
    cursor: String,
    /// The ports that differ from run to run, and those that are shown for them.
    ports: BTreeMap<u16, u16>,
    numbers: regex::Regex,
    dates: regex::Regex,
    hashes: regex::Regex,
    ages: regex::Regex,
}

struct TestNode {
    node: Arc<Node>,
    folder: TempDir,
    kind: Kinds,
    /// What its service for queries of the network runs on.
    service: Option<Runtime>,
}

/// What a node is made as.
#[derive(Clone)]
struct Kinds {
    roles: Vec<Role>,
    master: Option<String>,
    index: u16,
    /// The port that it really has, when it serves queries of the network.
    port: Option<u16>,
}

#[derive(goldenscript::Command)]
pub(crate) enum Command {
    Node {
        name: String,
        #[arg(key, optional)]
        roles: String,
        #[arg(key)]
        master: Option<String>,
        /// Whether it answers queries of the network, which it does on a socket.
        #[arg(key, optional)]
        serve: bool,
    },
    /// Brings a node in step with its master.
    Sync(String),
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
    /// Sends a command with a body that brings its variables.
    Assign {
        command: String,
        #[arg(key)]
        body: String,
    },
    /// Takes so many rows of a query, of at most so many bytes, and keeps the rest under a cursor,
    /// which commands name as CURSOR.
    Page {
        command: String,
        rows: usize,
        #[arg(key)]
        bytes: Option<usize>,
    },
    /// Keeps a question, and then asks for all of its rows, as somebody.
    Whole {
        command: String,
        #[arg(key, optional)]
        by: String,
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
            stopped: BTreeMap::new(),
            cursor: String::new(),
            ports: BTreeMap::new(),
            numbers: regex::Regex::new(r" *[0-9][0-9,.]*").unwrap(),
            hashes: regex::Regex::new("[0-9a-f]{64}").unwrap(),
            ages: regex::Regex::new("\"Ledger Age\": [0-9]+").unwrap(),
            dates: regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z").unwrap(),
        };
        runner.start("n1", Role::ALL.to_vec(), None, false);
        runner
    }

    fn start(&mut self, name: &str, roles: Vec<Role>, master: Option<String>, serve: bool) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("scripts")).unwrap();
        let index = u16::try_from(self.nodes.len()).unwrap();
        let address = |name: String| match self.nodes.get(&name) {
            Some(known) => known.node.settings().network.to_string(),
            None => name,
        };
        let kind = Kinds { roles, master: master.map(address), index, port: serve.then_some(0) };
        self.run_node(name, kind, folder);
    }

    fn run_node(&mut self, name: &str, mut kind: Kinds, folder: TempDir) {
        let address = |port| std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
        let listener = kind.port.map(address);
        kind.port = listener.as_ref().map(|listener| listener.local_addr().unwrap().port());
        let node = self.open(name, &kind, folder.path());
        self.ports.extend(kind.port.map(|port| (port, NETWORK_PORT + kind.index)));
        let service = listener.map(|listener| serve(listener, &node));
        self.nodes.insert(name.into(), TestNode { node, folder, kind, service });
    }

    fn open(&self, name: &str, kind: &Kinds, folder: &Path) -> Arc<Node> {
        let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port + kind.index));
        let network =
            kind.port.map_or_else(|| address(NETWORK_PORT), |port| ([127, 0, 0, 1], port).into());
        let (ledger, _) = Ledger::open(folder).unwrap();
        let (engine, _) = Engine::open(&folder.join("rows")).unwrap();
        let node = Node::new(Settings {
            name: name.into(),
            roles: kind.roles.clone(),
            company: "New Company".into(),
            cluster: format!("{name}-cluster"),
            network,
            bind: network,
            http: address(HTTP_PORT),
            master: kind.master.clone(),
            register: kind.master.is_some(),
            ledger_age_max: Duration::from_secs(900),
            data: folder.into(),
            identity: Arc::new(Identity::open(&folder.join("identity.key")).unwrap()),
            ledger,
            engine,
            jobs: Jobs::open(&folder.join("jobs"), jobs::Limits::default()).unwrap(),
            peers: Arc::clone(&self.network) as Arc<dyn Peers>,
            credentials: Arc::clone(&self.network) as Arc<dyn Credentials>,
            shutdown: CancellationToken::new(),
        });
        let network = node.settings().network.to_string();
        self.network.nodes.lock().unwrap().insert(network, Arc::clone(&node));
        node
    }

    /// Forgets a node, so that its ledger is closed and nobody reaches it.
    fn stop(&mut self, name: &str) -> (TempDir, Kinds) {
        let TestNode { node, folder, kind, service } =
            self.nodes.remove(name).expect("no such node");
        if let Some(service) = service {
            // Its sockets are closed when this returns.
            service.shutdown_timeout(Duration::from_secs(10));
        }
        self.network.nodes.lock().unwrap().remove(&node.settings().network.to_string());
        (folder, kind)
    }

    fn restart(&mut self, name: &str) {
        let (folder, kind) = match self.stopped.remove(name) {
            Some(stopped) => stopped,
            None => self.stop(name),
        };
        self.run_node(name, kind, folder);
    }

    /// What a node does on its own: fetches, publishes its own policies, and sends what waits.
    fn sync(&self, name: &str) -> Result<String, Box<dyn Error>> {
        let node = &self.nodes.get(name).ok_or("no such node")?.node;
        let step = async {
            sync::catch_up(node).await?;
            sync::register(node).await?;
            let refused = sync::flush(node).await?;
            let said: Vec<_> = refused.iter().map(|(_, error)| describe(error, "")).collect();
            Ok::<_, CommandError>(said.join("\n"))
        };
        self.runtime.block_on(step).map_err(|error| describe(&error, "").into())
    }

    fn request(&self, text: &str, tags: &BTreeSet<String>) -> Request {
        let is_stranger = tags.contains("stranger");
        let name = if is_stranger { "a stranger" } else { "the tester" };
        let access = match (tags.contains("reader") || is_stranger, tags.contains("writer")) {
            (true, _) => Access::Read,
            (_, true) => Access::Write,
            _ => Access::Admin,
        };
        let method = |tag: &str, method| tags.contains(tag).then_some(method);
        let method = method("get", Method::Get).or(method("post", Method::Post));
        let for_people = method.is_none();
        Request { method, for_people, ..Request::new(text, Principal::new(name, access)) }
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

    fn page(
        &mut self,
        command: &str,
        budget: Budget,
        context: &Context,
    ) -> Result<String, Box<dyn Error>> {
        let name = context.prefix.as_deref().unwrap_or("n1");
        let node = Arc::clone(&self.nodes.get(name).ok_or("no such node")?.node);
        let request = self.request(&command.replace("CURSOR", &self.cursor), &context.tags);
        let page = async {
            let Answer::Rows(mut rows) = results::answer(&node, &request).await.result? else {
                return Ok("no rows".into());
            };
            let columns = rows.columns();
            let columns: Vec<_> =
                columns.iter().map(|one| format!("{} {}", one.name, one.type_name)).collect();
            let page = rows.page(budget).await?;
            let mut said = columns.join(", ");
            page.rows.iter().for_each(|row| said.push_str(&format!("\n{row}")));
            said.push_str(&format!("\nread {}", rows.rows_read()));
            if page.has_more {
                said.push_str(", there are more");
                self.cursor = results::keep_rest(&node, &request.principal, *rows);
            }
            Ok::<_, CommandError>(said)
        };
        let page = self.runtime.block_on(page);
        page.map_err(|error| describe(&error, "").replace(&self.cursor, "CURSOR").into())
    }

    fn whole(&self, command: &str, by: &str, context: &Context) -> Result<String, Box<dyn Error>> {
        let node = &self.nodes.get("n1").ok_or("no such node")?.node;
        let request = self.request(command, &context.tags);
        let id = results::keep_question(node, &request);
        let principal = match by {
            "" => request.principal,
            name => Principal::new(name, Access::Admin),
        };
        let whole = async {
            let whole = results::open(node, &principal, &id, Format::Ndjson).await?;
            whole.into_text().await
        };
        let whole = self.runtime.block_on(whole);
        whole.map_err(|error| describe(&error, "").replace(&id, "ID").into())
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
        said = self.ages.replace_all(&said, "\"Ledger Age\": <AGE>").into_owned();
        for (port, shown) in &self.ports {
            said = said.replace(&port.to_string(), &shown.to_string());
        }
        for (name, TestNode { node, folder, .. }) in &self.nodes {
            said = said.replace(&node.metadata_version(), &format!("<{name} VERSION>"));
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
            Command::Node { name, roles, master, serve } => {
                let roles = roles.split(',').map(|role| role.parse().unwrap());
                self.start(name, roles.collect(), master.clone(), *serve);
                Ok(String::new())
            }
            Command::Sync(name) => self.sync(name),
            Command::Stop(name) => {
                let stopped = self.stop(name);
                self.stopped.insert(name.clone(), stopped);
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
                request.for_people = false;
                self.run_request(&request, context)
            }
            Command::Assign { command, body } => {
                let mut request = self.request(command, &context.tags);
                request.assignments = Some(body.clone());
                self.run_request(&request, context)
            }
            Command::Page { command, rows, bytes } => {
                let budget = Budget { rows: *rows, bytes: bytes.unwrap_or(usize::MAX) };
                self.page(command, budget, context)
            }
            Command::Whole { command, by } => self.whole(command, by, context),
            Command::Run(command) => {
                self.run_request(&self.request(&command.name, &context.tags), context)
            }
        }
    }
}

/// Answers queries of the network.
fn serve(listener: std::net::TcpListener, node: &Arc<Node>) -> Runtime {
    listener.set_nonblocking(true).unwrap();
    let known = Arc::downgrade(node);
    let id = Arc::new(move || sync::operator(known.upgrade()?.as_ref()));
    let worker = Worker::new(id, node.engine().sql(), Arc::new(|_: &_| Ok(())));
    let threads = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    threads.spawn(async move {
        let incoming = TcpIncoming::from(TcpListener::from_std(listener).unwrap());
        let server = Server::builder().add_routes(worker.service());
        server.serve_with_incoming(incoming).await.unwrap();
    });
    threads
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

impl Network {
    fn find(&self, address: &str) -> Result<Arc<Node>, CommandError> {
        let node = self.nodes.lock().unwrap().get(address).cloned();
        let reason = "connection refused".into();
        node.ok_or_else(|| CommandError::PeerUnreachable { address: address.into(), reason })
    }
}

/// An error as it arrives from another node.
fn told(address: &str, error: &CommandError) -> CommandError {
    CommandError::PeerFailed {
        address: address.into(),
        kind: error.kind(),
        code: error.code(),
        message: error.message(),
    }
}

/// Nodes in one process have nothing to prove.
impl Credentials for Network {
    fn headers<'a>(
        &'a self,
        _operator: &'a Operator,
        _is_again: bool,
    ) -> BoxFuture<'a, Result<Vec<(String, String)>, String>> {
        std::future::ready(Ok(Vec::new())).boxed()
    }
}

impl Peers for Network {
    fn call_as<'a>(
        &'a self,
        address: &'a str,
        command: &'a str,
        caller: &'a Principal,
        _timeout: Duration,
    ) -> BoxFuture<'a, Result<Rendered, CommandError>> {
        async move {
            let node = self.find(address)?;
            let peer = Principal::new("a node", Access::Admin);
            let principal = peer.on_behalf_of(Some((caller.name(), caller.access())));
            // As on the network port: the other node has decided who is asked.
            let destination = Some("local".to_owned());
            let request = Request { destination, ..Request::new(command, principal) };
            execute(&node, &request).await.result.map_err(|error| told(address, &error))
        }
        .boxed()
    }

    fn changes<'a>(
        &'a self,
        address: &'a str,
        after: &'a Position,
        _wait: Duration,
    ) -> BoxFuture<'a, Result<Changes, CommandError>> {
        async move {
            let node = self.find(address)?;
            let changes = sync::serve::changes(&node, after.clone(), Duration::ZERO).await;
            changes.map_err(|error| told(address, &error))
        }
        .boxed()
    }

    fn publish<'a>(
        &'a self,
        address: &'a str,
        policies: &'a [Arc<Policy>],
        by: &'a str,
    ) -> BoxFuture<'a, Result<Published, CommandError>> {
        async move {
            let node = self.find(address)?;
            let policies = policies.iter().map(|policy| Policy::clone(policy)).collect();
            let taken = sync::serve::take(&node, policies, Some(by.to_owned())).await;
            let taken = taken.map_err(|error| told(address, &error))?;
            let answers = taken.into_iter().map(|answer| match answer {
                Ok(policy) => Ok(Policy::clone(&policy)),
                Err(error) => Err(told(address, &error)),
            });
            Ok(Published { answers: answers.collect(), end: node.ledger().end() })
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
