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

use super::catalog::Catalog;
use super::common::{Common, Lent};
use super::error::Error;
use super::explain::Plan;
use super::visible::Internal;
use super::{bounds, common, physical};
use crate::network::{self, Explained, Job};

/// What one query is planned and run with.
pub(super) struct Session {
    pub(super) state: Lent,
    pub(super) common: Arc<Common>,
    /// What it runs in, with memory of its own.
    pub(super) runtime: Arc<RuntimeEnv>,
    pub(super) tables: Arc<Catalog>,
    /// The query's work on operators, when it is asked on the network.
    pub(super) job: Option<Arc<Job>>,
}

/// The steps of a query, ready to run.
pub(super) struct Steps {
    pub(super) physical: Arc<dyn ExecutionPlan>,
    /// The same for people.
    pub(super) plan: Plan,
}

/// Why a plan cannot be divided.
fn undivided(error: DataFusionError) -> Error {
    network::Error::find(&error).map_or_else(|| Error::Plan(error), Error::Network)
}

impl Session {
    /// The state in which names without a database are of this one, and tables have these internal
    /// columns.
    pub(super) fn state_in(&self, dbms: &str, internal: Internal) -> Cow<'_, SessionState> {
        let is_other = internal != self.tables.internal();
        if self.state.config_options().catalog.default_schema == dbms && !is_other {
            return Cow::Borrowed(&self.state);
        }
        let mut state = SessionState::clone(&self.state);
        if is_other {
            common::show(&mut state, Arc::new(self.tables.with_internal(internal)));
        }
        state.config_mut().options_mut().catalog.default_schema = dbms.to_owned();
        Cow::Owned(state)
    }

    /// What the steps run with.
    pub(super) fn task(&self) -> Arc<TaskContext> {
        task(&self.state, Arc::clone(&self.runtime))
    }

    /// A better plan for the same.
    pub(super) fn optimized(&self, plan: &LogicalPlan) -> Result<LogicalPlan, Error> {
        self.state.optimize(plan).and_then(bounds::bounded_plan).map_err(Error::Plan)
    }

    /// The steps of an optimized plan. On the network they are divided between the operators and this
    /// node.
    pub(super) async fn steps(&self, logical: &LogicalPlan) -> Result<Steps, Error> {
        let physical = Box::pin(physical::plan(self, logical)).await?;
        let Some(job) = &self.job else {
            let plan = Plan::new(logical, physical.as_ref(), None);
            return Ok(Steps { physical, plan });
        };
        let physical = job.divide(physical).map_err(undivided)?;
        let plan = Plan::new(logical, physical.as_ref(), Some(Explained::of(&physical)));
        Ok(Steps { physical, plan })
    }

    /// Gives operators their part of the steps, before anything runs.
    pub(super) async fn open(&self, physical: &Arc<dyn ExecutionPlan>) -> Result<(), Error> {
        match &self.job {
            Some(job) => job.open(physical).await.map_err(Error::Network),
            None => Ok(()),
        }
    }
}

/// What steps run with. They have the functions that they call: none is looked up by its name.
pub(super) fn task(state: &SessionState, runtime: Arc<RuntimeEnv>) -> Arc<TaskContext> {
    let (id, config) = (state.session_id().to_owned(), state.config().clone());
    let (scalar, higher, aggregate, window) =
        (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
    Arc::new(TaskContext::new(None, id, config, scalar, higher, aggregate, window, runtime))
}
