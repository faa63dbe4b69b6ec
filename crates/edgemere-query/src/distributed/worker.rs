//! The operator's side: a service that runs tasks of query nodes on this node's own rows. It goes on
//! the node's network port. With `link`, this is where datafusion-distributed is used.
//!
//! A task, top to bottom: every call is checked (version, then who asks); the plan is read; `gate`
//! refuses what this operator does not run; the rows are what they are at that moment, for all tasks
//! of the query; when it is read from, `expand` plans it again and `task` runs it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::{
    CompressionType, DistributedExt, Worker as Service, WorkerPlanRewriteEvent,
    WorkerPlanRewriteEventResponse, WorkerQueryContext,
};
use tonic::metadata::MetadataMap;
use tonic::service::Routes;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Status};

use super::codec::Codec;
use super::fragment::{Fragment, Running};
use super::progress::Progress;
use super::scan::OperatorScan;
use super::snapshot_pin::PinnedSnapshots;
use super::{gate, protocol, replan};
use crate::sql::{Catalog, Missing, Sql};
use edgemere_storage::storage::{History, NotAnEpoch, Reached};

/// How large a plan may be, in bytes.
pub(super) const PLAN_BYTES_MAX: usize = 64 << 20;

/// Decides whether a caller may have tasks run: an error says why not.
pub type Admission = Arc<dyn Fn(&Caller<'_>) -> Result<(), String> + Send + Sync>;

/// What this operator is in the network, once it is known there.
pub type Identity = Arc<dyn Fn() -> Option<Own> + Send + Sync>;

/// What an operator is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Own {
    /// What it is known by in the network.
    pub id: String,
    /// The identity of its data folder.
    pub node: String,
    /// What its storage went through.
    pub history: History,
}

/// Who calls, as far as the call tells.
#[derive(Debug)]
pub struct Caller<'a> {
    headers: &'a MetadataMap,
}

impl Caller<'_> {
    /// A header of the call.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// Runs tasks of query nodes. Clones are the same.
#[derive(Clone)]
pub struct Worker {
    inner: Arc<Inner>,
}

/// What all calls share.
pub(super) struct Inner {
    id: Identity,
    pub(super) sql: Sql,
    admission: Admission,
    pub(super) running: Running,
    /// The rows that the queries under way see, by query.
    queries: Mutex<HashMap<String, Weak<Catalog>>>,
}

