//! What all queries are planned with, made once: the functions and the rules, of which there are
//! hundreds. A query takes a copy, with its own tables and its own moment; making it anew takes longer
//! than planning a short query.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::{CatalogProviderList, MemoryCatalogProviderList};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};

use super::catalog::{CATALOG, Catalog};
use super::physical::FILTER_RULES;
use super::{forbidden, functions};

/// What all queries are planned with.
pub(super) struct Common {
    /// With the rules that may be used for every query: see `physical`.
    careful: SessionState,
    /// With all rules.
    all: SessionState,
}

impl Common {
    /// The functions and the rules, with the options of every query.
    pub(super) fn new(runtime: &Arc<RuntimeEnv>, merge_bytes: usize) -> Self {
        let builder = SessionStateBuilder::new().with_default_features();
        let state = builder.with_config(config(merge_bytes)).with_runtime_env(Arc::clone(runtime));
        let context = SessionContext::new_with_state(state.build());
        register_functions(&context);
        let all = context.state();
        let rules = all.physical_optimizers().iter();
        let rules = rules.filter(|rule| !rule.name().starts_with(FILTER_RULES)).cloned().collect();
        let careful = SessionStateBuilder::new_from_existing(all.clone())
            .with_physical_optimizer_rules(rules)
            .build();
        Self { careful, all }
    }

    /// For one query on these tables, asked now. Names without a database are of this one.
    pub(super) fn state(&self, dbms: &str, tables: &Arc<Catalog>) -> SessionState {
        asked(self.careful.clone(), dbms, tables)
    }

    /// The same with all rules.
    pub(super) fn state_with_all_rules(&self, dbms: &str, tables: &Arc<Catalog>) -> SessionState {
        asked(self.all.clone(), dbms, tables)
    }

    /// The functions, for reading a plan that names them.
    pub(super) fn reading(&self, config: SessionConfig) -> SessionState {
        let mut state = self.careful.clone();
        *state.config_mut() = config;
        state
    }

    /// The same query with all rules.
    pub(super) fn with_all_rules(&self, of: &SessionState) -> SessionState {
        let mut state = self.all.clone();
        state.register_catalog_list(Arc::clone(of.catalog_list()));
        *state.config_mut() = of.config().clone();
        *state.execution_props_mut() = of.execution_props().clone();
        state
    }
}

/// A query on these tables begins.
fn asked(mut state: SessionState, dbms: &str, tables: &Arc<Catalog>) -> SessionState {
    let catalogs = MemoryCatalogProviderList::new();
    catalogs.register_catalog(CATALOG.to_owned(), Arc::clone(tables) as _);
    state.register_catalog_list(Arc::new(catalogs));
    state.config_mut().options_mut().catalog.default_schema = dbms.to_owned();
    state.mark_start_execution();
    state
}

/// Makes the functions of queries known to a session, and only those.
fn register_functions(context: &SessionContext) {
    forbidden::take_away(context);
    functions::register(context);
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
    // It compares what may be null in two plans of one query, one of which was simplified.
    config.options_mut().execution.skip_physical_aggregate_schema_check = true;
    config
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").finish_non_exhaustive()
    }
}
