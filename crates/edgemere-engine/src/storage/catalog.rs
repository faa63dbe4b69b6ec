//! The catalog: which tables there are, by database and name.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::Table;

type Databases = BTreeMap<String, BTreeMap<String, Arc<Table>>>;

/// The tables of a storage. A database is there while it has a table.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    databases: RwLock<Databases>,
}

impl Catalog {
    pub(crate) fn databases(&self) -> Vec<String> {
        self.read().keys().cloned().collect()
    }

    pub(crate) fn tables(&self, dbms: &str) -> Vec<Arc<Table>> {
        self.read().get(dbms).into_iter().flat_map(BTreeMap::values).cloned().collect()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Table>> {
        self.read().values().flat_map(BTreeMap::values).cloned().collect()
    }

    pub(crate) fn get(&self, dbms: &str, name: &str) -> Option<Arc<Table>> {
        self.read().get(dbms)?.get(name).cloned()
    }

    pub(crate) fn len(&self) -> usize {
        self.read().values().map(BTreeMap::len).sum()
    }

    pub(crate) fn insert(&self, table: Arc<Table>) {
        let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
        let tables = databases.entry(table.dbms().to_owned()).or_default();
        tables.insert(table.name().to_owned(), table);
    }

    pub(crate) fn remove(&self, dbms: &str, name: &str) {
        let mut databases = self.databases.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(tables) = databases.get_mut(dbms) {
            tables.remove(name);
            if tables.is_empty() {
                databases.remove(dbms);
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Databases> {
        self.databases.read().unwrap_or_else(PoisonError::into_inner)
    }
}
