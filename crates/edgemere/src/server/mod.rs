//! A running node: the ledger opened, the two ports bound, everything wired together, and all of
//! it closed again in order.

mod execute;
mod http;
mod metrics;
mod network;
mod peers;
mod register;
mod reply;
mod state;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::serve::ListenerExt;
use edgemere_command::{Access, Node, Role, Settings};
use edgemere_engine::{Engine, sql, storage};
use edgemere_ledger::{Ledger, Recovery};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::peers::HttpPeers;
use self::state::State;

/// How long open requests have to end when the node stops.
const DRAIN_MAX: Duration = Duration::from_secs(5);

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
    /// The company that it belongs to.
    pub(crate) company: String,
    /// The cluster that its data belongs to.
    pub(crate) cluster: String,
    /// The master's network address, when it is another node.
    pub(crate) master: Option<String>,
    /// Whether it adds its own policies to the ledger.
    pub(crate) register: bool,
    /// What callers of the REST service may do.
    pub(crate) access: Access,
    /// How its rows are kept.
    pub(crate) storage: storage::Options,
    /// What queries may use.
    pub(crate) limits: sql::Limits,
}

/// A node that runs.
#[derive(Debug)]
pub(crate) struct Running {
    node: Arc<Node>,
    services: Vec<JoinHandle<std::io::Result<()>>>,
}

/// An address that only other machines could use, of a node that has no way to tell them apart.
#[derive(Debug, thiserror::Error)]
#[error("the {service} address {address} can be reached from other machines")]
pub(crate) struct NotLoopback {
    service: &'static str,
    address: SocketAddr,
}

/// An address that cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on the {service} address {address}")]
pub(crate) struct CannotListen {
    service: &'static str,
    address: SocketAddr,
    source: std::io::Error,
}

/// Starts a node. When this returns it is ready, and `node.json` in its folder says where.
pub(crate) async fn start(options: Options) -> anyhow::Result<Running> {
    let http_listener = listen("HTTP", options.http).await?;
    let network_listener = listen("network", options.network).await?;
    let (ledger, recovery) = open_ledger(&options.data).await?;
    tracing::debug!(?recovery, "ledger opened");
    let engine = open_engine(&options.data, options.storage, options.limits).await?;
    let shutdown = CancellationToken::new();
    let node = Node::new(Settings {
        name: options.name,
        roles: options.roles,
        company: options.company,
        cluster: options.cluster,
        network: network_listener.local_addr()?,
        http: http_listener.local_addr()?,
        master: options.master,
        data: options.data,
        ledger,
        engine,
        peers: Arc::new(HttpPeers::new()?),
        shutdown: shutdown.clone(),
    });
    if options.register {
        register::register(&node).await?;
    }
    publish_tables(&node).await?;
    let state = State::new(Arc::clone(&node), options.access);
    let services = vec![
        serve(http_listener, http::router(Arc::clone(&state)), shutdown.clone()),
        serve(network_listener, network::router(state), shutdown),
    ];
    write_node_file(&node)?;
    Ok(Running { node, services })
}

impl Running {
    /// The node.
    pub(crate) fn node(&self) -> &Arc<Node> {
        &self.node
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
        if let Err(error) = self.node.engine().storage().close().await {
            tracing::warn!(%error, "the rows could not be closed");
        }
        if let Err(error) = std::fs::remove_file(&file) {
            tracing::warn!(file = %file.display(), %error, "cannot remove the node's file");
        }
        Ok(())
    }
}

async fn listen(service: &'static str, address: SocketAddr) -> anyhow::Result<TcpListener> {
    if !address.ip().is_loopback() {
        return Err(NotLoopback { service, address }.into());
    }
    let listener = TcpListener::bind(address).await;
    Ok(listener.map_err(|source| CannotListen { service, address, source })?)
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
    let folder = data.join("rows");
    let opened = move || Engine::open_with(&folder, options, limits);
    let (engine, recovery) =
        tokio::task::spawn_blocking(opened).await?.context("cannot open the rows")?;
    for damaged in &recovery.damaged {
        tracing::error!(file = %damaged.path.display(), reason = damaged.reason, "a file is damaged");
    }
    tracing::debug!(?recovery, "rows opened");
    Ok(engine)
}

/// Makes up for tables that a crash kept from being published.
async fn publish_tables(node: &Arc<Node>) -> anyhow::Result<()> {
    let node = Arc::clone(node);
    tokio::task::spawn_blocking(move || edgemere_command::ingest::publish_all(&node))
        .await?
        .context("cannot publish the node's tables")
}

fn serve(
    listener: TcpListener,
    router: axum::Router,
    shutdown: CancellationToken,
) -> JoinHandle<std::io::Result<()>> {
    // Without this every small reply waits for the kernel to find more to send.
    let listener = listener.tap_io(|stream: &mut TcpStream| {
        let _ = stream.set_nodelay(true);
    });
    let service = axum::serve(listener, router);
    tokio::spawn(service.with_graceful_shutdown(shutdown.cancelled_owned()).into_future())
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

/// The folder of the ledger in a node's data.
pub(crate) fn ledger_folder(data: &Path) -> PathBuf {
    data.join("ledger")
}

fn node_file(data: &Path) -> PathBuf {
    data.join("node.json")
}
