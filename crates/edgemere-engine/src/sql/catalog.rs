//! The storage as DataFusion's catalog: a database is a schema, and a table is one snapshot for as
//! long as the query lives, however often the query names it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::error::Result;

use super::source::Source;
use crate::storage::Storage;

/// The catalog's name.
pub(super) const CATALOG: &str = "edgemere";

/// The tables of one query.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    storage: Storage,
    sources: Arc<Sources>,
}

/// The snapshots that a query has taken, by database and table.
type Sources = Mutex<HashMap<(String, String), Arc<Source>>>;

impl Catalog {
    pub(super) fn new(storage: Storage) -> Self {
        Self { storage, sources: Arc::default() }
    }

    /// A table as it was when the query first named it.
    pub(crate) fn table(&self, dbms: &str, name: &str) -> Option<Arc<dyn TableProvider>> {
        let key = (dbms.to_owned(), name.to_owned());
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(source) = sources.get(&key) {
            return Some(Arc::clone(source) as _);
        }
        let source = Arc::new(Source::new(self.storage.table(dbms, name)?.snapshot()));
        sources.insert(key, Arc::clone(&source));
        Some(source)
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        self.storage.databases()
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
        self.catalog
            .storage
            .tables(&self.name)
            .iter()
            .map(|table| table.name().to_owned())
            .collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.catalog.table(&self.name, name))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.catalog.storage.table(&self.name, name).is_some()
    }
}
