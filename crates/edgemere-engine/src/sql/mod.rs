//! Local SQL: validated, planned, and then streamed.
//!
//! One query, top to bottom:
//!
//! 1. `dialect` reads EdgeLake's SQL as one statement, and turns its own functions into SQL.
//! 2. `validate` proves that the statement only reads, and has `views` find its tables and views,
//!    with near names in the error when there is none.
//! 3. `catalog` gives DataFusion the tables of the storage, each as one snapshot for the whole
//!    query; `include` puts further tables into the one that is asked.
//! 4. DataFusion plans and runs it; `source` reads Parquet files and fresh rows; `shape` gives the
//!    result its last columns.
//! 5. [`Query`] streams the batches. Whoever drops it stops the work. [`Queries`] knows how far each
//!    is.

mod batch;
mod catalog;
mod dialect;
mod error;
mod explain;
mod forbidden;
mod functions;
mod include;
mod membership;
mod physical;
mod queries;
mod range;
mod scope;
mod shape;
mod size;
mod source;
mod stream;
mod validate;
mod views;
mod zone;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};

pub use self::batch::{Batch, Times};
pub use self::dialect::{condition, results};
pub use self::error::Error;
pub use self::explain::{Plan, ResultColumn};
use self::queries::Ticket;
pub use self::queries::{Queries, State, Status};
pub use self::scope::{Extended, Extension, Scope, TableName};
pub use self::stream::Query;
use self::validate::nearest;
use self::views::Names;
pub use self::zone::Zone;
use crate::storage::Storage;

/// What queries may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The memory of all queries together, in bytes; what needs more goes to disk.
    pub memory_bytes: usize,
    /// The folder for what goes to disk.
    pub spill_folder: PathBuf,
    /// The disk space for it, in bytes.
    pub spill_bytes: u64,
    /// How long a query may take when it does not say otherwise.
    pub time: Duration,
}

/// The stack that a thread needs to plan and run the deepest query that is let through: a node starts
/// its threads with it.
pub const STACK_BYTES: usize = 8 << 20;

/// How many consumers of memory an error about memory names.
const CONSUMERS_NAMED: usize = 3;

/// Answers SQL on a storage.
#[derive(Clone, Debug)]
pub struct Sql {
    storage: Storage,
    runtime: Arc<RuntimeEnv>,
    limits: Limits,
    queries: Queries,
    caller: Arc<str>,
}

impl Sql {
    /// SQL on a storage.
    pub fn new(storage: Storage, limits: Limits) -> Result<Self, Error> {
        let pool = FairSpillPool::new(limits.memory_bytes);
        let named =
            std::num::NonZeroUsize::new(CONSUMERS_NAMED).unwrap_or(std::num::NonZeroUsize::MIN);
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![limits.spill_folder.clone()]))
            .with_max_temp_directory_size(limits.spill_bytes);
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(TrackConsumersPool::new(pool, named)))
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(Error::Plan)?;
        Ok(Self { storage, runtime, limits, queries: Queries::default(), caller: "".into() })
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

    /// The same with more options.
    pub async fn ask(&self, dbms: &str, sql: &str, scope: &Scope) -> Result<Query, Error> {
        let ticket = self.queries.begin(&self.caller, dbms, sql);
        // Planning takes much of the stack; it need not be in everything that waits for it.
        let begun = Box::pin(self.begin(dbms, sql, scope, &ticket)).await;
        let (batches, tables) = begun.inspect_err(|error| ticket.failed(error))?;
        Ok(Query::new(batches, tables, scope.time.unwrap_or(self.limits.time), ticket))
    }

    async fn begin(
        &self,
        dbms: &str,
        sql: &str,
        scope: &Scope,
        ticket: &Ticket,
    ) -> Result<(SendableRecordBatchStream, Arc<catalog::Catalog>), Error> {
        let Prepared { session, physical, plan } = self.prepare(dbms, sql, scope).await?;
        ticket.planned(plan);
        let task = session.context.task_ctx();
        let batches = execute_stream(physical, task).map_err(Error::Execution)?;
        Ok((batches, session.tables))
    }

    /// Validates and plans a query.
    async fn prepare(&self, dbms: &str, sql: &str, scope: &Scope) -> Result<Prepared, Error> {
        let session = self.session(dbms);
        let logical = self.logical(&session, dbms, sql, scope).await?;
        let state = session.context.state();
        let logical = state.optimize(&logical).map_err(Error::Plan)?;
        let physical = physical::plan(&state, &logical).await?;
        let plan = Plan::new(&logical, physical.as_ref());
        Ok(Prepared { session, physical, plan })
    }

    /// Validates a query.
    async fn logical(
        &self,
        session: &Session,
        dbms: &str,
        sql: &str,
        scope: &Scope,
    ) -> Result<LogicalPlan, Error> {
        let reading = dialect::Reading::of(sql)?;
        let names = self.names(session, dbms);
        let queried = reading.query().and_then(include::queried);
        include::apply(names, queried.clone(), &scope.include).await?;
        let plan = names.plan(reading).await?;
        shape::shape(plan, scope, queried.as_ref())
    }

    /// Where the names of a query are looked up.
    fn names<'a>(&'a self, session: &'a Session, dbms: &'a str) -> Names<'a> {
        Names { storage: &self.storage, session, dbms, depth: 0 }
    }

    fn session(&self, dbms: &str) -> Session {
        let config = SessionConfig::new()
            .with_default_catalog_and_schema(catalog::CATALOG, dbms)
            .with_create_default_catalog_and_schema(false)
            .with_information_schema(false)
            .with_parquet_pruning(true);
        let state = SessionStateBuilder::new()
            .with_config(config)
            .with_runtime_env(Arc::clone(&self.runtime))
            .with_default_features()
            .build();
        let context = SessionContext::new_with_state(state);
        forbidden::take_away(&context);
        functions::register(&context);
        let tables = Arc::new(catalog::Catalog::new(self.storage.clone()));
        context.register_catalog(catalog::CATALOG, Arc::clone(&tables) as _);
        Session { context, tables }
    }
}

/// What one query is planned with.
struct Session {
    context: SessionContext,
    tables: Arc<catalog::Catalog>,
}

impl Session {
    /// The state in which names without a database are of this one.
    fn state_in(&self, dbms: &str) -> SessionState {
        let mut state = self.context.state();
        state.config_mut().options_mut().catalog.default_schema = dbms.to_owned();
        state
    }
}

/// A query that is ready to run.
struct Prepared {
    session: Session,
    physical: Arc<dyn ExecutionPlan>,
    plan: Plan,
}
