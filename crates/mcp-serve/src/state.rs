//! The state that all transports share: the published catalog, sessions, limits and counters.

use std::{sync::Arc, time::Duration};

use parking_lot::{Mutex, RwLock};
use rmcp::model::{
    Implementation, PromptsCapability, RequestStateCodec, ResourcesCapability, ServerCapabilities,
    ServerConfig, TASKS_EXTENSION_ID, ToolsCapability,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

#[cfg(feature = "tasks")]
use crate::tasks::Tasks;
use crate::{
    Catalog, Identity, Limits, Metrics, metrics::Counters, notifier::Notifier,
    published::PublishedCatalog, quota::Quota, session::Sessions, wire,
};

/// How long active calls may take to end when the server closes.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// The length of the key that seals cursors and elicitation state.
const KEY_BYTES: usize = 32;

/// The key of the server's identity in the `_meta` of a result.
const SERVER_INFO_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// The state that all transports share.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) identity: Identity,
    /// The identity as `initialize` sends it.
    implementation: Implementation,
    /// The identity as an entry of a result's `_meta`.
    pub(crate) server_info: (String, Value),
    pub(crate) limits: Limits,
    pub(crate) counters: Arc<Counters>,
    pub(crate) notifier: Arc<Notifier>,
    pub(crate) quota: Arc<Quota>,
    pub(crate) sessions: Arc<Sessions>,
    #[cfg(feature = "tasks")]
    pub(crate) tasks: Arc<Tasks>,
    /// Seals the cursors and the state that clients hold for us. The key is random per process, so
    /// a restart invalidates them.
    pub(crate) seal: RequestStateCodec,
    /// Cancelled when the server closes.
    pub(crate) closing: CancellationToken,
    catalog: RwLock<Arc<PublishedCatalog>>,
    publishing: Mutex<()>,
    calls_open: watch::Sender<u64>,
}

/// Counts a call as active until it is dropped.
#[derive(Debug)]
pub(crate) struct ActiveCall<'a>(&'a ServerState);

impl ServerState {
    pub(crate) fn new(identity: Identity, limits: Limits) -> Self {
        let (counters, notifier) = (Arc::<Counters>::default(), Arc::<Notifier>::default());
        let closing = CancellationToken::new();
        let implementation = wire::implementation(&identity);
        // Every result carries the server's identity, so it is kept short.
        let short = Identity {
            title: identity.title.clone(),
            ..Identity::new(&identity.name, &identity.version)
        };
        let server_info = serde_json::to_value(wire::implementation(&short)).unwrap_or_default();
        Self {
            implementation,
            server_info: (SERVER_INFO_KEY.to_owned(), server_info),
            identity,
            quota: Quota::new(&limits),
            #[cfg(feature = "tasks")]
            tasks: Tasks::new(&limits),
            sessions: Sessions::new(
                limits.clone(),
                counters.clone(),
                notifier.clone(),
                closing.clone(),
            ),
            limits,
            counters,
            notifier,
            seal: RequestStateCodec::new_unchecked(random_key()),
            closing,
            catalog: RwLock::new(Arc::new(PublishedCatalog::new(0, Catalog::new()))),
            publishing: Mutex::default(),
            calls_open: watch::Sender::new(0),
        }
    }

    /// The published catalog.
    pub(crate) fn catalog(&self) -> Arc<PublishedCatalog> {
        self.catalog.read().clone()
    }

    /// Publishes another catalog and notifies clients of the lists that differ.
    pub(crate) fn publish(&self, catalog: Catalog) {
        let one_at_a_time = self.publishing.lock();
        let old = self.catalog();
        let new = Arc::new(PublishedCatalog::new(old.generation + 1, catalog));
        let changes = new.differs(&old);
        *self.catalog.write() = new.clone();
        self.notifier.set_sources(new.resources.clone());
        drop(one_at_a_time);
        changes.iter().for_each(|change| self.notifier.notify(change));
    }

    /// The server's description for a client of this toolset, or of all tools.
    pub(crate) fn config(&self, toolset: Option<&str>) -> ServerConfig {
        let mut config = ServerConfig::new(self.capabilities());
        config.server_info = self.implementation.clone();
        let own = || self.identity.instructions.clone();
        config.instructions = self.catalog().instructions(toolset).or_else(own);
        config
    }

    /// The server's capabilities. Tools are always among them: the next catalog may have some.
    fn capabilities(&self) -> ServerCapabilities {
        let catalog = self.catalog();
        let mut capabilities = ServerCapabilities::default();
        capabilities.logging = Some(Default::default());
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        capabilities.tools = Some(tools);
        if !catalog.prompts.is_empty() {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            capabilities.prompts = Some(prompts);
        }
        if !catalog.resources.is_empty() {
            let mut resources = ResourcesCapability::default();
            resources.list_changed = Some(true);
            resources.subscribe = Some(true);
            capabilities.resources = Some(resources);
        }
        if cfg!(feature = "tasks") && catalog.has_tasks() {
            let tasks = (TASKS_EXTENSION_ID.to_owned(), Default::default());
            capabilities.extensions = Some([tasks].into_iter().collect());
        }
        if !catalog.completions.is_empty() {
            capabilities.completions = Some(Default::default());
        }
        capabilities
    }

    /// Counts a call as active until the guard is dropped.
    pub(crate) fn active_call(&self) -> ActiveCall<'_> {
        self.calls_open.send_modify(|open| *open += 1);
        ActiveCall(self)
    }

    pub(crate) fn metrics(&self) -> Metrics {
        #[cfg(feature = "tasks")]
        let tasks = self.tasks.len();
        #[cfg(not(feature = "tasks"))]
        let tasks = 0;
        self.counters.snapshot(*self.calls_open.borrow(), self.sessions.len(), tasks)
    }

    /// Closes all sessions and waits until no call is active.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.sessions.close_all();
        let mut open = self.calls_open.subscribe();
        let ended = open.wait_for(|open| *open == 0);
        if tokio::time::timeout(CLOSE_TIME_MAX, ended).await.is_err() {
            tracing::warn!("some calls are still active");
        }
    }
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        self.0.calls_open.send_modify(|open| *open = open.saturating_sub(1));
    }
}

/// A random key. If the system has no random numbers the key is guessable, but then no session can be
/// opened either.
fn random_key() -> Vec<u8> {
    let mut key = vec![0; KEY_BYTES];
    if let Err(error) = getrandom::fill(&mut key) {
        tracing::error!(%error, "the system has no random numbers");
    }
    key
}
