//! SQL: validated, planned, and then streamed.
//!
//! One query, top to bottom:
//!
//! 1. `plan/plan_cache` looks the statement up. A plan that is there skips steps 2 to 4.
//! 2. `dialect` parses EdgeLake's SQL as one statement, and rewrites EdgeLake's own functions to SQL. SHOW, DESCRIBE
//!    and EXPLAIN become requests, which `plan/information` and `plan/analyze` answer.
//! 3. `plan/validate` proves that the statement only reads. `plan/views` resolves tables and views, with
//!    suggestions in the error. `bounds` limits what could take unbounded memory or time, and `exact` has
//!    arithmetic be exact or fail.
//! 4. `plan/catalog` gives DataFusion one snapshot of each table for the whole query, and DataFusion plans;
//!    `plan/shape` gives the result its last columns. `workarounds` correct faults of the libraries.
//! 5. DataFusion runs the plan on the threads of `run/workers`, within `run/memory` and `run/deadline`;
//!    `plan/table_scan` reads Parquet files and the memtable.
//! 6. [`Query`] streams the batches; dropping it stops the work. [`QueryRegistry`] lists the running queries.
//! 7. [`collect`], [`events`] and the rest of `output` turn batches into what a client gets. `messages` puts errors
//!    of DataFusion into our words.
//!
//! Over the network ([`Sql::on_network`]) the tables are those of the operators, and `plan/session` has the plan
//! divided between them and this node: see [`crate::distributed`].

mod bounds;
mod dialect;
mod error;
mod exact;
mod functions;
mod limits;
mod messages;
mod options;
mod output;
mod plan;
mod run;
pub mod template;
mod workarounds;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::TrackConsumersPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionConfig;
use futures_util::FutureExt;

pub use self::bounds::Excess;
use self::dialect::{Explain, Request};
pub use self::dialect::{condition, edgelake, results};
pub use self::error::Error;
pub use self::limits::Limits;
pub(crate) use self::messages::{log as log_error, told as told_error};
pub use self::options::{Extended, Extension, QueryOptions, TableName};
pub use self::output::arrow_stream::ArrowStream;
pub use self::output::batch::{Batch, Times};
pub use self::output::collect::{COLLECTED_BYTES_MAX, Collected, Event, Events, collect, events};
pub use self::output::parquet_stream::ParquetStream;
pub use self::output::zone::Zone;
use self::plan::analyze;
pub(crate) use self::plan::catalog::Catalog;
pub use self::plan::explain::{Plan, ResultColumn};
use self::plan::include;
use self::plan::information;
pub(crate) use self::plan::missing::Missing;
pub(crate) use self::plan::missing::find as find_storage_error;
use self::plan::plan_cache::{PlanCache, PlanKey};
use self::plan::session;
use self::plan::session::{Session, Steps};
use self::plan::session_pool::SessionPool;
use self::plan::shape;
use self::plan::small_scan;
pub(crate) use self::plan::tables::Tables;
use self::plan::validate::nearest;
use self::plan::views::NameResolver;
use self::plan::visible::Internal;
use self::run::buffered_rows;
pub(crate) use self::run::deadline::Deadline;
use self::run::memory::{MemoryTotal, QueryMemory};
use self::run::memory_watch::Watch;
pub use self::run::registry::{QueryRegistry, State, Status, Watched};
pub use self::run::rows::Rows;
use self::run::scan_metrics::ScanMetrics;
pub(crate) use self::run::scan_metrics::rows_read;
use self::run::spill::Verified;
pub use self::run::stream::Query;
pub(crate) use self::run::stream::pieces;
use self::run::stream::{Planned, failed};
pub(crate) use self::run::workers::Workers;
pub(crate) use self::workarounds::cooperative::yielding;
pub(crate) use self::workarounds::filter_pushdown::{FILTER_RULES, PROVING_RULE};
pub(crate) use self::workarounds::topk_union::apply as mend_first_rows;
use crate::distributed::{self, ConnectTimeouts, Coordinator, Credentials, Seen, ShardMap};
use edgemere_storage::private;
use edgemere_storage::storage::Storage;

