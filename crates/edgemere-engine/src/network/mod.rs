//! SQL on the network: many operators answer as one database.
//!
//! One query, top to bottom, on the query node:
//!
//! 1. The statement is read and validated as local SQL is, on the tables that a [`Placement`] knows
//!    (`catalog`).
//! 2. DataFusion plans it as if all rows were here. A scan is only a description: `scan`.
//! 3. `planner` divides the plan: what each operator can do on its own rows (`safe`), and what has to
//!    see all of it. Between the two is a `gather`.
//! 4. All operators get their tasks at once (`tasks`, `link`), before anything runs.
//! 5. The rest of the plan runs here, and streams as a local [`Query`] does.
//!
//! And on an operator: [`Worker`]. What is agreed between the two is in `protocol`, `codec`, `safe`
//! and `ending`.
//!
//! What holds: a scan runs on the operator that it names, or nowhere. An operator's rows are in an
//! answer all or not at all, and the answer says which. `now()` is a moment of the query node's.

mod catalog;
mod channel;
mod codec;
mod ending;
mod error;
mod expand;
mod explain;
mod gate;
mod gather;
mod link;
mod operators;
mod planner;
mod progress;
mod protocol;
mod safe;
mod scan;
mod subqueries;
mod task;
mod tasks;
mod worker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use futures_util::future::try_join_all;

use self::channel::Channels;
pub use self::channel::Patience;
pub use self::error::Error;
pub use self::explain::{Explained, Remote};
pub use self::link::Credentials;
use self::link::Links;
pub use self::operators::{Operator, Part, Placement, Table};
pub use self::progress::{Progress, Share, State};
use self::tasks::Job;
pub use self::worker::{Admission, Caller, Worker};
use crate::sql::{self, Query, Sql};

/// Answers SQL on the network. Clones are the same.
#[derive(Clone)]
pub struct Network {
    sql: Sql,
    placement: Arc<dyn Placement>,
    channels: Channels,
    credentials: Credentials,
}

/// What is asked for with a query.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How long it may take.
    pub time: Option<Duration>,
    /// Whether the rows of those that are there are an answer when some are away.
    pub subset: bool,
}

/// A query that runs.
#[derive(Debug)]
pub struct Asked {
    /// Its rows. Dropping it stops the work on every operator.
    pub query: Query,
    /// What each operator does for it.
    pub progress: Progress,
}

impl Network {
    /// SQL on the tables of a placement, put together with the memory and threads of `sql`.
    pub fn new(
        sql: &Sql,
        placement: Arc<dyn Placement>,
        credentials: Credentials,
        patience: Patience,
    ) -> Self {
        let channels = Channels::new(patience);
        Self { sql: sql.clone(), placement, channels, credentials }
    }

    /// Validates and plans a query, gives the operators their tasks, and begins to run it.
    pub async fn query(
        &self,
        dbms: &str,
        sql: &str,
        options: Options,
    ) -> Result<Asked, sql::Error> {
        let progress = Progress::default();
        let (plan, context) = self.plan(dbms, sql, options, &progress).await?;
        let gathers = explain::gathers(&plan);
        let opening = gathers.iter().map(|gather| gather.tasks().open());
        try_join_all(opening).await.map_err(sql::Error::Network)?;
        let batches = execute_stream(plan, context.task_ctx()).map_err(sql::Error::Execution)?;
        let query = self.sql.start(batches, Arc::new(()), options.time);
        Ok(Asked { query, progress })
    }

    /// How a query would run, without running it.
    pub async fn explain(&self, dbms: &str, sql: &str) -> Result<Explained, sql::Error> {
        let progress = Progress::default();
        let (plan, _) = self.plan(dbms, sql, Options::default(), &progress).await?;
        Ok(Explained::of(&plan))
    }

    async fn plan(
        &self,
        dbms: &str,
        sql: &str,
        options: Options,
        progress: &Progress,
    ) -> Result<(Arc<dyn ExecutionPlan>, SessionContext), sql::Error> {
        let tables = catalog::Catalog::new(Arc::clone(&self.placement));
        let context = self.sql.context(dbms, Arc::new(tables.clone()));
        let plan = sql::planned(&tables, dbms, &context, sql).await?;
        let links =
            Links::new(self.channels.clone(), Arc::clone(&self.credentials), context.runtime_env())
                .map_err(sql::Error::Plan)?;
        let job = Arc::new(Job::new(links, options.subset, progress.clone()));
        let plan = planner::divide(plan, &job).map_err(sql::Error::Plan)?;
        Ok((plan, context))
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").field("placement", &self.placement).finish_non_exhaustive()
    }
}
