//! Rules that change nothing, and end the planning of a query that is to stop. One stands before each
//! of DataFusion's rules: otherwise a query whose time is over would be planned to the end. And two that
//! exchange what DataFusion would compute without an end, or wrongly.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::config::ConfigOptions;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

use crate::sql::bounds::{bounded_constants, check_stop};
use crate::sql::exact::checked_plan;

const NAME: &str = "stop";

/// The rule that computes what is constant.
const COMPUTING_RULE: &str = "simplify_expressions";

/// Looks whether the query that is planned is to stop.
#[derive(Debug)]
struct DeadlineRule;

impl OptimizerRule for DeadlineRule {
    fn name(&self) -> &str {
        NAME
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        check_stop()?;
        Ok(Transformed::no(plan))
    }
}

/// Has patterns be looked for in constants by what can be stopped, before constants are computed.
#[derive(Debug)]
struct ConstantsRule;

impl OptimizerRule for ConstantsRule {
    fn name(&self) -> &str {
        "bounded_constants"
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        bounded_constants(plan)
    }
}

impl AnalyzerRule for DeadlineRule {
    fn name(&self) -> &str {
        NAME
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        check_stop()?;
        Ok(plan)
    }
}

/// Has arithmetic be exact or fail, before constants are computed. The types are known by then.
#[derive(Debug)]
struct ExactRule;

impl AnalyzerRule for ExactRule {
    fn name(&self) -> &str {
        "exact_arithmetic"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(checked_plan(plan)?.data)
    }
}

impl PhysicalOptimizerRule for DeadlineRule {
    fn name(&self) -> &str {
        NAME
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_stop()?;
        Ok(plan)
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The optimizer's rules of a state, with one before each that may end them.
pub(crate) fn logical(state: &SessionState) -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let stop: Arc<dyn OptimizerRule + Send + Sync> = Arc::new(DeadlineRule);
    let constants: Arc<dyn OptimizerRule + Send + Sync> = Arc::new(ConstantsRule);
    let rules = state.optimizer().rules.iter();
    let rules = rules.flat_map(|rule| {
        let computes = rule.name() == COMPUTING_RULE;
        [Some(&stop), computes.then_some(&constants), Some(rule)].into_iter().flatten()
    });
    rules.cloned().collect()
}

/// The analyzer's, and at their end the one that has arithmetic fail where it would be wrong.
pub(crate) fn analyzing(state: &SessionState) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let stop: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(DeadlineRule);
    let exact: Arc<dyn AnalyzerRule + Send + Sync> = Arc::new(ExactRule);
    let rules = state.analyzer().rules.iter().chain([&exact]);
    rules.flat_map(|rule| [Arc::clone(&stop), Arc::clone(rule)]).collect()
}

/// Those of the steps.
pub(crate) fn physical(
    rules: &[Arc<dyn PhysicalOptimizerRule + Send + Sync>],
) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let stop: Arc<dyn PhysicalOptimizerRule + Send + Sync> = Arc::new(DeadlineRule);
    rules.iter().flat_map(|rule| [Arc::clone(&stop), Arc::clone(rule)]).collect()
}
