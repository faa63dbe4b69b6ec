//! What all transports share: the catalog that is offered, the sessions, the limits and the figures.

use std::{
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use rmcp::model::{
    Implementation, PromptsCapability, RequestStateCodec, ResourcesCapability, ServerCapabilities,
    ServerConfig, TASKS_EXTENSION_ID, ToolsCapability,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    Catalog, Figures, Identity, Limits,
    figures::Counters,
    hub::{Change, Hub},
    lock::lock,
    offer::Offer,
    quota::Quota,
    session::Sessions,
    tasks::Tasks,
    wire,
};

/// How long calls have to end when the server does.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);

/// The bytes of the key with which cursors and states are sealed.
const KEY_BYTES: usize = 32;

/// Where the metadata of results has the identity.
const SIGNATURE: &str = "io.modelcontextprotocol/serverInfo";

/// What all transports share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) identity: Identity,
    /// The identity as it is sent.
    implementation: Implementation,
    /// The identity as it stands in the metadata of results.
    pub(crate) signature: (String, Value),
    pub(crate) limits: Limits,
    pub(crate) counters: Arc<Counters>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) quota: Arc<Quota>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) tasks: Arc<Tasks>,
    /// Seals what clients keep for us. Its key is made at the start: what was sealed before is
    /// refused after a restart.
    pub(crate) seal: RequestStateCodec,
    /// Cancelled when the server ends.
    pub(crate) closing: CancellationToken,
    offer: RwLock<Arc<Offer>>,
    offering: Mutex<()>,
    calls_open: watch::Sender<u64>,
}

/// A call that is under way, until it is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay<'a>(&'a Core);

impl Core {
    pub(crate) fn new(identity: Identity, limits: Limits) -> Self {
        let (counters, hub) = (Arc::<Counters>::default(), Arc::<Hub>::default());
        let closing = CancellationToken::new();
        let implementation = wire::implementation(&identity);
        // Every answer has it: only what tells servers apart.
        let signed = Identity {
            title: identity.title.clone(),
            ..Identity::new(&identity.name, &identity.version)
        };
        let signature = serde_json::to_value(wire::implementation(&signed)).unwrap_or_default();
        Self {
            implementation,
            signature: (SIGNATURE.to_owned(), signature),
            identity,
            quota: Quota::new(&limits),
            tasks: Tasks::new(&limits),
            sessions: Sessions::new(limits.clone(), counters.clone(), hub.clone(), closing.clone()),
            limits,
            counters,
            hub,
            seal: RequestStateCodec::new_unchecked(key()),
            closing,
            offer: RwLock::new(Arc::new(Offer::new(0, Catalog::new()))),
            offering: Mutex::default(),
            calls_open: watch::Sender::new(0),
        }
    }

    /// What is offered now.
    pub(crate) fn offer(&self) -> Arc<Offer> {
        self.offer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Offers something else, and tells who wants to know what differs.
    pub(crate) fn replace(&self, catalog: Catalog) {
        let one_at_a_time = lock(&self.offering);
        let old = self.offer();
        let new = Arc::new(Offer::new(old.generation + 1, catalog));
        let changes = new.differs(&old);
        *self.offer.write().unwrap_or_else(PoisonError::into_inner) = new.clone();
        self.hub.sources(new.resources.clone());
        drop(one_at_a_time);
        changes.iter().for_each(|change: &Change| self.hub.tell(change));
    }

    /// What a client of a toolset, or of all tools, is told when it begins.
    pub(crate) fn config(&self, toolset: Option<&str>) -> ServerConfig {
        let mut config = ServerConfig::new(self.capabilities());
        config.server_info = self.implementation.clone();
        let own = || self.identity.instructions.clone();
        config.instructions = self.offer().instructions(toolset).or_else(own);
        config
    }

    /// What is offered now. Tools are always promised: they may come with the next catalog.
    fn capabilities(&self) -> ServerCapabilities {
        let offer = self.offer();
        let mut can = ServerCapabilities::default();
        can.logging = Some(Default::default());
        let mut tools = ToolsCapability::default();
        tools.list_changed = Some(true);
        can.tools = Some(tools);
        if !offer.prompts.is_empty() {
            let mut prompts = PromptsCapability::default();
            prompts.list_changed = Some(true);
            can.prompts = Some(prompts);
        }
        if !offer.resources.is_empty() {
            let mut resources = ResourcesCapability::default();
            resources.list_changed = Some(true);
            resources.subscribe = Some(true);
            can.resources = Some(resources);
        }
        if offer.has_tasks() {
            let tasks = (TASKS_EXTENSION_ID.to_owned(), Default::default());
            can.extensions = Some([tasks].into_iter().collect());
        }
        if !offer.completions.is_empty() {
            can.completions = Some(Default::default());
        }
        can
    }

    /// Notes that a call is under way.
    pub(crate) fn under_way(&self) -> UnderWay<'_> {
        self.calls_open.send_modify(|open| *open += 1);
        UnderWay(self)
    }

    pub(crate) fn figures(&self) -> Figures {
        self.counters.figures(*self.calls_open.borrow(), self.sessions.len(), self.tasks.len())
    }

    /// Ends everything, and waits until nothing is under way.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.sessions.close_all();
        let mut open = self.calls_open.subscribe();
        let ended = open.wait_for(|open| *open == 0);
        if tokio::time::timeout(CLOSE_TIME_MAX, ended).await.is_err() {
            tracing::warn!("calls are still under way");
        }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.calls_open.send_modify(|open| *open = open.saturating_sub(1));
    }
}

/// A key that nobody knows. Without random numbers it would be known: then nothing that is sealed
/// is trusted either, because sessions cannot be opened.
fn key() -> Vec<u8> {
    let mut key = vec![0; KEY_BYTES];
    if let Err(error) = getrandom::fill(&mut key) {
        tracing::error!(%error, "the system has no random numbers");
    }
    key
}
