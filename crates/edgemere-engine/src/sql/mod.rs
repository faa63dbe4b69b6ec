//! SQL: validated, planned, and then streamed.
//!
//! One query, top to bottom:
//!
//! 1. `dialect` reads EdgeLake's SQL as one statement, and turns its own functions into SQL. SHOW, DESCRIBE
//!    and EXPLAIN become requests, which `information` and `analyze` answer.
//! 2. `validate` proves that the statement only reads, and has `views` find its tables and views,
//!    with near names in the error when there is none.
//! 3. `catalog` gives DataFusion the `tables`, those of the storage each as one snapshot for the whole
//!    query; `include` puts further tables into the one that is asked.
//! 4. DataFusion plans and runs it; `source` reads Parquet files, with `files`, and fresh rows; `shape`
//!    gives the result its last columns. For a query that came before, `known` has the plan already.
//! 5. [`Query`] streams the batches. Whoever drops it stops the work. [`Queries`] knows how far each
//!    is.
//! 6. [`collect`] and [`events`] are the two ways to take them.
//!
//! `visible` and `stars` keep a table's internal columns out of `*`. `told` says in words of ours what
//! DataFusion says of a query.
//!
//! On the network ([`Sql::on_network`]) only the tables are others, and `session` has the plan divided
//! between the operators and this node: see [`crate::network`].
//!
//! Planning and running happen on the threads of `workers`, within the query's share of `memory`.