/// The stack that a thread needs to plan and run the deepest query that is let through: a node starts
/// its threads with it.
pub const STACK_BYTES: usize = 8 << 20;

/// How many consumers of memory an error about memory names.
const CONSUMERS_NAMED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);

/// What a sort keeps for merging what it wrote to disk, at most, in bytes.
const MERGE_BYTES_MAX: usize = 10 << 20;

/// The part of a query's memory that its sorts may take for merging, all together.
const MERGE_PART: usize = 4;

/// About how much each file takes that is merged, in bytes: two batches of ordinary rows.
const MERGED_FILE_BYTES: usize = 2 << 20;

/// What is kept in memory of the ends of files, which say what is where in them, in bytes.
const FILE_ENDS_BYTES_MAX: usize = 16 << 20;

/// How long a query waits in all for this node's ledger to tell what operators know already, and how
/// long before it is planned again.
const LEDGER_WAIT_MAX: Duration = Duration::from_secs(10);
const LEDGER_WAIT: Duration = Duration::from_millis(50);

/// Answers SQL: on a storage, or on all the operators of a network.
#[derive(Clone, Debug)]
pub struct Sql {
    tables: Arc<dyn Tables>,
    /// The way to the operators; none when the rows are here.
    coordinator: Option<Coordinator>,
    runtime: Arc<RuntimeEnv>,
    /// Made when the first query comes: until then a node does without its memory.
    sessions: Arc<OnceLock<Arc<SessionPool>>>,
    /// Plans of queries that came before.
    plan_cache: Arc<PlanCache>,
    limits: Limits,
    queries: QueryRegistry,
    caller: Arc<str>,
    memory: Arc<MemoryTotal>,
    workers: Arc<Workers>,
    watch: Arc<Watch>,
    /// The files that queries spill to.
    spilled: Arc<DiskManager>,
}

impl Sql {
    /// SQL on a storage. What does not fit in memory goes to a folder that must be nobody else's:
    /// what a crash left there is removed.
    pub fn new(storage: Storage, spill_folder: &Path, limits: Limits) -> Result<Self, Error> {
        private::clear(spill_folder).map_err(Error::Spill)?;
        let folders = DiskManagerMode::Directories(vec![spill_folder.to_owned()]);
        let disk = DiskManagerBuilder::default()
            .with_mode(folders)
            .with_max_temp_directory_size(limits.spill_bytes);
        let spilled = Arc::new(disk.build().map_err(Error::Plan)?);
        let mode = match limits.spill_bytes {
            0 => DiskManagerMode::Disabled,
            _ => DiskManagerMode::Custom(Arc::new(Verified(Arc::clone(&spilled)))),
        };
        // Without a limit a sort would merge as many files at once as there is memory, and leave none
        // for what comes after it.
        let merged_files = (merge_bytes(&limits) / MERGED_FILE_BYTES).max(2);
        let disk =
            DiskManagerBuilder::default().with_mode(mode).with_max_spill_merge_fan_in(merged_files);
        let runtime = RuntimeEnvBuilder::new()
            .with_disk_manager_builder(disk)
            .with_metadata_cache_limit(FILE_ENDS_BYTES_MAX)
            .build_arc()
            .map_err(Error::Plan)?;
        let memory = Arc::new(MemoryTotal::new(limits.memory_total_bytes));
        let workers = Workers::start().map_err(Error::Threads)?;
        let watch = Watch::start(limits.process_bytes);
        let (queries, caller) = (QueryRegistry::default(), "".into());
        let tables = Arc::new(storage);
        let (coordinator, sessions, plan_cache) = (None, Arc::default(), Arc::default());
        Ok(Self {
            tables,
            coordinator,
            runtime,
            sessions,
            plan_cache,
            limits,
            queries,
            caller,
            memory,
            workers,
            watch,
            spilled,
        })
    }

