//! The tables of the network as DataFusion's catalog. A table is what its placement was when the query
//! first named it, however often it does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::operators::{Parts, Placement};
use super::scan::OperatorScan;
use crate::sql::Tables;

/// The tables of one query.
#[derive(Clone, Debug)]
pub(super) struct Catalog {
    placement: Arc<dyn Placement>,
    known: Arc<Mutex<HashMap<(String, String), Arc<Placed>>>>,
}

impl Catalog {
    pub(super) fn new(placement: Arc<dyn Placement>) -> Self {
        Self { placement, known: Arc::default() }
    }

    fn find(&self, dbms: &str, table: &str) -> Option<Arc<Placed>> {
        let key = (dbms.to_owned(), table.to_owned());
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(placed) = known.get(&key) {
            return Some(Arc::clone(placed));
        }
        let found = self.placement.table(dbms, table)?;
        let placed = Arc::new(Placed {
            dbms: dbms.to_owned(),
            table: table.to_owned(),
            schema: found.schema.arrow_with_system(),
            parts: found.parts.into(),
        });
        known.insert(key, Arc::clone(&placed));
        Some(placed)
    }
}

impl Tables for Catalog {
    fn databases(&self) -> Vec<String> {
        self.placement.databases()
    }

    fn tables(&self, dbms: &str) -> Vec<String> {
        self.placement.tables(dbms)
    }

    fn has(&self, dbms: &str, table: &str) -> bool {
        self.find(dbms, table).is_some()
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        self.placement.databases()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        Some(Arc::new(Database { name: name.to_owned(), catalog: self.clone() }))
    }
}

#[derive(Debug)]
struct Database {
    name: String,
    catalog: Catalog,
}

#[async_trait]
impl SchemaProvider for Database {
    fn table_names(&self) -> Vec<String> {
        self.catalog.placement.tables(&self.name)
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.catalog.find(&self.name, name).map(|placed| placed as _))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.catalog.find(&self.name, name).is_some()
    }
}

/// A table, and where its parts are.
#[derive(Debug)]
struct Placed {
    dbms: String,
    table: String,
    schema: SchemaRef,
    parts: Parts,
}

#[async_trait]
impl TableProvider for Placed {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// Filters and limits stay in the plan, and go to the operators with it.
    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(columns) => Arc::new(self.schema.project(columns)?),
            None => Arc::clone(&self.schema),
        };
        Ok(Arc::new(OperatorScan::new(&self.dbms, &self.table, schema, Arc::clone(&self.parts))))
    }
}
