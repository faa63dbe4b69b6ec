//! What one query is planned and run with: its tables as they were when it first named them, and its
//! memory. On the network also its work on the operators.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;

use crate::distributed::{self, DistributedQuery, Explained};
use crate::sql::bounds;
use crate::sql::error::Error;
use crate::sql::exact;
use crate::sql::plan::catalog::Catalog;
use crate::sql::plan::explain::Plan;
use crate::sql::plan::session_pool;
use crate::sql::plan::session_pool::{PooledSession, SessionPool};
use crate::sql::plan::visible::Internal;
use crate::sql::workarounds::filter_pushdown;

/// What one query is planned and run with.
pub(crate) struct Session {
    pub(crate) state: PooledSession,
    pub(crate) sessions: Arc<SessionPool>,
    /// What it runs in, with memory of its own.
    pub(crate) runtime: Arc<RuntimeEnv>,
    pub(crate) tables: Arc<Catalog>,
    /// The query's work on operators, when it is asked on the network.
    pub(crate) distributed_query: Option<Arc<DistributedQuery>>,
}

/// The steps of a query, ready to run.
pub(crate) struct Steps {
    pub(crate) physical: Arc<dyn ExecutionPlan>,
    /// The same for people.
    pub(crate) plan: Plan,
}

/// Why a plan cannot be divided.
fn undivided(error: DataFusionError) -> Error {
    distributed::Error::find(&error).map_or_else(|| Error::Plan(error), Error::Network)
}

impl Session {
    /// The state in which names without a database are of this one, and tables have these internal
    /// columns.
    pub(crate) fn state_in(&self, dbms: &str, internal: Internal) -> Cow<'_, SessionState> {
        let is_other = internal != self.tables.internal();
        if self.state.config_options().catalog.default_schema == dbms && !is_other {
            return Cow::Borrowed(&self.state);
        }
        let mut state = SessionState::clone(&self.state);
        if is_other {
            session_pool::show(&mut state, Arc::new(self.tables.with_internal(internal)));
        }
        state.config_mut().options_mut().catalog.default_schema = dbms.to_owned();
        Cow::Owned(state)
    }

    /// What the steps run with.
    pub(crate) fn task(&self) -> Arc<TaskContext> {
        task(&self.state, Arc::clone(&self.runtime))
    }

    /// A better plan for the same.
    pub(crate) fn optimized(&self, plan: &LogicalPlan) -> Result<LogicalPlan, Error> {
        let plan = self.state.optimize(plan).map_err(Error::Plan)?;
        // The rules may have put further operators and sums in.
        let plan = exact::checked_plan(plan).map_err(Error::Plan)?.data;
        bounds::bounded_plan(plan).map_err(Error::Plan)
    }

    /// The steps of an optimized plan. On the network they are divided between the operators and this
    /// node.
    pub(crate) async fn steps(&self, logical: &LogicalPlan) -> Result<Steps, Error> {
        let physical = Box::pin(filter_pushdown::plan(self, logical)).await?;
        let Some(distributed_query) = &self.distributed_query else {
            let plan = Plan::new(logical, physical.as_ref(), None);
            return Ok(Steps { physical, plan });
        };
        let physical = distributed_query.divide(physical).map_err(undivided)?;
        let plan = Plan::new(logical, physical.as_ref(), Some(Explained::of(&physical)));
        Ok(Steps { physical, plan })
    }

    /// Gives operators their part of the steps, before anything runs.
    pub(crate) async fn open(&self, physical: &Arc<dyn ExecutionPlan>) -> Result<(), Error> {
        match &self.distributed_query {
            Some(distributed_query) => {
                distributed_query.open(physical).await.map_err(Error::Network)
            }
            None => Ok(()),
        }
    }
}

/// What steps run with. They have the functions that they call: none is looked up by its name.
pub(crate) fn task(state: &SessionState, runtime: Arc<RuntimeEnv>) -> Arc<TaskContext> {
    let (id, config) = (state.session_id().to_owned(), state.config().clone());
    let (scalar, higher, aggregate, window) =
        (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
    Arc::new(TaskContext::new(None, id, config, scalar, higher, aggregate, window, runtime))
}