    /// SQL on the tables of a network, put together with the memory and the threads of this one, and
    /// shown in the same [`QueryRegistry`].
    #[must_use]
    pub fn on_network(
        &self,
        placement: Arc<dyn ShardMap>,
        credentials: Arc<dyn Credentials>,
        patience: ConnectTimeouts,
    ) -> Self {
        let coordinator = Some(Coordinator::new(credentials, patience));
        let (tables, plan_cache) = (distributed::tables(placement), Arc::default());
        Self { tables, coordinator, plan_cache, ..self.clone() }
    }

    /// The same SQL, with the tables of another placement. Plans are not shared with it.
    #[must_use]
    pub fn on_tables_of(&self, placement: Arc<dyn ShardMap>) -> Self {
        let (tables, plan_cache) = (distributed::tables(placement), Arc::default());
        Self { tables, plan_cache, ..self.clone() }
    }

    /// The same SQL on the network, which remembers how far operators were when they answered.
    #[must_use]
    pub fn remembering(&self, seen: Seen) -> Self {
        let coordinator = self.coordinator.clone().map(|coordinator| coordinator.remembering(seen));
        Self { coordinator, ..self.clone() }
    }

    /// The same SQL, on behalf of a caller whom [`QueryRegistry`] shows.
    #[must_use]
    pub fn asked_by(&self, caller: &str) -> Self {
        Self { caller: caller.into(), ..self.clone() }
    }

    /// The queries that run, and those that ran.
    #[must_use]
    pub fn queries(&self) -> &QueryRegistry {
        &self.queries
    }

    /// Validates and plans a query, and begins to run it.
    pub async fn query(
        &self,
        dbms: &str,
        sql: &str,
        time: Option<Duration>,
    ) -> Result<Query, Error> {
        self.ask(dbms, sql, &QueryOptions { time, ..QueryOptions::default() }).await
    }

    /// The same with more options. The query's time begins here, with the planning.
    pub async fn ask(&self, dbms: &str, sql: &str, scope: &QueryOptions) -> Result<Query, Error> {
        let progress = distributed::Progress::default();
        let ticket = self.queries.begin(&self.caller, dbms, sql, progress.clone());
        if self.watch.is_short() {
            ticket.failed(&Error::ShortOfMemory);
            return Err(Error::ShortOfMemory);
        }
        let stop = Deadline::after(scope.time.unwrap_or(self.limits.time));
        ticket.stops(&stop);
        let (this, dbms, sql) = (self.clone(), dbms.to_owned(), sql.to_owned());
        let (scope, end) = (scope.clone(), stop.clone());
        let end_of_planning = stop.clone();
        let planning =
            async move { this.begin_in_step(&dbms, &sql, &scope, &end, &progress).await };
        let planning = bounds::planning(end_of_planning, planning);
        Query::start(planning.boxed(), &self.workers, stop, ticket).await
    }

    /// How many queries run. One that was dropped counts until all of its work has stopped.
    #[must_use]
    pub fn running(&self) -> usize {
        self.memory.queries()
    }

