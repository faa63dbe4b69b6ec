//! The node as commands see it: who it is, its ledger, its variables, where it listens. Commands
//! get it in their context; nothing else of the process is theirs.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use edgemere_ledger::{Identity, Ledger, Position, Scope};
use edgemere_query::Engine;
use edgemere_query::distributed::{ConnectTimeouts, Credentials, Seen};
use edgemere_query::sql::Sql;
use edgemere_service::jobs::Jobs;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::announce::Announcer;
use crate::error::Error;
use crate::host::Host;
use crate::peers::Peers;
use crate::placement::Places;
use crate::results::Kept;
use crate::sync::{LedgerAge, Synchronizer};
use crate::variables::Variables;

/// What a node can be to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Keeps the ledger.
    Master,
    /// Holds data.
    Operator,
    /// Answers for the network.
    Query,
}

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::Master, Self::Operator, Self::Query];

    /// The role's name, which is also the type of the policy that declares it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Operator => "operator",
            Self::Query => "query",
        }
    }
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let role = Self::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(text.trim()));
        role.ok_or_else(|| format!("\"{text}\" is none of master, operator, query"))
    }
}

/// What a node is made with.
#[derive(Debug)]
pub struct Settings {
    /// The node's name.
    pub name: String,
    /// Its roles.
    pub roles: Vec<Role>,
    /// The company that it belongs to.
    pub company: String,
    /// The cluster that its data belongs to.
    pub cluster: String,
    /// Where other nodes reach it.
    pub network: SocketAddr,
    /// Where it listens for them, which may be every address of the machine.
    pub bind: SocketAddr,
    /// Where REST reaches it.
    pub http: SocketAddr,
    /// The master's network address, when it is another node.
    pub master: Option<String>,
    /// Whether it adds policies about itself to the ledger.
    pub register: bool,
    /// How old its copy of the ledger may be for an answer of the network to be called complete.
    pub ledger_age_max: Duration,
    /// The folder of its data.
    pub data: PathBuf,
    /// The identity of that folder.
    pub identity: Arc<Identity>,
    /// Its ledger.
    pub ledger: Ledger,
    /// Its rows.
    pub engine: Engine,
    /// The queries whose rows it keeps for a while.
    pub jobs: Jobs,
    /// The way to other nodes.
    pub peers: Arc<dyn Peers>,
    /// What proves to operators that a query comes from a node of their network.
    pub credentials: Arc<dyn Credentials>,
    /// Cancelled when the node is to stop.
    pub shutdown: CancellationToken,
}

/// A node.
pub struct Node {
    name: RwLock<String>,
    settings: Settings,
    pub(crate) variables: Variables,
    pub(crate) host: Host,
    pub(crate) activity: Activity,
    synchronizer: Synchronizer,
    announcer: Announcer,
    /// What is kept of answers for a while.
    pub(crate) kept: Kept,
    /// What else runs beside it, and tells how it is doing.
    processes: RwLock<Vec<(&'static str, Process)>>,
    /// SQL on all operators of the network.
    network_sql: Sql,
    /// How far its operators were when they last answered.
    seen: Seen,
}

/// Tells how something is doing that runs beside the node.
pub type Process = Arc<dyn Fn() -> Details + Send + Sync>;

/// How something is doing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// In a sentence.
    pub text: String,
    /// For programs.
    pub more: Map<String, Value>,
}

/// What the node has done since it started.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(crate) started: Instant,
    pub(crate) started_at: jiff::Timestamp,
    pub(crate) commands: AtomicU64,
    pub(crate) errors: AtomicU64,
    /// The number of commands when the statistics were last asked for.
    pub(crate) commands_seen: AtomicU64,
    /// The REST calls, by caller and method.
    pub(crate) rest_calls: Mutex<BTreeMap<(String, &'static str), RestCalls>>,
}

/// The REST calls of one caller with one method.
#[derive(Clone, Debug)]
pub(crate) struct RestCalls {
    pub(crate) processed: u64,
    pub(crate) errors: u64,
    pub(crate) last_error: String,
    pub(crate) first: jiff::Timestamp,
    pub(crate) last: jiff::Timestamp,
}

/// How many callers' REST calls are counted apart. Those of further callers are counted together.
const REST_CALLERS_MAX: usize = 100;

/// The caller in whose place others are counted.
const OTHER_CALLERS: &str = "others";

impl Node {
    /// A node, with the variables that every node has.
    pub fn new(settings: Settings) -> Arc<Self> {
        let places = Arc::new(Places::new(settings.ledger.clone()));
        let credentials = Arc::clone(&settings.credentials);
        let local = settings.engine.sql();
        let seen = Seen::open(&settings.engine.storage().folder().join("operators.seen"));
        let node = Self {
            network_sql: local
                .on_network(places, credentials, ConnectTimeouts::default())
                .remembering(seen.clone()),
            seen,
            name: RwLock::new(settings.name.clone()),
            synchronizer: Synchronizer::new(&settings.ledger),
            announcer: Announcer::default(),
            kept: Kept::default(),
            processes: RwLock::default(),
            variables: Variables::of_node(),
            host: Host::new(),
            activity: Activity {
                started: Instant::now(),
                started_at: jiff::Timestamp::now(),
                commands: AtomicU64::new(0),
                errors: AtomicU64::new(0),
                commands_seen: AtomicU64::new(0),
                rest_calls: Mutex::default(),
            },
            settings,
        };
        node.declare_variables();
        Arc::new(node)
    }

