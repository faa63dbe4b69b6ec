//! The tables as DataFusion's catalog: a database is a schema, and a table is what it was when the
//! query first named it, however often the query does. Views are put here when they are planned.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::error::Result;

use super::missing::Missing;
use super::tables::Tables;

/// The catalog's name.
pub(super) const CATALOG: &str = "edgemere";

/// The tables of one query.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    known: Arc<dyn Tables>,
    missing: Missing,
    sources: Arc<Sources>,
    /// Whether a plan has used anything but tables as they are.
    is_special: Arc<AtomicBool>,
}

/// The snapshots that a query has taken and the views that it has planned, by database and name.
type Sources = Mutex<HashMap<(String, String), Arc<dyn TableProvider>>>;

impl Catalog {
    pub(super) fn new(known: Arc<dyn Tables>, missing: Missing) -> Self {
        Self { known, missing, sources: Arc::default(), is_special: Arc::default() }
    }

    /// The rows that the query could not have, and goes on without.
    pub(crate) fn missing_rows(&self) -> Vec<String> {
        self.missing.rows()
    }

    /// What there is, whether the query names it or not.
    pub(super) fn known(&self) -> &dyn Tables {
        self.known.as_ref()
    }

    /// A table, or a view that was planned; none when there is neither. Always the same for one
    /// query.
    pub(crate) fn source(&self, dbms: &str, table: &str) -> Option<Arc<dyn TableProvider>> {
        let key = (dbms.to_owned(), table.to_owned());
        let mut sources = lock(&self.sources);
        if let Some(source) = sources.get(&key) {
            return Some(Arc::clone(source));
        }
        let source = self.known.source(dbms, table, &self.missing)?;
        sources.insert(key, Arc::clone(&source));
        Some(source)
    }

    /// Puts something in the place of a table, for this query: a view that was planned, or more
    /// rows than the table has.
    pub(super) fn replace(&self, dbms: &str, table: &str, with: Arc<dyn TableProvider>) {
        self.note_special();
        lock(&self.sources).insert((dbms.to_owned(), table.to_owned()), with);
    }

    /// A plan comes of more than the names of tables and what columns they have.
    pub(super) fn note_special(&self) {
        self.is_special.store(true, Ordering::Relaxed);
    }

    /// Whether plans came of nothing but that.
    pub(super) fn are_plain(&self) -> bool {
        !self.is_special.load(Ordering::Relaxed)
    }

    /// Whether a view was planned.
    pub(super) fn has_view(&self, dbms: &str, name: &str) -> bool {
        lock(&self.sources).contains_key(&(dbms.to_owned(), name.to_owned()))
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        self.known.databases()
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
        self.catalog.known.tables(&self.name)
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        Ok(self.catalog.source(&self.name, name))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.catalog.known.has(&self.name, name)
    }
}

fn lock(sources: &Sources) -> MutexGuard<'_, HashMap<(String, String), Arc<dyn TableProvider>>> {
    sources.lock().unwrap_or_else(PoisonError::into_inner)
}
