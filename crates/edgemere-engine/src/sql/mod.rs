//! Local SQL: validated, planned, and then streamed.
//!
//! One query, top to bottom:
//!
//! 1. `dialect` reads EdgeLake's SQL as one statement, and turns its own functions into SQL.
//! 2. `validate` proves that the statement only reads, and finds its tables, with near names in the
//!    error when there is none.
//! 3. `catalog` gives DataFusion the tables of the storage, each as one snapshot for the whole
//!    query; `include` puts further tables into the one that is asked.
//! 4. DataFusion plans and runs it; `source` reads Parquet files and fresh rows; `shape` gives the
//!    result its last columns.
//! 5. [`Query`] streams the batches. Whoever drops it stops the work.

mod batch;
mod catalog;
mod dialect;
mod error;
mod functions;
mod include;
mod range;
mod scope;
mod shape;
mod source;
mod stream;
mod validate;
mod zone;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{SendableRecordBatchStream, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::sqlparser::ast::Statement;

pub use self::batch::{Batch, Times};
use self::dialect::TimeRange;
pub use self::dialect::{condition, results};
pub use self::error::Error;
pub use self::scope::{Extended, Extension, Scope, TableName};
pub use self::stream::Query;
use self::validate::nearest;
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

/// How many consumers of memory an error about memory names.
const CONSUMERS_NAMED: usize = 3;

/// Answers SQL on a storage.
#[derive(Clone, Debug)]
pub struct Sql {
    storage: Storage,
    runtime: Arc<RuntimeEnv>,
    limits: Limits,
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
        Ok(Self { storage, runtime, limits })
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
        let reading = dialect::Reading::of(sql)?;
        let session = self.session(dbms);
        let queried = reading.query().and_then(include::queried);
        include::apply(&self.storage, &session.tables, dbms, queried.clone(), &scope.include)?;
        let range = match reading.question()? {
            Some(question) => Some(Box::pin(self.range(dbms, &session, question)).await?),
            None => None,
        };
        let statement = reading.finish(range)?;
        let plan = validate::plan(&self.storage, dbms, &session.context, statement);
        // Planning takes much of the stack; it need not be in everything that waits for it.
        let plan = Box::pin(plan).await?;
        let plan = shape::shape(plan, scope, queried.as_ref())?;
        let batches = run(&session, plan).await?;
        Ok(Query::new(batches, session.tables, scope.time.unwrap_or(self.limits.time)))
    }

    /// The first and the last time of what a question finds.
    async fn range(
        &self,
        dbms: &str,
        session: &Session,
        question: Statement,
    ) -> Result<TimeRange, Error> {
        let plan = validate::plan(&self.storage, dbms, &session.context, question).await?;
        let batches = run(session, plan).await?;
        let batches = datafusion::physical_plan::common::collect(batches).await;
        range::of(&batches.map_err(Error::Execution)?)
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
        functions::register(&context);
        let tables = Arc::new(catalog::Catalog::new(self.storage.clone()));
        context.register_catalog(catalog::CATALOG, Arc::clone(&tables) as _);
        Session { context, tables }
    }
}

/// Begins to run a plan.
async fn run(session: &Session, plan: LogicalPlan) -> Result<SendableRecordBatchStream, Error> {
    let state = session.context.state();
    let physical = state.create_physical_plan(&plan).await.map_err(Error::Plan)?;
    execute_stream(physical, state.task_ctx()).map_err(Error::Execution)
}

/// What one query is planned with.
struct Session {
    context: SessionContext,
    tables: Arc<catalog::Catalog>,
}