    fn declare_variables(&self) {
        let Settings { company, cluster, network, http, master, data, .. } = &self.settings;
        let ip = network.ip().to_string();
        let master = master.clone().unwrap_or_else(|| network.to_string());
        let variables = [
            ("node_name", self.settings.name.clone().into()),
            ("node_type", self.node_type().into()),
            ("company_name", company.clone().into()),
            ("cluster_name", cluster.clone().into()),
            ("ip", ip.clone().into()),
            ("external_ip", ip.into()),
            ("tcp_port", network.port().into()),
            ("rest_port", http.port().into()),
            ("master_node", master.into()),
            ("data_dir", data.display().to_string().into()),
            ("local_scripts", self.scripts().display().to_string().into()),
        ];
        for (name, value) in variables {
            // These few small values are within every limit.
            let _ = self.variables.set(name, value);
        }
    }

    /// Shows something in `get processes` that runs beside the node.
    pub fn add_process(&self, name: &'static str, process: Process) {
        self.processes.write().unwrap_or_else(PoisonError::into_inner).push((name, process));
    }

    /// What runs beside the node, and how it is doing.
    pub(crate) fn processes(&self) -> Vec<(&'static str, Details)> {
        let processes = self.processes.read().unwrap_or_else(PoisonError::into_inner).clone();
        processes.into_iter().map(|(name, told)| (name, told())).collect()
    }

    /// The node's name.
    pub fn name(&self) -> String {
        self.name.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The name under which EdgeLake's users know a node: `NAME@IP:PORT`.
    pub fn assigned_name(&self) -> String {
        format!("{}@{}", self.name(), self.settings.network)
    }

    pub(crate) fn rename(&self, name: String) {
        *self.name.write().unwrap_or_else(PoisonError::into_inner) = name.clone();
        let _ = self.variables.set("node_name", name.into());
    }

    /// What the node was made with. Its name may have changed since.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The node's ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.settings.ledger
    }

    /// The node's rows.
    pub fn engine(&self) -> &Engine {
        &self.settings.engine
    }

    /// The queries whose rows the node keeps for a while.
    pub fn jobs(&self) -> &Jobs {
        &self.settings.jobs
    }

    /// Counts a REST call of a caller, and EdgeLake's text of its error where it failed.
    pub fn note_rest_call(&self, caller: &str, method: &'static str, error: Option<&str>) {
        let now = jiff::Timestamp::now();
        let mut calls = self.activity.rest_calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut key = (caller.to_owned(), method);
        if calls.len() >= REST_CALLERS_MAX && !calls.contains_key(&key) {
            key.0 = OTHER_CALLERS.to_owned();
        }
        let counted = calls.entry(key).or_insert_with(|| RestCalls {
            processed: 0,
            errors: 0,
            last_error: String::new(),
            first: now,
            last: now,
        });
        counted.processed += 1;
        counted.last = now;
        if let Some(error) = error {
            counted.errors += 1;
            counted.last_error = error.to_owned();
        }
    }

    /// SQL on all operators of the network.
    pub fn network_sql(&self) -> &Sql {
        &self.network_sql
    }

    /// How far the operators of the network were when they last answered this node.
    pub fn seen(&self) -> &Seen {
        &self.seen
    }

    /// Whether the node has the role.
    pub fn has_role(&self, role: Role) -> bool {
        self.settings.roles.contains(&role)
    }

    /// The master that the node follows; none when it is one itself, or stands alone.
    pub fn follows(&self) -> Option<&str> {
        self.settings.master.as_deref().filter(|_| !self.has_role(Role::Master))
    }

    /// How old the node's copy of the ledger is: how long ago it was last known to be the master's.
    /// None where the node keeps the ledger itself.
    pub fn ledger_age(&self) -> Option<LedgerAge> {
        self.follows()?;
        let since = self.synchronizer.status().in_step_at.unwrap_or(self.activity.started);
        let seconds_max = self.settings.ledger_age_max.as_secs();
        Some(LedgerAge { seconds: since.elapsed().as_secs(), seconds_max })
    }

    /// How far a policy reaches that the node makes for the network.
    pub(crate) fn scope(&self) -> Scope {
        match (self.has_role(Role::Master), self.follows()) {
            (true, _) => Scope::Global,
            (false, Some(_)) => Scope::Pending,
            (false, None) => Scope::Local,
        }
    }

    /// The version of the network's ledger that the node knows: two nodes with the same version
    /// have the same global policies, whatever else is theirs alone.
    pub fn metadata_version(&self) -> String {
        match self.follows() {
            None => self.ledger().version(),
            Some(_) => self.ledger().position().unwrap_or_else(Position::start).version(),
        }
    }

    pub(crate) fn synchronizer(&self) -> &Synchronizer {
        &self.synchronizer
    }

    pub(crate) fn announcer(&self) -> &Announcer {
        &self.announcer
    }

    /// Reads or changes the ledger where waiting for the disk holds up nobody else.
    pub(crate) async fn change_ledger<T, E>(
        &self,
        change: impl FnOnce(&Ledger) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        E: Send + 'static,
        Error: From<E>,
    {
        let ledger = self.ledger().clone();
        let changed = tokio::task::spawn_blocking(move || change(&ledger)).await;
        let failed = |error| Error::Internal { what: "the ledger's thread failed", source: error };
        Ok(changed.map_err(|error| failed(Box::new(error)))??)
    }

    /// The roles, as one word.
    pub(crate) fn node_type(&self) -> String {
        let names: Vec<_> = self.settings.roles.iter().map(|role| role.name()).collect();
        names.join(",")
    }

    /// The folder of the scripts that `process` may run.
    pub fn scripts(&self) -> PathBuf {
        self.settings.data.join("scripts")
    }

    /// How many commands the node has run, and how many of them failed.
    pub fn commands_run(&self) -> (u64, u64) {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.activity.commands), count(&self.activity.errors))
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Node").field("name", &self.name()).finish_non_exhaustive()
    }
}
