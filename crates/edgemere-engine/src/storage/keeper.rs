//! The keeper: a thread that settles and compacts tables when it is time, and drops what is not to be
//! kept any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::catalog::Catalog;
use super::compact::{Eagerness, compact};
use super::retain::retain;
use super::settle::{is_full, is_old, settle};
use super::shared::Shared;
use super::{Error, Table, damage};

/// How often it looks around when nobody calls it.
const ROUND_EVERY: Duration = Duration::from_secs(1);

/// How long a table is left alone after something failed.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Keeps the tables until the storage is closed.
pub(crate) fn run(shared: &Shared, catalog: &Catalog) {
    let mut keeper = Keeper { shared, failed: HashMap::new(), retained: None };
    for table in catalog.all() {
        keeper.compact(&table);
    }
    while !shared.is_closed() {
        keeper.round(catalog.all());
        keeper.retain(catalog);
        keeper.record_damage(catalog);
        shared.bell.wait(ROUND_EVERY);
    }
}

struct Keeper<'a> {
    shared: &'a Shared,
    /// When something failed for a table, by its id.
    failed: HashMap<u64, Instant>,
    /// When it last looked for what is not to be kept.
    retained: Option<Instant>,
}

impl Keeper<'_> {
    /// Settles every table that is due, the largest first, since that frees the most memory.
    fn round(&mut self, tables: Vec<Arc<Table>>) {
        self.failed.retain(|_, at| at.elapsed() < RETRY_AFTER);
        if self.failed.is_empty() {
            self.shared.set_trouble(None);
        }
        let mut due: Vec<_> = tables
            .into_iter()
            .map(|table| (table.stats().fresh_bytes, table))
            .filter(|(bytes, table)| *bytes > 0 && !self.failed.contains_key(&table.id))
            .collect();
        due.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        for (_, table) in due {
            if self.shared.is_closed() {
                return;
            }
            if self.is_due(&table) && self.settle(&table) {
                self.compact(&table);
            }
        }
    }

    fn is_due(&self, table: &Table) -> bool {
        let state = table.state();
        is_full(&state, self.shared) || is_old(&state, self.shared.options.settle_age)
    }

    fn settle(&mut self, table: &Arc<Table>) -> bool {
        let started = Instant::now();
        match settle(table) {
            Ok(rows) => {
                let (dbms, name) = (table.dbms(), table.name());
                let ms = started.elapsed().as_millis();
                tracing::debug!(dbms, table = name, rows, ms, "settled");
                true
            }
            Err(error) => {
                self.failed(table, "settle", &error);
                false
            }
        }
    }

    fn compact(&mut self, table: &Arc<Table>) {
        let eagerness = Eagerness::Lazy(self.shared.options.compact_files);
        if let Err(error) = compact(table, eagerness) {
            self.failed(table, "compact", &error);
        }
    }

    fn retain(&mut self, catalog: &Catalog) {
        let every = self.shared.options.retain_every;
        if self.retained.is_some_and(|at| at.elapsed() < every) {
            return;
        }
        self.retained = Some(Instant::now());
        for table in catalog.all() {
            if let Err(error) = retain(&table, catalog.retention(&table)) {
                self.failed(&table, "retain", &error);
            }
        }
    }

    /// Tells the manifest which files were found damaged, or whole again.
    fn record_damage(&mut self, catalog: &Catalog) {
        for table in catalog.all() {
            if !self.failed.contains_key(&table.id)
                && let Err(error) = damage::record(&table)
            {
                self.failed(&table, "record the damage of", &error);
            }
        }
    }

    fn failed(&mut self, table: &Table, what: &'static str, error: &Error) {
        // A table that was dropped meanwhile is no trouble.
        if matches!(error, Error::NotFound { .. } | Error::Closed) {
            return;
        }
        let (dbms, name) = (table.dbms(), table.name());
        tracing::warn!(dbms, table = name, what, %error, "the upkeep of a table failed");
        self.shared.set_trouble(Some(error.to_string()));
        self.failed.insert(table.id, Instant::now());
    }
}
