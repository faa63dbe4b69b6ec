//! Databases: connected, they answer; disconnected, they do not, and keep what they have; dropped,
//! they are gone with everything.

use std::sync::Arc;

use crate::storage::Error;
use crate::storage::Retention;
use crate::storage::Storage;
use crate::storage::handle::{Inner, blocking};
use crate::storage::options::DATABASES_MAX;
use crate::storage::persist::keyspace::Keyspace;
use crate::storage::persist::record::DatabaseRecord;
use crate::storage::persist::store::Apply;
use crate::storage::tables::name;

/// A database of a storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Database {
    /// Its name.
    pub name: String,
    /// Whether it answers. One that does not keeps what it has.
    pub connected: bool,
    /// How many tables it has.
    pub tables: usize,
    /// How many views it has.
    pub views: usize,
    /// How much is kept of its tables that do not say it themselves.
    pub retention: Retention,
}

impl Storage {
    /// All databases, sorted by name, also those that do not answer.
    #[must_use]
    pub fn all_databases(&self) -> Vec<Database> {
        self.inner.catalog.describe()
    }

    /// Whether a database is there and does not answer.
    #[must_use]
    pub fn is_disconnected(&self, dbms: &str) -> bool {
        self.inner.catalog.is_disconnected(dbms)
    }

    /// Makes a database that answers, durable when this returns. From now on it is there also
    /// without a table.
    pub async fn connect(&self, dbms: &str) -> Result<(), Error> {
        name::check("database", dbms)?;
        let (inner, dbms) = (Arc::clone(&self.inner), dbms.to_owned());
        blocking(move || inner.record(&dbms, |record| record.connected = true)).await
    }

    /// Makes a database answer no more, durable when this returns. It keeps what it has.
    pub async fn disconnect(&self, dbms: &str) -> Result<(), Error> {
        let (inner, dbms) = (Arc::clone(&self.inner), dbms.to_owned());
        blocking(move || {
            inner.known(&dbms)?;
            inner.record(&dbms, |record| record.connected = false)
        })
        .await
    }

    /// Drops a database with everything in it, durable when this returns. Unless it is empty it must
    /// have been disconnected before.
    pub async fn drop_database(&self, dbms: &str) -> Result<(), Error> {
        let (inner, dbms) = (Arc::clone(&self.inner), dbms.to_owned());
        blocking(move || inner.drop_database(&dbms)).await
    }
}

impl Inner {
    /// Changes what is recorded of a database.
    pub(crate) fn record(
        &self,
        dbms: &str,
        change: impl FnOnce(&mut DatabaseRecord),
    ) -> Result<(), Error> {
        self.shared.store.commit(|writes, marks| {
            let known = self.catalog.record(dbms);
            if known.is_none() && self.catalog.records_len() >= DATABASES_MAX {
                let limit = format!("{DATABASES_MAX} databases");
                return Err(Error::TooLarge { what: "the storage", limit });
            }
            let (id, mut record) = known.unwrap_or_else(|| {
                let id = marks.next_table;
                marks.next_table += 1;
                let retention = Retention::default();
                (id, DatabaseRecord { name: dbms.to_owned(), connected: true, retention })
            });
            change(&mut record);
            writes.put_json(Keyspace::Databases, (id, 0), &record)?;
            let catalog = Arc::clone(&self.catalog);
            Ok(((), Box::new(move || catalog.set_record(id, record))))
        })
    }

    pub(crate) fn known(&self, dbms: &str) -> Result<(), Error> {
        match self.catalog.has(dbms) {
            true => Ok(()),
            false => Err(Error::NoDatabase { dbms: dbms.to_owned() }),
        }
    }

    fn drop_database(&self, dbms: &str) -> Result<(), Error> {
        self.known(dbms)?;
        let tables = self.catalog.tables_of(dbms);
        let _upkeep: Vec<_> = tables.iter().map(|table| table.upkeep()).collect();
        self.shared.store.commit(|writes, _| {
            let views = self.catalog.views_of(dbms);
            // No table comes to one that does not answer, nor to one that had none.
            let found = self.catalog.tables_of(dbms).len();
            let is_empty = found == 0 && views.is_empty();
            if !(is_empty || self.catalog.is_disconnected(dbms) && found == tables.len()) {
                return Err(Error::Connected { dbms: dbms.to_owned() });
            }
            let mut applies: Vec<Apply> = Vec::new();
            for table in &tables {
                applies.push(self.remove_table(writes, table)?);
            }
            writes.remove(Keyspace::Views, views.iter().map(|view| (view.id, 0)))?;
            let record = self.catalog.record(dbms);
            writes.remove(Keyspace::Databases, record.map(|(id, _)| (id, 0)))?;
            let (catalog, dbms) = (Arc::clone(&self.catalog), dbms.to_owned());
            let apply = move || {
                applies.into_iter().for_each(|apply| apply());
                catalog.remove_database(&dbms);
            };
            Ok(((), Box::new(apply)))
        })
    }
}
