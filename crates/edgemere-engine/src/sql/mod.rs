//! Local SQL: validated, planned, and then streamed.
//!
//! One query, top to bottom:
//!
//! 1. `dialect` reads EdgeLake's SQL as one statement, and turns its own functions into SQL.
//! 2. `validate` proves that the statement only reads, and finds its tables, with near names in the
//!    error when there is none.
//! 3. `catalog` gives DataFusion the tables of the storage, each as one snapshot for the whole
//!    query.
//! 4. DataFusion plans and runs it; `source` reads Parquet files and fresh rows.
//! 5. [`Query`] streams the batches. Whoever drops it stops the work.

mod batch;
mod catalog;
mod dialect;
mod error;
mod functions;
mod source;
mod stream;
mod validate;

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use datafusion::catalog::CatalogProvider;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream, execute_stream};
use datafusion::prelude::{SessionConfig, SessionContext};

pub use self::batch::{Batch, Times};
pub(crate) use self::catalog::Catalog as Snapshots;
pub use self::error::Error;
pub use self::stream::Query;
pub(crate) use self::validate::Tables;
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
        let tables = self.snapshots();
        let context = self.context(dbms, Arc::clone(&tables) as _);
        let plan = planned(&self.storage, dbms, &context, sql).await?;
        let batches = execute_stream(plan, context.task_ctx()).map_err(Error::Execution)?;
        Ok(self.start(batches, tables, time))
    }

    /// The rows that one query sees.
    pub(crate) fn snapshots(&self) -> Arc<Snapshots> {
        Arc::new(Snapshots::new(self.storage.clone()))
    }

    /// Makes EdgeLake's functions known to a session.
    pub(crate) fn register_functions(&self, context: &SessionContext) {
        functions::register(context);
    }

    /// A query whose rows are these. What is kept lives as long as it does.
    pub(crate) fn start(
        &self,
        batches: SendableRecordBatchStream,
        kept: Arc<dyn Any + Send + Sync>,
        time: Option<Duration>,
    ) -> Query {
        Query::new(batches, kept, time.unwrap_or(self.limits.time))
    }

    /// What one query is planned and run with.
    pub(crate) fn context(&self, dbms: &str, tables: Arc<dyn CatalogProvider>) -> SessionContext {
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
        self.register_functions(&context);
        context.register_catalog(catalog::CATALOG, tables);
        context
    }
}

/// The plan of a statement that only reads, on tables that are there.
pub(crate) async fn planned(
    tables: &impl Tables,
    dbms: &str,
    context: &SessionContext,
    sql: &str,
) -> Result<Arc<dyn ExecutionPlan>, Error> {
    let statement = dialect::parse(sql)?;
    let plan = validate::plan(tables, dbms, context, statement).await?;
    context.state().create_physical_plan(&plan).await.map_err(Error::Plan)
}