impl Worker {
    /// Runs tasks for the operator of this id, on these rows.
    pub fn new(id: Identity, sql: &Sql, admission: Admission) -> Self {
        let inner = Inner {
            id,
            sql: sql.clone(),
            admission,
            running: Running::default(),
            queries: Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// How many tasks run at this moment.
    pub fn running(&self) -> usize {
        self.inner.running.count()
    }

    /// The service, to be served over HTTP/2.
    pub fn service(&self) -> Routes {
        // The service keeps its tasks for a while, and through them itself: it has no hold on rows.
        let inner = Arc::downgrade(&self.inner);
        let session = move |query: WorkerQueryContext| {
            let session = inner.upgrade().map(|inner| inner.session(query));
            async move { session.unwrap_or_else(ended) }
        };
        let service = Service::from_session_builder(session).with_version(protocol::version());
        let service = service.into_worker_server().max_decoding_message_size(PLAN_BYTES_MAX);
        let inner = Arc::clone(&self.inner);
        let check = move |request: Request<()>| inner.check(request);
        let service = PinnedSnapshots::new(service, Arc::clone(&self.inner));
        Routes::new(InterceptedService::new(service, check))
    }
}

impl Inner {
    /// Every call: the version, then who asks.
    fn check(&self, request: Request<()>) -> Result<Request<()>, Status> {
        let caller = Caller { headers: request.metadata() };
        let (own, other) = (protocol::version(), caller.header(protocol::VERSION));
        if other != Some(own.as_str()) {
            let other = other.unwrap_or("none");
            let message = format!("it speaks version {own}, and this node version {other}");
            return Err(Status::failed_precondition(message));
        }
        (self.admission)(&caller).map_err(Status::unauthenticated)?;
        self.check_meant(&caller).map_err(Status::aborted)?;
        Ok(request)
    }

    /// Refuses a query that means another data folder, or this one with rows that it has no more.
    fn check_meant(&self, caller: &Caller<'_>) -> Result<(), String> {
        let Some(own) = (self.id)() else { return Ok(()) };
        if caller.header(protocol::NODE).is_some_and(|node| node != own.node) {
            return Err("its data folder is another one".to_owned());
        }
        for name in [protocol::REACHED, protocol::SEEN] {
            let Some(text) = caller.header(name) else { continue };
            let known: Reached = text.parse().map_err(|error: NotAnEpoch| error.to_string())?;
            if let Some(reason) = own.history.lacks(known) {
                return Err(reason);
            }
        }
        Ok(())
    }

    /// How far this operator's storage is, as its answers tell it.
    pub(super) fn reached(&self) -> Option<Reached> {
        Some((self.id)()?.history.reached())
    }

    /// What a plan is read with: functions by name, our own steps, and the gate.
    fn session(self: &Arc<Self>, mut query: WorkerQueryContext) -> Result<SessionState> {
        let header = |name: &str| query.headers.get(name).and_then(|value| value.to_str().ok());
        let compression = match header(protocol::COMPRESSION) {
            Some(protocol::LZ4) => Some(CompressionType::LZ4_FRAME),
            _ => None,
        };
        let subset = header(protocol::SUBSET) == Some("true");
        let tables = self.tables(header(protocol::QUERY).unwrap_or_default(), subset);
        let (inner, tables) = (Arc::downgrade(self), Arc::downgrade(&tables));
        let accept = move |event: WorkerPlanRewriteEvent<'_>| {
            let Some((inner, tables)) = inner.upgrade().zip(tables.upgrade()) else {
                return ended();
            };
            let task = inner.accept(event, &tables)?;
            Ok(WorkerPlanRewriteEventResponse::new(Arc::new(task)))
        };
        let config = query.builder.config().take().unwrap_or_default();
        let config = config
            .with_distributed_compression(compression)?
            .with_distributed_user_codec(Codec)
            .with_distributed_worker_plan_rewrite_handler(accept);
        Ok(self.sql.reading(config))
    }

    fn accept(
        self: &Arc<Self>,
        event: WorkerPlanRewriteEvent<'_>,
        tables: &Arc<Catalog>,
    ) -> Result<Fragment> {
        let Some(own) = (self.id)() else {
            return plan_err!("this operator is not in the ledger yet");
        };
        gate::check(&event.plan, &own.id)?;
        event.plan.apply(|step| {
            if let Some(scan) = step.downcast_ref::<OperatorScan>() {
                // Taken now: all tasks of a query are given before any rows of it are used.
                if let Some(table) = tables.source(&scan.dbms, &scan.table) {
                    replan::check_types(&scan.schema(), &table.schema())?;
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(Fragment::new(event.plan, tables, self))
    }

    /// The rows that a query sees: the same for all of its tasks, as long as it has any. `subset` is
    /// whether it goes on without those that cannot be read.
    pub(super) fn tables(&self, query: &str, subset: bool) -> Arc<Catalog> {
        let mut queries = self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = queries.get(query).and_then(Weak::upgrade) {
            return known;
        }
        queries.retain(|_, tables| tables.strong_count() > 0);
        let missing = Missing::new(subset, &Progress::default());
        let tables = Arc::new(self.sql.snapshots(missing));
        queries.insert(query.to_owned(), Arc::downgrade(&tables));
        tables
    }
}

/// What is reported to a call whose query is over already.
pub(super) fn ended<T>() -> Result<T> {
    exec_err!("the query has ended")
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").finish_non_exhaustive()
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("id", &(self.inner.id)()).finish_non_exhaustive()
    }
}
