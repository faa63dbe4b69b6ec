//! What an old `fresh.redb` still tells, as much of it as can be read.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use redb::{Database, ReadTransaction, ReadableDatabase};
use serde::de::DeserializeOwned;

use crate::storage::Error;
use crate::storage::persist::folder::Folder;
use crate::storage::persist::keyspace::{Digests, Key, Keyspace, Values, parse, read_some};
use crate::storage::persist::record::{Counters, FileRecord, StoreHeader, TableRecord};
use crate::storage::repair::Repair;

/// The values of a store.
#[derive(Default)]
pub(super) struct Old {
    /// Whether all of it could be read.
    pub(super) is_whole: bool,
    pub(super) marks: Option<StoreHeader>,
    pub(super) tables: BTreeMap<u64, TableRecord>,
    pub(super) counters: BTreeMap<u64, Counters>,
    pub(super) files: BTreeMap<Key, FileRecord>,
    pub(super) blocks: Values,
    /// What is taken over as it is.
    pub(super) others: Vec<(Keyspace, Key, Vec<u8>)>,
}

impl Old {
    /// Reads what can be read, and says what cannot. The file itself is not changed: a copy is read.
    pub(super) fn read(folder: &Folder, report: &mut Repair) -> Result<Self, Error> {
        let fresh = folder.store();
        if fs::metadata(&fresh).map_or(true, |metadata| metadata.len() == 0) {
            report.needed = true;
            report.found.push("fresh.redb is not there".to_owned());
            return Ok(Self::default());
        }
        let copy = folder.path().join("fresh.redb.copy");
        fs::copy(&fresh, &copy).map_err(|error| Error::io("copy", &fresh, error))?;
        let mut old = Self { is_whole: true, ..Self::default() };
        let read = catch_unwind(AssertUnwindSafe(|| old.fill(&copy, report)));
        let _ = fs::remove_file(&copy);
        let problem = match read {
            Ok(Ok(())) => return Ok(old),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "reading it went astray".to_owned(),
        };
        report.needed = true;
        report.found.push(format!("fresh.redb cannot be read on: {problem}"));
        old.is_whole = false;
        Ok(old)
    }

    fn fill(&mut self, path: &Path, report: &mut Repair) -> Result<(), Error> {
        let failed = |error: redb::Error| Error::store("read", path, error);
        let database = Database::open(path).map_err(|error| failed(error.into()))?;
        let transaction = database.begin_read().map_err(|error| failed(error.into()))?;
        let mut shelf = |shelf| self.shelf(&transaction, path, shelf, report);
        // The catalog first: what comes after a shelf that cannot be read is lost.
        let (marks, tables) = (shelf(Keyspace::StoreHeader)?, shelf(Keyspace::Tables)?);
        let (counters, files) = (shelf(Keyspace::Counters)?, shelf(Keyspace::Files)?);
        let blocks = shelf(Keyspace::Blocks)?;
        let others = [
            Keyspace::Databases,
            Keyspace::Views,
            Keyspace::Retention,
            Keyspace::Keys,
            Keyspace::KeyPlaces,
            Keyspace::Clock,
            Keyspace::Epochs,
        ];
        let others: Vec<_> = others
            .into_iter()
            .map(|which| Ok((which, shelf(which)?)))
            .collect::<Result<_, Error>>()?;
        self.marks = records(path, &marks).next().map(|(_, marks)| marks);
        let digests = Digests::read(&transaction, path);
        if let (Some(marks), Ok(digests)) = (self.marks, digests)
            && !digests.fit(&marks)
        {
            self.is_whole = false;
            report.needed = true;
            report.missing.push("values of fresh.redb are gone".to_owned());
        }
        self.tables = records(path, &tables).map(|(key, table)| (key.0, table)).collect();
        self.counters = records(path, &counters).map(|(key, it)| (key.0, it)).collect();
        self.files = records(path, &files).collect();
        self.blocks = blocks;
        let all = |(shelf, values): (Keyspace, Values)| {
            values.into_iter().map(move |(key, value)| (shelf, key, value))
        };
        self.others = others.into_iter().flat_map(all).collect();
        Ok(())
    }

    fn shelf(
        &mut self,
        transaction: &ReadTransaction,
        path: &Path,
        shelf: Keyspace,
        report: &mut Repair,
    ) -> Result<Values, Error> {
        let (values, unreadable) = read_some(transaction, path, shelf)?;
        if unreadable > 0 {
            self.is_whole = false;
            report.needed = true;
            report
                .missing
                .push(format!("{unreadable} values of {shelf:?} in fresh.redb are damaged"));
        }
        Ok(values)
    }
}

fn records<T: DeserializeOwned>(path: &Path, values: &Values) -> impl Iterator<Item = (Key, T)> {
    values.iter().filter_map(|(key, value)| Some((*key, parse(path, value).ok()?)))
}
