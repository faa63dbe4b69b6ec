//! What there is to ask: the tables and views that the names of a query may mean. A node's storage is
//! one such, and all the operators of a network are another.

use std::fmt;
use std::sync::Arc;

use datafusion::catalog::TableProvider;

use crate::sql::plan::missing::{Missing, Name};
use crate::sql::plan::table_scan::LocalTable;
use edgemere_storage::storage::{Storage, View};

/// Tables and views by name.
pub(crate) trait Tables: fmt::Debug + Send + Sync {
    /// The databases.
    fn databases(&self) -> Vec<String>;

    /// Whether a database is there and does not answer.
    fn is_disconnected(&self, dbms: &str) -> bool;

    /// The names of a database's tables.
    fn tables(&self, dbms: &str) -> Vec<String>;

    /// Whether there is a table.
    fn has(&self, dbms: &str, table: &str) -> bool;

    /// A table as it is now, for a query that does this about rows that it cannot have.
    fn source(&self, dbms: &str, table: &str, missing: &Missing) -> Option<Arc<dyn TableProvider>>;

    /// The columns of a table that were called otherwise where they came from, and how.
    fn originals(&self, dbms: &str, table: &str) -> Vec<(String, String)>;

    /// The names of a database's views.
    fn views(&self, dbms: &str) -> Vec<String>;

    /// A view.
    fn view(&self, dbms: &str, name: &str) -> Option<Arc<View>>;
}

impl Tables for Storage {
    fn databases(&self) -> Vec<String> {
        self.databases()
    }

    fn is_disconnected(&self, dbms: &str) -> bool {
        self.is_disconnected(dbms)
    }

    fn tables(&self, dbms: &str) -> Vec<String> {
        self.tables(dbms).iter().map(|table| table.name().to_owned()).collect()
    }

    fn has(&self, dbms: &str, table: &str) -> bool {
        self.table(dbms, table).is_some()
    }

    fn source(&self, dbms: &str, table: &str, missing: &Missing) -> Option<Arc<dyn TableProvider>> {
        let snapshot = self.table(dbms, table)?.snapshot();
        let name = Name { dbms: dbms.to_owned(), table: table.to_owned() };
        Some(Arc::new(LocalTable::new(name, snapshot, missing.clone())))
    }

    fn originals(&self, dbms: &str, table: &str) -> Vec<(String, String)> {
        self.table(dbms, table).map(|table| table.schema().originals()).unwrap_or_default()
    }

    fn views(&self, dbms: &str) -> Vec<String> {
        self.views(dbms).iter().map(|view| view.name.clone()).collect()
    }

    fn view(&self, dbms: &str, name: &str) -> Option<Arc<View>> {
        self.view(dbms, name)
    }
}
