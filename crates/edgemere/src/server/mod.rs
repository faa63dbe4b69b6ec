//! A running node: the ledger opened, the two ports bound, everything wired together, and all of
//! it closed again in order.

mod auth;
mod bodies;
mod execute;
mod files;
mod hosts;
pub(crate) mod http;
mod listen;
pub(crate) mod mcp;
mod metrics;
mod network;
mod peers;
mod private;
mod reply;
mod serve;
mod state;
mod tracked;
mod visitor;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use edgemere_command::{Access, Kind, Node, Role, Settings, announce, sync};
use edgemere_ledger::{Error as LedgerError, Identity, Ledger, Recovery};
use edgemere_query::{Engine, sql};
use edgemere_service::Error as ServiceError;
use edgemere_service::jobs::{self, Jobs};
use edgemere_storage::storage;
use edgemere_tools::Origin;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::config::machine;

use self::auth::Guard;
pub(crate) use self::auth::{BadKey, NetworkKey, NoKey};
use self::bodies::Bodies;
use self::hosts::Hosts;
pub(crate) use self::listen::{CannotListen, NoAddress, NotLoopback};
use self::mcp::Mcp;
use self::peers::HttpPeers;
pub(crate) use self::reply::{ASKED_HEADER, MISSING_HEADER};
use self::serve::{Patience, Port, serve};
use self::state::{Doors, State};

/// How long open requests have to end when the node stops.
const DRAIN_MAX: Duration = Duration::from_secs(5);

/// How long a node that stops tries to tell the master how far its rows are.
const TELL_MAX: Duration = Duration::from_secs(1);

/// How many connections a port may have. Every node that follows a master has one open.
const CONNECTIONS_MAX: usize = 10_000;

/// A port has no more connections than there is so much of the machine's memory for each: a connection
/// can have half a megabyte of headers before it is refused.
const HTTP_CONNECTION_BYTES: u64 = 8 << 20;
const NETWORK_CONNECTION_BYTES: u64 = 2 << 20;

/// Makes the tools beside those of the file, for a node that is reached at this address.
pub(crate) type Beside = fn(SocketAddr, Access) -> Result<clap_serve::Tools, clap_serve::Error>;

/// What a node is started with.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    /// The node's name.
    pub(crate) name: String,
    /// Its roles.
    pub(crate) roles: Vec<Role>,
    /// The folder of its data.
    pub(crate) data: PathBuf,
    /// Where REST is served.
    pub(crate) http: SocketAddr,
    /// Where other nodes are served.
    pub(crate) network: SocketAddr,
    /// Where they reach it, when that is another address.
    pub(crate) advertise: Option<SocketAddr>,
    /// The network key, or the file that it is in.
    pub(crate) network_key: Option<String>,
    /// The company that it belongs to.
    pub(crate) company: String,
    /// The cluster that its data belongs to.
    pub(crate) cluster: String,
    /// The master's network address, when it is another node.
    pub(crate) master: Option<String>,
    /// Whether it adds its own policies to the ledger.
    pub(crate) register: bool,
    /// The origins whose pages may ask the HTTP port, beside its own.
    pub(crate) allow_origins: Vec<String>,
    /// The names under which the node is reached, beside its addresses.
    pub(crate) allow_hosts: Vec<String>,
    /// What callers of the REST service may do.
    pub(crate) access: Access,
    /// What agents may do.
    pub(crate) agent_access: Access,
    /// What agents may use.
    pub(crate) agents: mcp_serve::Limits,
    /// The tools for agents.
    pub(crate) tools: Origin,
    /// Tools for agents that come from elsewhere.
    pub(crate) beside: Option<Beside>,
    /// The memory of requests' bodies and of what is made of them, in bytes.
    pub(crate) body_memory: u64,
    /// How its rows are kept.
    pub(crate) storage: storage::Options,
    /// What queries may use.
    pub(crate) limits: sql::Limits,
    /// What queries may use whose rows are kept.
    pub(crate) jobs: jobs::Limits,
    /// How old the copy of the ledger may be for an answer to be called complete.
    pub(crate) ledger_age_max: Duration,
}

/// A file of tools that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the file of tools is not right:\n{0}")]
pub(crate) struct BadTools(pub(crate) edgemere_tools::Problems);

/// A node that runs.
#[derive(Debug)]
pub(crate) struct Running {
    node: Arc<Node>,
    mcp: Mcp,
    services: Vec<JoinHandle<std::io::Result<()>>>,
}

