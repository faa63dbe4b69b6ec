//! The catalog: which databases there are, and the tables and views of each by name.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::watch;

use crate::storage::Database;
use crate::storage::Retention;
use crate::storage::Table;
use crate::storage::View;
use crate::storage::persist::record::DatabaseRecord;

/// The databases of a storage. One is there while something is recorded of it, or while it has a
/// table or a view.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    databases: RwLock<BTreeMap<String, Entry>>,
    /// Counts the changes of which tables there are and which columns they have.
    layout: watch::Sender<u64>,
}

/// What a database has.
#[derive(Debug, Default)]
struct Entry {
    /// What is recorded, and under which id.
    record: Option<(u64, DatabaseRecord)>,
    tables: BTreeMap<String, Arc<Table>>,
    views: BTreeMap<String, Arc<View>>,
}

impl Entry {
    fn is_connected(&self) -> bool {
        self.record.as_ref().is_none_or(|(_, record)| record.connected)
    }

    fn is_nothing(&self) -> bool {
        self.record.is_none() && self.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.views.is_empty()
    }

    fn retention(&self) -> Retention {
        self.record.as_ref().map(|(_, record)| record.retention).unwrap_or_default()
    }
}

impl Catalog {
    /// The databases that answer.
    pub(crate) fn databases(&self) -> Vec<String> {
        let databases = self.read();
        let connected = databases.iter().filter(|(_, entry)| entry.is_connected());
        connected.map(|(name, _)| name.clone()).collect()
    }

    /// All databases, also those that do not answer.
    pub(crate) fn describe(&self) -> Vec<Database> {
        let describe = |(name, entry): (&String, &Entry)| Database {
            name: name.clone(),
            connected: entry.is_connected(),
            tables: entry.tables.len(),
            views: entry.views.len(),
            retention: entry.retention(),
        };
        self.read().iter().map(describe).collect()
    }

    /// Whether a database is there, and does not answer.
    pub(crate) fn is_disconnected(&self, dbms: &str) -> bool {
        self.read().get(dbms).is_some_and(|entry| !entry.is_connected())
    }

    pub(crate) fn has(&self, dbms: &str) -> bool {
        self.read().contains_key(dbms)
    }

    /// The tables of a database that answers.
    pub(crate) fn tables(&self, dbms: &str) -> Vec<Arc<Table>> {
        self.connected(dbms, |entry| entry.tables.values().cloned().collect())
    }

    /// The tables of a database, whether or not it answers.
    pub(crate) fn tables_of(&self, dbms: &str) -> Vec<Arc<Table>> {
        let databases = self.read();
        databases.get(dbms).into_iter().flat_map(|entry| entry.tables.values()).cloned().collect()
    }

    /// The tables of all databases, also of those that do not answer.
    pub(crate) fn all(&self) -> Vec<Arc<Table>> {
        self.read().values().flat_map(|entry| entry.tables.values()).cloned().collect()
    }

    pub(crate) fn get(&self, dbms: &str, name: &str) -> Option<Arc<Table>> {
        self.connected(dbms, |entry| entry.tables.get(name).cloned())
    }

    /// The views of a database that answers.
    pub(crate) fn views(&self, dbms: &str) -> Vec<Arc<View>> {
        self.connected(dbms, |entry| entry.views.values().cloned().collect())
    }

    /// The views of a database, whether or not it answers.
    pub(crate) fn views_of(&self, dbms: &str) -> Vec<Arc<View>> {
        let databases = self.read();
        databases.get(dbms).into_iter().flat_map(|entry| entry.views.values()).cloned().collect()
    }

    pub(crate) fn view(&self, dbms: &str, name: &str) -> Option<Arc<View>> {
        self.connected(dbms, |entry| entry.views.get(name).cloned())
    }

    /// How many tables there are.
    pub(crate) fn len(&self) -> usize {
        self.read().values().map(|entry| entry.tables.len()).sum()
    }

    /// How many views there are.
    pub(crate) fn views_len(&self) -> usize {
        self.read().values().map(|entry| entry.views.len()).sum()
    }

    /// Of how many databases something is recorded.
    pub(crate) fn records_len(&self) -> usize {
        self.read().values().filter(|entry| entry.record.is_some()).count()
    }

    /// How much of a table is kept: what it says itself, or else its database. Of a database that
    /// does not answer everything is.
    pub(crate) fn retention(&self, table: &Table) -> Retention {
        let own = table.retention();
        let of_database = self.connected(table.dbms(), |entry| Some(entry.retention()));
        match of_database {
            Some(_) if own.is_set() => own,
            Some(of_database) => of_database,
            None => Retention::default(),
        }
    }

    pub(crate) fn record(&self, dbms: &str) -> Option<(u64, DatabaseRecord)> {
        self.read().get(dbms)?.record.clone()
    }

    pub(crate) fn set_record(&self, id: u64, record: DatabaseRecord) {
        {
            let mut databases = self.write();
            let entry = databases.entry(record.name.clone()).or_default();
            entry.record = Some((id, record));
        }
        self.note_layout();
    }

    pub(crate) fn insert(&self, table: Arc<Table>) {
        {
            let mut databases = self.write();
            let entry = databases.entry(table.dbms().to_owned()).or_default();
            entry.tables.insert(table.name().to_owned(), table);
        }
        self.note_layout();
    }

    /// Tells who watches that a table or a column is new.
    pub(crate) fn note_layout(&self) {
        self.layout.send_modify(|count| *count += 1);
    }

    /// Counts the changes of which tables there are and which columns they have.
    pub(crate) fn layout(&self) -> watch::Receiver<u64> {
        self.layout.subscribe()
    }

    pub(crate) fn remove(&self, dbms: &str, name: &str) {
        self.change(dbms, |entry| _ = entry.tables.remove(name));
    }

    pub(crate) fn insert_view(&self, view: Arc<View>) {
        let mut databases = self.write();
        let entry = databases.entry(view.dbms.clone()).or_default();
        entry.views.insert(view.name.clone(), view);
    }

    pub(crate) fn remove_view(&self, dbms: &str, name: &str) {
        self.change(dbms, |entry| _ = entry.views.remove(name));
    }

    pub(crate) fn remove_database(&self, dbms: &str) {
        self.write().remove(dbms);
    }

    /// Changes a database, and forgets it when nothing is left of it.
    fn change(&self, dbms: &str, change: impl FnOnce(&mut Entry)) {
        let mut databases = self.write();
        if let Some(entry) = databases.get_mut(dbms) {
            change(entry);
            if entry.is_nothing() {
                databases.remove(dbms);
            }
        }
    }

    /// What a database has, if it answers.
    fn connected<T: Default>(&self, dbms: &str, look: impl FnOnce(&Entry) -> T) -> T {
        let databases = self.read();
        databases.get(dbms).filter(|entry| entry.is_connected()).map(look).unwrap_or_default()
    }

    fn read(&self) -> RwLockReadGuard<'_, BTreeMap<String, Entry>> {
        self.databases.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, Entry>> {
        self.databases.write().unwrap_or_else(PoisonError::into_inner)
    }
}
