//! What all queries are planned with, made once: the functions and the rules, of which there are
//! hundreds. A query takes a copy, with its own tables and its own moment, and leaves it to the next:
//! making it anew takes longer than planning a short query.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::sql::bounds;
use crate::sql::functions;
use crate::sql::plan::catalog::{CATALOG, Catalog};
use crate::sql::plan::rules;
use crate::sql::workarounds::filter_pushdown::FILTER_RULES;

/// How many copies are kept that no query has.
const SPARE_MAX: usize = 8;

/// What all queries are planned with.
pub(crate) struct SessionPool {
    /// With the rules that may be used for every query: see `physical`.
    without_filter_pushdown: SessionState,
    /// With all rules.
    all: SessionState,
    /// Copies of the first one that no query has at the moment.
    spare: Mutex<Vec<SessionState>>,
}

/// What one query is planned with. When the query has ended, another gets it.
pub(crate) struct PooledSession {
    common: Arc<SessionPool>,
    /// None only while it is dropped.
    state: Option<SessionState>,
}

impl SessionPool {
    /// The functions and the rules, with the options of every query.
    pub(crate) fn new(runtime: &Arc<RuntimeEnv>, merge_bytes: usize) -> Self {
        let builder = SessionStateBuilder::new().with_default_features();
        let state = builder.with_config(config(merge_bytes)).with_runtime_env(Arc::clone(runtime));
        let context = SessionContext::new_with_state(state.build());
        register_functions(&context);
        let all = context.state();
        let all = SessionStateBuilder::new_from_existing(all.clone())
            .with_query_planner(Arc::new(functions::Planner))
            .with_expr_planners(expression_planners(&all))
            .with_analyzer_rules(rules::analyzing(&all))
            .with_optimizer_rules(rules::logical(&all))
            .with_physical_optimizer_rules(rules::physical(all.physical_optimizers()))
            .build();
        let rules = all.physical_optimizers().iter();
        let rules = rules.filter(|rule| !rule.name().starts_with(FILTER_RULES)).cloned().collect();
        let without_filter_pushdown = SessionStateBuilder::new_from_existing(all.clone())
            .with_physical_optimizer_rules(rules)
            .build();
        Self { without_filter_pushdown, all, spare: Mutex::default() }
    }

    /// For one query on these tables, asked now. Names without a database are of this one.
    pub(crate) fn acquire(self: &Arc<Self>, dbms: &str, tables: &Arc<Catalog>) -> PooledSession {
        let mut state = self.spare().pop().unwrap_or_else(|| self.without_filter_pushdown.clone());
        *state.config_mut() = self.without_filter_pushdown.config().clone();
        PooledSession { common: Arc::clone(self), state: Some(asked(state, dbms, tables)) }
    }

    /// For a part of another node's query: with all rules.
    pub(crate) fn part(&self, tables: &Arc<Catalog>) -> SessionState {
        asked(self.all.clone(), "", tables)
    }

    fn spare(&self) -> MutexGuard<'_, Vec<SessionState>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The functions, for reading a plan that names them.
    pub(crate) fn reading(&self, config: SessionConfig) -> SessionState {
        let mut state = self.without_filter_pushdown.clone();
        *state.config_mut() = config;
        state
    }

    /// A query with all rules.
    pub(crate) fn with_all_rules(&self, of: &SessionState) -> SessionState {
        let mut state = self.all.clone();
        state.register_catalog_list(Arc::clone(of.catalog_list()));
        *state.config_mut() = of.config().clone();
        *state.execution_props_mut() = of.execution_props().clone();
        state
    }
}

impl Deref for PooledSession {
    type Target = SessionState;

    fn deref(&self) -> &SessionState {
        self.state.as_ref().unwrap_or(&self.common.without_filter_pushdown)
    }
}

impl DerefMut for PooledSession {
    fn deref_mut(&mut self) -> &mut SessionState {
        self.state.get_or_insert_with(|| self.common.without_filter_pushdown.clone())
    }
}

impl Drop for PooledSession {
    fn drop(&mut self) {
        let Some(mut state) = self.state.take() else { return };
        // It has no hold on the tables of the query that has ended.
        state.register_catalog_list(Arc::new(MemoryCatalogProviderList::new()));
        let mut spare = self.common.spare();
        if spare.len() < SPARE_MAX {
            spare.push(state);
        }
    }
}

/// A query on these tables begins.
fn asked(mut state: SessionState, dbms: &str, tables: &Arc<Catalog>) -> SessionState {
    show(&mut state, Arc::clone(tables));
    state.config_mut().options_mut().catalog.default_schema = dbms.to_owned();
    state.mark_start_execution();
    state
}

/// Gives a state its tables.
pub(crate) fn show(state: &mut SessionState, tables: Arc<Catalog>) {
    let catalogs = MemoryCatalogProviderList::new();
    catalogs.register_catalog(CATALOG.to_owned(), tables as _);
    state.register_catalog_list(Arc::new(catalogs));
}

/// Makes the functions of queries known to a session, and only those.
fn register_functions(context: &SessionContext) {
    bounds::install(context);
}

/// What makes expressions of SQL: our operators first.
fn expression_planners(state: &SessionState) -> Vec<Arc<dyn ExprPlanner>> {
    std::iter::once(functions::operators()).chain(state.expr_planners().to_vec()).collect()
}

fn config(merge_bytes: usize) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, "")
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(false)
        .with_parquet_pruning(true)
        .with_sort_spill_reservation_bytes(merge_bytes);
    // The files come in pieces already: see `source`.
    config.options_mut().optimizer.repartition_file_scans = false;
    // So that an error says where in the SQL it is.
    config.options_mut().sql_parser.collect_spans = true;
    // It compares what may be null in two plans of one query, one of which was simplified.
    config.options_mut().execution.skip_physical_aggregate_schema_check = true;
    config
}

impl fmt::Debug for SessionPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").finish_non_exhaustive()
    }
}