    /// Whether queries run: whether their threads have answered lately.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.workers.answer()
    }

    /// How many threads of queries were replaced because they did not answer, and have not ended.
    #[must_use]
    pub fn stuck_threads(&self) -> usize {
        self.workers.stuck_threads()
    }

    /// How much memory queries have taken for what they do, in bytes.
    #[must_use]
    pub fn memory_used_bytes(&self) -> usize {
        self.memory.used_bytes()
    }

    /// How much queries have written to disk because it did not fit in memory, in bytes.
    #[must_use]
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled.used_disk_space()
    }

    /// Begins a query. When operators are ahead of this node's ledger, it is planned again until the
    /// ledger has come, or too much time has passed.
    async fn begin_in_step(
        &self,
        dbms: &str,
        sql: &str,
        scope: &QueryOptions,
        stop: &Deadline,
        progress: &distributed::Progress,
    ) -> Result<(Planned, Plan), Error> {
        let begun = Instant::now();
        loop {
            match self.begin(dbms, sql, scope, stop, progress).await {
                Err(Error::Network(distributed::Error::Ahead { .. }))
                    if begun.elapsed() < LEDGER_WAIT_MAX =>
                {
                    tokio::time::sleep(LEDGER_WAIT).await;
                    progress.begin_again();
                }
                begun => return begun,
            }
        }
    }

    async fn begin(
        &self,
        dbms: &str,
        sql: &str,
        scope: &QueryOptions,
        stop: &Deadline,
        progress: &distributed::Progress,
    ) -> Result<(Planned, Plan), Error> {
        let mut session = self.session_for(dbms, scope, progress, Some(stop))?;
        let (logical, explain) = self.optimized(&session, dbms, sql, scope).await?;
        small_scan::prepare(&mut session.state, &logical, self.limits.single_threaded_rows_max);
        let Steps { physical, plan } = session.steps(&logical).await?;
        let runs = explain.is_none_or(|explain| explain.analyze);
        if runs {
            session.open(&physical).await?;
        }
        let holds_rows = buffered_rows::holds_rows(&physical);
        let physical = yielding(physical, stop).map_err(Error::Plan)?;
        let rows = match runs {
            true => Some(execute_stream(Arc::clone(&physical), session.task()).map_err(failed)?),
            false => None,
        };
        let network = plan.network.as_ref();
        let planned = analyze::Planned { logical: &logical, physical: &physical, network };
        let batches = match (explain, rows) {
            (None, Some(rows)) => rows,
            (Some(explain), Some(rows)) => {
                analyze::analyzed(&planned, explain, rows, progress.clone())
            }
            (explain, None) => {
                analyze::explained(&planned, explain.unwrap_or_default()).map_err(Error::Plan)?
            }
        };
        let counted = ScanMetrics::new(physical);
        Ok((Planned { batches, counted, tables: session.tables, holds_rows }, plan))
    }

    /// Validates a query and makes the best of its plan, if that was not done before. Says how it is to be
    /// explained, when that is what is wanted.
    async fn optimized(
        &self,
        session: &Session,
        dbms: &str,
        sql: &str,
        scope: &QueryOptions,
    ) -> Result<(LogicalPlan, Option<Explain>), Error> {
        let key = PlanKey::new(dbms, sql, scope);
        let cached = key.as_ref().and_then(|key| self.plan_cache.plan(key, &session.tables));
        if let Some(plan) = cached {
            return Ok((plan, None));
        }
        let (written, explain) = self.logical(session, dbms, sql, scope).await?;
        let optimized = session.optimized(&written)?;
        if let Some(key) = key {
            self.plan_cache.insert(key, &session.tables, &written, &optimized);
        }
        Ok((optimized, explain))
    }

    /// Validates a statement, and makes a plan of it.
    async fn logical(
        &self,
        session: &Session,
        dbms: &str,
        sql: &str,
        scope: &QueryOptions,
    ) -> Result<(LogicalPlan, Option<Explain>), Error> {
        let names = NameResolver { session, dbms, depth: 0, all_columns: scope.internal_columns };
        let (reading, explain) = match Request::of(sql)? {
            Request::Query(reading) => (reading, None),
            Request::Explain(reading, explain) => (reading, Some(explain)),
            Request::Describe(reading) => {
                let plan =
                    shape::shape(names.plan(reading).await?, &QueryOptions::default(), None)?;
                session.tables.note_special();
                return Ok((information::describe(plan.schema().inner())?, None));
            }
            Request::Show(show) => {
                let plan = information::show(names, &show).await?;
                return Ok((up_to(plan, scope.rows_max)?, None));
            }
        };
        let internal = if scope.internal_columns { Internal::ALL } else { reading.internal() };
        let queried = reading.query().and_then(include::queried);
        include::apply(names, internal, queried.clone(), &scope.include).await?;
        let plan = names.plan(reading).await?;
        if explain.is_some() {
            // It is about the query, and not about the rows that a caller wants of it.
            session.tables.note_special();
            return Ok((shape::shape(plan, &QueryOptions::default(), None)?, explain));
        }
        Ok((up_to(shape::shape(plan, scope, queried.as_ref())?, scope.rows_max)?, None))
    }

    /// What a query is planned with that nobody runs.
    fn session(&self, dbms: &str) -> Result<Session, Error> {
        self.session_for(dbms, &QueryOptions::default(), &distributed::Progress::default(), None)
    }

    fn session_for(
        &self,
        dbms: &str,
        scope: &QueryOptions,
        progress: &distributed::Progress,
        stop: Option<&Deadline>,
    ) -> Result<Session, Error> {
        let (subset, all_columns) = (scope.subset, scope.internal_columns);
        let internal = if all_columns { Internal::ALL } else { Internal::NONE };
        let tables = self.snapshots(Missing::new(subset, progress)).with_internal(internal);
        let tables = Arc::new(tables);
        let state = self.sessions().acquire(dbms, &tables);
        let (sessions, runtime) = (Arc::clone(self.sessions()), Arc::new(self.environment(stop)));
        let distributed_query = self.coordinator.as_ref().map(|coordinator| {
            coordinator
                .distributed_query(subset, progress, Arc::clone(&runtime))
                .map_err(Error::Plan)
        });
        Ok(Session {
            state,
            sessions,
            runtime,
            tables,
            distributed_query: distributed_query.transpose()?,
        })
    }

    /// The tables, each as it is when it is first asked for.
    pub(crate) fn snapshots(&self, missing: Missing) -> Catalog {
        Catalog::new(Arc::clone(&self.tables), missing)
    }

    /// The threads that queries run on.
    pub(crate) fn workers(&self) -> &Arc<Workers> {
        &self.workers
    }

    /// What a part of another node's query is read with, which names its functions.
    pub(crate) fn reading(&self, config: SessionConfig) -> SessionState {
        self.sessions().reading(config)
    }

    /// What DataFusion plans and runs a part of another node's query with, in memory of its own.
    pub(crate) fn part(
        &self,
        tables: &Arc<Catalog>,
        stop: &Deadline,
    ) -> (SessionState, Arc<TaskContext>) {
        let state = self.sessions().part(tables);
        let task = session::task(&state, Arc::new(self.environment(Some(stop))));
        (state, task)
    }

    fn sessions(&self) -> &Arc<SessionPool> {
        self.sessions.get_or_init(|| {
            let merge_bytes = merge_bytes(&self.limits).min(MERGE_BYTES_MAX);
            Arc::new(SessionPool::new(&self.runtime, merge_bytes))
        })
    }

    /// What one query runs in: memory of its own, and all else as every query.
    fn environment(&self, stop: Option<&Deadline>) -> RuntimeEnv {
        let plan_cache = stop.map(|stop| self.watch.begin(stop));
        let share = QueryMemory::new(&self.memory, self.limits.memory_bytes).known_as(plan_cache);
        let pool = TrackConsumersPool::new(share, CONSUMERS_NAMED);
        RuntimeEnv { memory_pool: Arc::new(pool), ..RuntimeEnv::clone(&self.runtime) }
    }
}

/// What one sort may take for merging. A query sorts on as many threads as there are.
fn merge_bytes(limits: &Limits) -> usize {
    limits.memory_bytes / MERGE_PART / SessionConfig::new().target_partitions().max(1)
}

/// No more than so many rows of a plan.
fn up_to(plan: LogicalPlan, rows_max: Option<usize>) -> Result<LogicalPlan, Error> {
    match rows_max {
        None => Ok(plan),
        Some(rows) => LogicalPlanBuilder::from(plan)
            .limit(0, Some(rows))
            .and_then(LogicalPlanBuilder::build)
            .map_err(Error::Plan),
    }
}
