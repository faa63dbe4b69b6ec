//! The tables as DataFusion's catalog: a database is a schema, and a table is what it was when the
//! query first named it, however often the query does. Views are put here when they are planned.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::error::Result;

use crate::sql::plan::missing::Missing;
use crate::sql::plan::tables::Tables;
use crate::sql::plan::visible::{Internal, visible};

/// The catalog's name.
pub(crate) const CATALOG: &str = "edgemere";

/// The tables of one query.
#[derive(Clone, Debug)]
pub(crate) struct Catalog {
    known: Arc<dyn Tables>,
    missing: Missing,
    sources: Arc<Sources>,
    /// Whether a plan has used anything but tables as they are.
    is_special: Arc<AtomicBool>,
    /// The internal columns that tables have for the planner.
    internal: Internal,
}

/// The snapshots that a query has taken and the views that it has planned, by database and name.
type Sources = Mutex<HashMap<(String, String), Found>>;

/// What stands for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A table as it is kept, with all of its internal columns.
    Table,
    /// A table with more rows than it has, and with the internal columns that the planner sees.
    Extended,
    /// A view, or whatever else has no internal columns.
    View,
}

#[derive(Clone, Debug)]
struct Found {
    source: Arc<dyn TableProvider>,
    kind: Kind,
}

impl Catalog {
    pub(crate) fn new(known: Arc<dyn Tables>, missing: Missing) -> Self {
        let internal = Internal::NONE;
        Self { known, missing, sources: Arc::default(), is_special: Arc::default(), internal }
    }

    /// The same tables, planned with these of their internal columns.
    pub(crate) fn with_internal(&self, internal: Internal) -> Self {
        Self { internal, ..self.clone() }
    }

    /// The internal columns that tables have for the planner.
    pub(crate) fn internal(&self) -> Internal {
        self.internal
    }

    /// The rows that the query could not have, and goes on without.
    pub(crate) fn missing_rows(&self) -> Vec<String> {
        self.missing.rows()
    }

    /// What there is, whether the query names it or not.
    pub(crate) fn known(&self) -> &dyn Tables {
        self.known.as_ref()
    }

    /// A table, or a view that was planned; none when there is neither. Always the same for one
    /// query.
    pub(crate) fn source(&self, dbms: &str, table: &str) -> Option<Arc<dyn TableProvider>> {
        self.found(dbms, table).map(|found| found.source)
    }

    /// The same with the internal columns that the planner is to see.
    pub(crate) fn planned(&self, dbms: &str, table: &str) -> Option<Arc<dyn TableProvider>> {
        let Found { source, kind } = self.found(dbms, table)?;
        Some(if kind == Kind::Table { visible(source, self.internal) } else { source })
    }

    fn found(&self, dbms: &str, table: &str) -> Option<Found> {
        let key = (dbms.to_owned(), table.to_owned());
        let mut sources = lock(&self.sources);
        if let Some(found) = sources.get(&key) {
            return Some(found.clone());
        }
        let source = self.known.source(dbms, table, &self.missing)?;
        let found = Found { source, kind: Kind::Table };
        sources.insert(key, found.clone());
        Some(found)
    }

    /// The columns of the tables that the query has named so far that were called otherwise where they
    /// came from, and how.
    pub(crate) fn originals(&self) -> Vec<(String, String)> {
        let is_table = |(_, found): &(&(String, String), &Found)| found.kind != Kind::View;
        let named: Vec<(String, String)> =
            lock(&self.sources).iter().filter(is_table).map(|(name, _)| name.clone()).collect();
        named.iter().flat_map(|(dbms, table)| self.known.originals(dbms, table)).collect()
    }

    /// Puts something in the place of a table, for this query: a view that was planned, or more
    /// rows than the table has.
    pub(crate) fn replace(
        &self,
        dbms: &str,
        table: &str,
        with: Arc<dyn TableProvider>,
        kind: Kind,
    ) {
        self.note_special();
        let found = Found { source: with, kind };
        lock(&self.sources).insert((dbms.to_owned(), table.to_owned()), found);
    }

    /// A plan comes of more than the names of tables and what columns they have.
    pub(crate) fn note_special(&self) {
        self.is_special.store(true, Ordering::Relaxed);
    }

    /// Whether plans came of nothing but that.
    pub(crate) fn are_plain(&self) -> bool {
        !self.is_special.load(Ordering::Relaxed)
    }

    /// Whether a view was planned, or something else put in the place of a table.
    pub(crate) fn has_view(&self, dbms: &str, name: &str) -> bool {
        self.kind(dbms, name).is_some_and(|kind| kind != Kind::Table)
    }

    /// What stands for a name, if it was named before.
    pub(crate) fn kind(&self, dbms: &str, name: &str) -> Option<Kind> {
        let sources = lock(&self.sources);
        sources.get(&(dbms.to_owned(), name.to_owned())).map(|found| found.kind)
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
        Ok(self.catalog.planned(&self.name, name))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.catalog.known.has(&self.name, name)
    }
}

fn lock(sources: &Sources) -> MutexGuard<'_, HashMap<(String, String), Found>> {
    sources.lock().unwrap_or_else(PoisonError::into_inner)
}