mod analyze;
mod arrow_stream;
mod batch;
mod bounds;
mod catalog;
mod column_names;
mod common;
mod dialect;
mod error;
mod explain;
mod few_rows;
mod files;
mod first_rows;
mod functions;
mod held;
mod include;
mod information;
mod json_values;
mod known;
mod limits;
mod membership;
mod memory;
mod missing;
mod modes;
mod parquet_stream;
mod physical;
mod plain;
mod queries;
mod range;
mod read;
mod rows;
mod rules;
mod scope;
mod session;
mod shape;
mod size;
mod source;
mod spill;
mod stars;
mod statement_size;
mod stop;
mod stream;
mod tables;
pub mod template;
mod times;
mod told;
mod type_names;
mod validate;
mod veil;
mod views;
mod visible;
mod watch;
mod workers;
mod yielding;
mod zone;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use datafusion::execution::disk_manager::{DiskManager, DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::TrackConsumersPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_plan::execute_stream;
use datafusion::prelude::SessionConfig;
use futures_util::FutureExt;

pub use self::arrow_stream::ArrowStream;
pub use self::batch::{Batch, Times};
pub use self::bounds::Excess;
pub(crate) use self::catalog::Catalog;
use self::common::Common;
use self::dialect::{Explain, Request};
pub use self::dialect::{condition, edgelake, results};
pub use self::error::Error;
pub use self::explain::{Plan, ResultColumn};
pub(crate) use self::first_rows::mend as mend_first_rows;
pub(crate) use self::json_values::JsonValues;
use self::known::{Asked, Known};
pub use self::limits::Limits;
use self::memory::{Share, Total};
pub(crate) use self::missing::Missing;
pub(crate) use self::missing::find as find_storage_error;
pub use self::modes::{COLLECTED_BYTES_MAX, Collected, Event, Events, collect, events};
pub use self::parquet_stream::ParquetStream;
pub(crate) use self::physical::{FILTER_RULES, PROVING_RULE};
pub use self::queries::{Queries, State, Status, Watched};
use self::read::Counted;
pub(crate) use self::read::rows_read;
pub use self::rows::Rows;
pub use self::scope::{Extended, Extension, Scope, TableName};
use self::session::{Session, Steps};
use self::spill::Verified;
pub(crate) use self::stop::Stop;
pub use self::stream::Query;
pub(crate) use self::stream::pieces;
use self::stream::{Planned, failed};
pub(crate) use self::tables::Tables;
pub(crate) use self::told::{log as log_error, told as told_error};
use self::validate::nearest;
use self::views::Names;
use self::visible::Internal;
use self::watch::Watch;
pub(crate) use self::workers::Workers;
pub(crate) use self::yielding::yielding;
pub use self::zone::Zone;
use crate::network::{self, Credentials, Patience, Placement, Remote, Seen};
use crate::storage::Storage;

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

/// Answers SQL: on a storage, or on all the operators of a network.
#[derive(Clone, Debug)]
pub struct Sql {
    tables: Arc<dyn Tables>,
    /// The way to the operators; none when the rows are here.
    remote: Option<Remote>,
    runtime: Arc<RuntimeEnv>,
    /// Made when the first query comes: until then a node does without its memory.
    common: Arc<OnceLock<Arc<Common>>>,
    /// Plans of queries that came before.
    known: Arc<Known>,
    limits: Limits,
    queries: Queries,
    caller: Arc<str>,
    memory: Arc<Total>,
    workers: Arc<Workers>,
    watch: Arc<Watch>,
    /// The files that queries spill to.
    spilled: Arc<DiskManager>,
}

impl Sql {
    /// SQL on a storage. What does not fit in memory goes to a folder that must be nobody else's:
    /// what a crash left there is removed.
    pub fn new(storage: Storage, spill_folder: &Path, limits: Limits) -> Result<Self, Error> {
        clear(spill_folder).map_err(Error::Spill)?;
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
        let memory = Arc::new(Total::new(limits.memory_total_bytes));
        let workers = Workers::start().map_err(Error::Threads)?;
        let watch = Watch::start(limits.process_bytes);
        let (queries, caller) = (Queries::default(), "".into());
        let tables = Arc::new(storage);
        let (remote, common, known) = (None, Arc::default(), Arc::default());
        Ok(Self {
            tables,
            remote,
            runtime,
            common,
            known,
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
    /// shown in the same [`Queries`].
    #[must_use]
    pub fn on_network(
        &self,
        placement: Arc<dyn Placement>,
        credentials: Arc<dyn Credentials>,
        patience: Patience,
    ) -> Self {
        let remote = Some(Remote::new(credentials, patience));
        let (tables, known) = (network::tables(placement), Arc::default());
        Self { tables, remote, known, ..self.clone() }
    }

    /// The same SQL, with the tables of another placement. Plans are not shared with it.
    #[must_use]
    pub fn on_tables_of(&self, placement: Arc<dyn Placement>) -> Self {
        let (tables, known) = (network::tables(placement), Arc::default());
        Self { tables, known, ..self.clone() }
    }

    /// The same SQL on the network, which remembers how far operators were when they answered.
    #[must_use]
    pub fn remembering(&self, seen: Seen) -> Self {
        let remote = self.remote.clone().map(|remote| remote.remembering(seen));
        Self { remote, ..self.clone() }
    }

    /// The same SQL, on behalf of somebody whom [`Queries`] shows.
    #[must_use]
    pub fn asked_by(&self, caller: &str) -> Self {
        Self { caller: caller.into(), ..self.clone() }
    }

    /// The queries that run, and those that ran.
    #[must_use]
    pub fn queries(&self) -> &Queries {
        &self.queries
    }

    /// Validates and plans a query, and begins to run it.
    pub async fn query(
        &self,
        dbms: &str,
        sql: &str,
        time: Option<Duration>,
    ) -> Result<Query, Error> {
        self.ask(dbms, sql, &Scope { time, ..Scope::default() }).await
    }

    /// The same with more options. The query's time begins here, with the planning.
    pub async fn ask(&self, dbms: &str, sql: &str, scope: &Scope) -> Result<Query, Error> {
        let progress = network::Progress::default();
        let ticket = self.queries.begin(&self.caller, dbms, sql, progress.clone());
        if self.watch.is_short() {
            ticket.failed(&Error::ShortOfMemory);
            return Err(Error::ShortOfMemory);
        }
        let stop = Stop::after(scope.time.unwrap_or(self.limits.time));
        ticket.stops(&stop);
        let (this, dbms, sql) = (self.clone(), dbms.to_owned(), sql.to_owned());
        let (scope, end) = (scope.clone(), stop.clone());
        let end_of_planning = stop.clone();
        let planning = async move { this.begin(&dbms, &sql, &scope, &end, &progress).await };
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

    async fn begin(
        &self,
        dbms: &str,
        sql: &str,
        scope: &Scope,
        stop: &Stop,
        progress: &network::Progress,
    ) -> Result<(Planned, Plan), Error> {
        let mut session = self.session_for(dbms, scope, progress, Some(stop))?;
        let (logical, explain) = self.optimized(&session, dbms, sql, scope).await?;
        few_rows::prepare(&mut session.state, &logical, self.limits.few_rows);
        let Steps { physical, plan } = session.steps(&logical).await?;
        let runs = explain.is_none_or(|explain| explain.analyze);
        if runs {
            session.open(&physical).await?;
        }
        let holds_rows = held::holds_rows(&physical);
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
        let counted = Counted::new(physical);
        Ok((Planned { batches, counted, tables: session.tables, holds_rows }, plan))
    }

    /// Validates a query and makes the best of its plan, if that was not done before. Says how it is to be
    /// explained, when that is what is wanted.
    async fn optimized(
        &self,
        session: &Session,
        dbms: &str,
        sql: &str,
        scope: &Scope,
    ) -> Result<(LogicalPlan, Option<Explain>), Error> {
        let asked = Asked::new(dbms, sql, scope);
        let known = asked.as_ref().and_then(|asked| self.known.plan(asked, &session.tables));
        if let Some(plan) = known {
            return Ok((plan, None));
        }
        let (written, explain) = self.logical(session, dbms, sql, scope).await?;
        let optimized = session.optimized(&written)?;
        if let Some(asked) = asked {
            self.known.note(asked, &session.tables, &written, &optimized);
        }
        Ok((optimized, explain))
    }

    /// Validates a statement, and makes a plan of it.
    async fn logical(
        &self,
        session: &Session,
        dbms: &str,
        sql: &str,
        scope: &Scope,
    ) -> Result<(LogicalPlan, Option<Explain>), Error> {
        let names = Names { session, dbms, depth: 0, all_columns: scope.internal_columns };
        let (reading, explain) = match Request::of(sql)? {
            Request::Query(reading) => (reading, None),
            Request::Explain(reading, explain) => (reading, Some(explain)),
            Request::Describe(reading) => {
                let plan = shape::shape(names.plan(reading).await?, &Scope::default(), None)?;
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
            return Ok((shape::shape(plan, &Scope::default(), None)?, explain));
        }
        Ok((up_to(shape::shape(plan, scope, queried.as_ref())?, scope.rows_max)?, None))
    }

    /// What a query is planned with that nobody runs.
    fn session(&self, dbms: &str) -> Result<Session, Error> {
        self.session_for(dbms, &Scope::default(), &network::Progress::default(), None)
    }

    fn session_for(
        &self,
        dbms: &str,
        scope: &Scope,
        progress: &network::Progress,
        stop: Option<&Stop>,
    ) -> Result<Session, Error> {
        let (subset, all_columns) = (scope.subset, scope.internal_columns);
        let internal = if all_columns { Internal::ALL } else { Internal::NONE };
        let tables = self.snapshots(Missing::new(subset, progress)).with_internal(internal);
        let tables = Arc::new(tables);
        let state = self.common().lend(dbms, &tables);
        let (common, runtime) = (Arc::clone(self.common()), Arc::new(self.environment(stop)));
        let job = self
            .remote
            .as_ref()
            .map(|remote| remote.job(subset, progress, Arc::clone(&runtime)).map_err(Error::Plan));
        Ok(Session { state, common, runtime, tables, job: job.transpose()? })
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
        self.common().reading(config)
    }

    /// What DataFusion plans and runs a part of another node's query with, in memory of its own.
    pub(crate) fn part(
        &self,
        tables: &Arc<Catalog>,
        stop: &Stop,
    ) -> (SessionState, Arc<TaskContext>) {
        let state = self.common().part(tables);
        let task = session::task(&state, Arc::new(self.environment(Some(stop))));
        (state, task)
    }

    fn common(&self) -> &Arc<Common> {
        self.common.get_or_init(|| {
            let merge_bytes = merge_bytes(&self.limits).min(MERGE_BYTES_MAX);
            Arc::new(Common::new(&self.runtime, merge_bytes))
        })
    }

    /// What one query runs in: memory of its own, and all else as every query.
    fn environment(&self, stop: Option<&Stop>) -> RuntimeEnv {
        let known = stop.map(|stop| self.watch.begin(stop));
        let share = Share::new(&self.memory, self.limits.memory_bytes).known_as(known);
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

/// Makes a folder, or removes all that is in it. The folder itself may be another disk's.
pub(crate) fn clear(folder: &Path) -> std::io::Result<()> {
    crate::private::create_dir_all(folder)?;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}
