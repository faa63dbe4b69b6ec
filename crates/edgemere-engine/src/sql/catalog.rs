//! The storage as DataFusion's catalog: a database is a schema, and a table is one snapshot for as
//! long as the query lives, however often the query names it. Views are put here when they are
//! planned.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::error::Result;

use super::source::Source;
use crate::storage::Storage;

/// The catalog's name.
pub(super) const CATALOG: &str = "edgemere";

/// The tables of one query.
#[derive(Debug)]
pub(super) struct Catalog {
    storage: Storage,
    sources: Arc<Sources>,
}

/// The snapshots that a query has taken and the views that it has planned, by database and name.
type Sources = Mutex<HashMap<(String, String), Arc<dyn TableProvider>>>;

impl Catalog {
    pub(super) fn new(storage: Storage) -> Self {
        Self { storage, sources: Arc::default() }
    }

    /// A table, or a view that was planned; none when there is neither.
    pub(super) fn source(&self, dbms: &str, table: &str) -> Option<Arc<dyn TableProvider>> {
        source(&self.storage, &self.sources, dbms, table)
    }

    /// Puts something in the place of a table, for this query: a view that was planned, or more
    /// rows than the table has.
    pub(super) fn replace(&self, dbms: &str, table: &str, with: Arc<dyn TableProvider>) {
        lock(&self.sources).insert((dbms.to_owned(), table.to_owned()), with);
    }

    /// Whether a view was planned.
    pub(super) fn has_view(&self, dbms: &str, name: &str) -> bool {
        lock(&self.sources).contains_key(&(dbms.to_owned(), name.to_owned()))
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        self.storage.databases()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        Some(Arc::new(Database {
            name: name.to_owned(),
            storage: self.storage.clone(),
            sources: Arc::clone(&self.sources),
        }))
    }
}

#[derive(Debug)]
struct Database {
    name: String,
    storage: Storage,
    sources: Arc<Sources>,
}

#[async_trait]
impl SchemaProvider for Database {
    fn table_names(&self) -> Vec<String> {
        self.storage.tables(&self.name).iter().map(|table| table.name().to_owned()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(source(&self.storage, &self.sources, &self.name, name))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.storage.table(&self.name, name).is_some()
    }
}

/// A table, always the same for one query.
fn source(
    storage: &Storage,
    sources: &Sources,
    dbms: &str,
    table: &str,
) -> Option<Arc<dyn TableProvider>> {
    let key = (dbms.to_owned(), table.to_owned());
    let mut sources = lock(sources);
    if let Some(source) = sources.get(&key) {
        return Some(Arc::clone(source));
    }
    let source: Arc<dyn TableProvider> =
        Arc::new(Source::new(storage.table(dbms, table)?.snapshot()));
    sources.insert(key, Arc::clone(&source));
    Some(source)
}

fn lock(sources: &Sources) -> MutexGuard<'_, HashMap<(String, String), Arc<dyn TableProvider>>> {
    sources.lock().unwrap_or_else(PoisonError::into_inner)
}