/// Starts a node. When this returns it is ready, and `node.json` in its folder says where.
pub(crate) async fn start(options: Options) -> anyhow::Result<Running> {
    let http_listener = listen::http(options.http).await?;
    let network_listener = listen::network(options.network).await?;
    let bind = network_listener.local_addr()?;
    let network =
        listen::advertised(options.network, bind, options.advertise, options.master.as_deref())
            .await?;
    let is_master = options.roles.contains(&Role::Master);
    let given = options.network_key.as_deref();
    let key = NetworkKey::find(given, &options.data, options.network, is_master)?;
    private::prepare(&options.data)
        .with_context(|| format!("cannot create the data folder \"{}\"", options.data.display()))?;
    let (ledger, recovery) = open_ledger(&options.data).await?;
    tracing::debug!(?recovery, "ledger opened");
    let identity = Arc::new(Identity::open(&options.data.join("identity.key"))?);
    let engine = open_engine(&options.data, options.storage, options.limits).await?;
    let jobs = Jobs::open(&engine.storage().folder().join("jobs"), options.jobs)?;
    let shutdown = CancellationToken::new();
    let peers = Arc::new(HttpPeers::new(key.clone())?);
    let node = Node::new(Settings {
        name: options.name,
        roles: options.roles,
        company: options.company,
        cluster: options.cluster,
        network,
        bind,
        http: http_listener.local_addr()?,
        master: options.master,
        register: options.register,
        ledger_age_max: options.ledger_age_max,
        data: options.data,
        identity,
        ledger,
        engine,
        jobs,
        credentials: Arc::clone(&peers) as _,
        peers,
        shutdown: shutdown.clone(),
    });
    sync::found(&node).await.context("cannot be the network's master")?;
    begin_epoch(&node).await;
    let has_joined = join(&node).await?;
    let doors = Doors {
        access: options.access,
        agent_access: options.agent_access,
        peer_access: peer_access(key.as_ref(), options.access),
        pages: pages(&options.allow_origins, &options.allow_hosts),
        bodies: Arc::new(Bodies::new(bodies::Limits::of(options.body_memory))),
    };
    let state = State::new(Arc::clone(&node), doors);
    let beside = options.beside.map(|beside| beside(node.settings().http, options.agent_access));
    let beside = beside.transpose()?;
    let mcp = Mcp::start(&state, options.agents, options.tools, beside).await.map_err(BadTools)?;
    let hosts = Hosts::new(node.settings().network, &options.allow_hosts);
    let guard = Arc::new(Guard::new(key, hosts, Arc::clone(&state.bodies))?);
    let (http, network) = ports(state, &mcp, guard);
    let mut services = vec![
        tokio::spawn(serve(http_listener, http, shutdown.clone())),
        tokio::spawn(serve(network_listener, network, shutdown.clone())),
        tokio::spawn(mcp.clone().run(shutdown)),
    ];
    services.extend(upkeep(&node, has_joined));
    write_node_file(&node)?;
    // What was made until now by those who do not say who may read it.
    private::finish(&node.settings().data)?;
    Ok(Running { node, mcp, services })
}

/// What the node does by itself for as long as it runs: it stays in step with its master, and
/// announces what it stores.
fn upkeep(node: &Arc<Node>, has_joined: bool) -> Vec<JoinHandle<std::io::Result<()>>> {
    let mut tasks = Vec::new();
    if node.follows().is_some() {
        let node = Arc::clone(node);
        tasks.push(tokio::spawn(async move {
            sync::run(node, has_joined).await;
            Ok(())
        }));
    }
    let node = Arc::clone(node);
    tasks.push(tokio::spawn(async move {
        announce::run(node).await;
        Ok(())
    }));
    tasks
}

/// How many connections there may be, with so much memory for each.
fn connections(bytes: u64) -> usize {
    usize::try_from(machine::memory() / bytes).map_or(CONNECTIONS_MAX, |n| n.min(CONNECTIONS_MAX))
}

/// The two ports. Each has only a part of the files that the process may open: the rest is for rows,
/// the ledger and what the node itself asks of others.
fn ports(state: Arc<State>, mcp: &Mcp, guard: Arc<Guard>) -> (Port, Port) {
    let http = Port {
        name: "http",
        router: http::router(&state, mcp),
        connections_max: files::connections_max(connections(HTTP_CONNECTION_BYTES), 4),
        patience: Patience::OPEN,
        permits: Some(Arc::clone(&state.commands)),
    };
    let network = Port {
        name: "network",
        router: network::router(state, guard),
        connections_max: files::connections_max(connections(NETWORK_CONNECTION_BYTES), 2),
        patience: Patience::GUARDED,
        permits: None,
    };
    (http, network)
}

impl Running {
    /// The node.
    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// What agents are served with.
    pub(crate) fn mcp(&self) -> &Mcp {
        &self.mcp
    }

    /// Where REST is served.
    pub(crate) fn http(&self) -> SocketAddr {
        self.node.settings().http
    }

    /// Where other nodes are served.
    pub(crate) fn network(&self) -> SocketAddr {
        self.node.settings().network
    }

    /// Asks the node to stop.
    pub(crate) fn shutdown(&self) {
        self.node.settings().shutdown.cancel();
    }

