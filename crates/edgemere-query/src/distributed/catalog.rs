//! The tables of the network, for the planner of `sql`: where it finds rows in a storage, here it finds
//! a description of who holds them.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::scan::OperatorScan;
use super::shards::{ShardMap, Shards};
use crate::sql::{Missing, Tables};
use edgemere_storage::storage::View;

/// The tables that a placement knows.
#[derive(Debug)]
pub(super) struct NetworkTables(pub(super) Arc<dyn ShardMap>);

impl Tables for NetworkTables {
    fn databases(&self) -> Vec<String> {
        self.0.databases()
    }

    fn is_disconnected(&self, _: &str) -> bool {
        false
    }

    fn tables(&self, dbms: &str) -> Vec<String> {
        self.0.tables(dbms)
    }

    fn has(&self, dbms: &str, table: &str) -> bool {
        self.0.table(dbms, table).is_some()
    }

    fn source(&self, dbms: &str, table: &str, _: &Missing) -> Option<Arc<dyn TableProvider>> {
        let found = self.0.table(dbms, table)?;
        Some(Arc::new(NetworkTable {
            dbms: dbms.to_owned(),
            table: table.to_owned(),
            schema: found.schema.arrow_with_system(),
            parts: found.parts.into(),
        }))
    }

    fn originals(&self, dbms: &str, table: &str) -> Vec<(String, String)> {
        self.0.table(dbms, table).map(|table| table.schema.originals()).unwrap_or_default()
    }

    /// Views are of one node, and their tables are that node's.
    fn views(&self, _: &str) -> Vec<String> {
        vec![]
    }

    fn view(&self, _: &str, _: &str) -> Option<Arc<View>> {
        None
    }
}

/// A table, and where its parts are.
#[derive(Debug)]
struct NetworkTable {
    dbms: String,
    table: String,
    schema: SchemaRef,
    parts: Shards,
}

#[async_trait]
impl TableProvider for NetworkTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// A limit stays in the plan, and goes to the operators with it.
    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(columns) => Arc::new(self.schema.project(columns)?),
            None => Arc::clone(&self.schema),
        };
        let scan = OperatorScan::new(&self.dbms, &self.table, schema, Arc::clone(&self.parts));
        Ok(Arc::new(scan.with_filters(filters, &self.schema)?))
    }

    /// Filters rule out files on the operators; what is left is filtered again.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}
