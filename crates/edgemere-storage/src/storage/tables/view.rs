//! Views: a query under a name. The storage keeps the text, and does not know what it means.

use std::sync::Arc;

use crate::storage::Error;
use crate::storage::Storage;
use crate::storage::handle::{Inner, blocking};
use crate::storage::options::{VIEW_BYTES_MAX, VIEWS_MAX};
use crate::storage::persist::keyspace::Keyspace;
use crate::storage::persist::record::ViewRecord;
use crate::storage::tables::name;

/// A view of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    pub(crate) id: u64,
    /// The view's database.
    pub dbms: String,
    /// The view's name.
    pub name: String,
    /// The query.
    pub sql: String,
}

impl View {
    pub(crate) fn new(id: u64, record: ViewRecord) -> Arc<Self> {
        let ViewRecord { dbms, name, sql } = record;
        Arc::new(Self { id, dbms, name, sql })
    }
}

impl Storage {
    /// The views of a database, sorted by name.
    #[must_use]
    pub fn views(&self, dbms: &str) -> Vec<Arc<View>> {
        self.inner.catalog.views(dbms)
    }

    /// A view.
    #[must_use]
    pub fn view(&self, dbms: &str, name: &str) -> Option<Arc<View>> {
        self.inner.catalog.view(dbms, name)
    }

    /// Makes a view, durable when this returns.
    pub async fn create_view(&self, dbms: &str, name: &str, sql: &str) -> Result<(), Error> {
        name::check("database", dbms)?;
        name::check("view", name)?;
        if sql.len() > VIEW_BYTES_MAX {
            let limit = format!("{VIEW_BYTES_MAX} bytes");
            return Err(Error::TooLarge { what: "the view", limit });
        }
        let inner = Arc::clone(&self.inner);
        let record = ViewRecord { dbms: dbms.into(), name: name.into(), sql: sql.into() };
        blocking(move || inner.create_view(record)).await
    }

    /// Drops a view, durable when this returns.
    pub async fn drop_view(&self, dbms: &str, name: &str) -> Result<(), Error> {
        let (inner, dbms, name) = (Arc::clone(&self.inner), dbms.to_owned(), name.to_owned());
        blocking(move || inner.drop_view(&dbms, &name)).await
    }
}

impl Inner {
    fn create_view(&self, record: ViewRecord) -> Result<(), Error> {
        self.shared.store.commit(|writes, marks| {
            self.check_free(&record.dbms, &record.name)?;
            if self.catalog.get(&record.dbms, &record.name).is_some() {
                let (dbms, name) = (record.dbms, record.name);
                return Err(Error::Taken { what: "table", dbms, name });
            }
            if self.catalog.views_len() >= VIEWS_MAX {
                let limit = format!("{VIEWS_MAX} views");
                return Err(Error::TooLarge { what: "the storage", limit });
            }
            let id = marks.next_table;
            marks.next_table += 1;
            writes.put_json(Keyspace::Views, (id, 0), &record)?;
            let (catalog, view) = (Arc::clone(&self.catalog), View::new(id, record));
            Ok(((), Box::new(move || catalog.insert_view(view))))
        })
    }

    fn drop_view(&self, dbms: &str, name: &str) -> Result<(), Error> {
        self.shared.store.commit(|writes, _| {
            self.check_connected(dbms)?;
            let Some(view) = self.catalog.view(dbms, name) else {
                return Err(Error::NoView { dbms: dbms.to_owned(), view: name.to_owned() });
            };
            writes.remove(Keyspace::Views, [(view.id, 0)])?;
            let catalog = Arc::clone(&self.catalog);
            Ok(((), Box::new(move || catalog.remove_view(&view.dbms, &view.name))))
        })
    }

    /// Refuses a name that is a view's, and a database that does not answer.
    pub(crate) fn check_free(&self, dbms: &str, name: &str) -> Result<(), Error> {
        self.check_connected(dbms)?;
        match self.catalog.view(dbms, name) {
            None => Ok(()),
            Some(_) => {
                Err(Error::Taken { what: "view", dbms: dbms.to_owned(), name: name.to_owned() })
            }
        }
    }

    pub(crate) fn check_connected(&self, dbms: &str) -> Result<(), Error> {
        match self.catalog.is_disconnected(dbms) {
            false => Ok(()),
            true => Err(Error::Disconnected { dbms: dbms.to_owned() }),
        }
    }
}