    /// Waits until the node was asked to stop and has stopped.
    pub(crate) async fn wait(self) -> anyhow::Result<()> {
        self.node.settings().shutdown.cancelled().await;
        let file = node_file(&self.node.settings().data);
        for service in self.services {
            let abort = service.abort_handle();
            match tokio::time::timeout(DRAIN_MAX, service).await {
                Ok(ended) => ended.context("a service failed")??,
                Err(_) => {
                    tracing::warn!("requests were still open and are cut off");
                    abort.abort();
                }
            }
        }
        self.node.jobs().close().await;
        tell_position(&self.node).await;
        self.node.seen().flush();
        if let Err(error) = self.node.engine().storage().close().await {
            tracing::warn!(%error, "the rows could not be closed");
        }
        if let Err(error) = std::fs::remove_file(&file) {
            tracing::warn!(file = %file.display(), %error, "cannot remove the node's file");
        }
        Ok(())
    }
}

/// What other nodes may do: everything when they prove to be of the network. Without a key nobody
/// proves anything, and a peer is a local process like any other.
fn peer_access(key: Option<&NetworkKey>, access: Access) -> Access {
    match key {
        Some(_) => Access::Admin,
        None => access,
    }
}

/// Which hosts and pages the HTTP port serves.
fn pages(origins: &[String], hosts: &[String]) -> mcp_serve::AllowedOrigins {
    let pages = mcp_serve::AllowedOrigins::loopback();
    let pages = hosts.iter().fold(pages, |pages, host| pages.host(host));
    origins.iter().fold(pages, |pages, origin| pages.origin(origin))
}

/// Begins an epoch of the rows, by which everybody tells this folder from a copy that is taken of it before.
/// On a full disk it is left out: the node goes on in the epoch that it was in.
async fn begin_epoch(node: &Arc<Node>) {
    if node.has_role(Role::Operator)
        && let Err(error) = node.engine().storage().begin_epoch().await
    {
        tracing::warn!(%error, "a copy of the rows from before this start may not be known as one");
    }
}

/// Says in the ledger how far the rows are, so that an older copy of them is known as one.
async fn tell_position(node: &Arc<Node>) {
    let tell = async {
        sync::publish_position(node).await?;
        sync::flush(node).await.map(drop)
    };
    match tokio::time::timeout(TELL_MAX, tell).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(reason = error.message(), "the position is not told"),
        Err(_) => tracing::debug!("the position is not told: the master does not answer"),
    }
}

async fn open_ledger(data: &Path) -> anyhow::Result<(Ledger, Recovery)> {
    let folder = ledger_folder(data);
    std::fs::create_dir_all(data.join("scripts"))
        .with_context(|| format!("cannot create the data folder \"{}\"", data.display()))?;
    Ok(tokio::task::spawn_blocking(move || Ledger::open(&folder)).await??)
}

async fn open_engine(
    data: &Path,
    options: storage::Options,
    limits: sql::Limits,
) -> anyhow::Result<Engine> {
    let folder = rows_folder(data);
    let opened = move || Engine::open_with(&folder, options, limits);
    let (engine, recovery) =
        tokio::task::spawn_blocking(opened).await?.context("cannot open the rows")?;
    for damaged in &recovery.damaged {
        tracing::error!(file = %damaged.path.display(), reason = damaged.reason, "a file is damaged");
    }
    tracing::debug!(?recovery, "rows opened");
    Ok(engine)
}

/// Fetches the master's ledger, where there is a master and it answers, and adds the node's own
/// policies. Says whether the node is in step. A master that is not there stops nobody; one that
/// refuses the node does.
async fn join(node: &Arc<Node>) -> anyhow::Result<bool> {
    let has_joined = match (node.follows(), sync::catch_up(node).await) {
        (None, _) | (_, Ok(())) => true,
        (_, Err(error)) if error.kind() == Kind::Unavailable => false,
        // The node goes on with the copy that it has, and says so.
        (
            _,
            Err(edgemere_command::Error::Service(ServiceError::Ledger(
                LedgerError::HistoryRefused { .. },
            ))),
        ) => false,
        (_, Err(error)) => {
            return Err(anyhow::Error::new(error).context("cannot join the network"));
        }
    };
    sync::register(node).await.context("cannot add the node's own policies to the ledger")?;
    if has_joined && let Err(error) = sync::flush(node).await {
        tracing::warn!(reason = error.message(), "the node's own policies wait for the master");
    }
    Ok(has_joined)
}

/// Says to other processes where the node is; the file is whole whenever it is there.
fn write_node_file(node: &Node) -> anyhow::Result<()> {
    let settings = node.settings();
    let file = node_file(&settings.data);
    let about = json!({
        "name": node.name(),
        "http": settings.http.to_string(),
        "network": settings.network.to_string(),
        "pid": std::process::id(),
        "version": edgemere_command::VERSION,
    });
    let temporary = file.with_extension("json.new");
    std::fs::write(&temporary, format!("{about:#}\n"))
        .and_then(|()| std::fs::rename(&temporary, &file))
        .with_context(|| format!("cannot write \"{}\"", file.display()))
}

/// Where a node with this data folder keeps its rows.
pub(crate) fn rows_folder(data: &Path) -> PathBuf {
    data.join("rows")
}

/// The folder of the ledger in a node's data.
pub(crate) fn ledger_folder(data: &Path) -> PathBuf {
    data.join("ledger")
}

/// Where a node says where it is.
pub(crate) fn node_file(data: &Path) -> PathBuf {
    data.join("node.json")
}
