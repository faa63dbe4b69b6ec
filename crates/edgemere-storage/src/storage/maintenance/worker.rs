//! The maintenance thread: flushes and compacts tables when it is time, and drops what is not to be
//! kept any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::storage::Error;
use crate::storage::Retention;
use crate::storage::Table;
use crate::storage::maintenance::compact::{Eagerness, compact};
use crate::storage::maintenance::flush::{flush, is_full, is_old};
use crate::storage::maintenance::retention::{By, remember_clock, retain};
use crate::storage::parquet_files::damage;
use crate::storage::shared::Shared;
use crate::storage::tables::catalog::Catalog;

/// How often it looks around when nobody calls it.
const ROUND_EVERY: Duration = Duration::from_secs(1);

/// How long a table is left alone after something failed.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// How long a table is left alone after half of it was dropped by age.
const HALVE_EVERY: Duration = Duration::from_secs(60 * 60);

/// How often it writes down which time it is.
const REMEMBER_EVERY: Duration = Duration::from_secs(60 * 60);

/// Keeps the tables until the storage is closed.
pub(crate) fn run(shared: &Shared, catalog: &Catalog) {
    let mut keeper = Maintenance {
        shared,
        failed: HashMap::new(),
        retained: None,
        halved: HashMap::new(),
        remembered: None,
    };
    for table in catalog.all() {
        keeper.compact(&table);
    }
    while !shared.is_closed() {
        keeper.round(catalog.all());
        keeper.retain(catalog);
        keeper.record_damage(catalog);
        shared.store.sync_witness();
        shared.wakeup.wait(ROUND_EVERY);
    }
}

struct Maintenance<'a> {
    shared: &'a Shared,
    /// When something failed for a table, by its id.
    failed: HashMap<u64, Instant>,
    /// When it last looked for what is not to be kept.
    retained: Option<Instant>,
    /// When half of a table was dropped, by its id.
    halved: HashMap<u64, Instant>,
    /// When it last wrote down which time it is.
    remembered: Option<Instant>,
}

impl Maintenance<'_> {
    /// Settles every table that is due, the largest first, since that frees the most memory.
    fn round(&mut self, tables: Vec<Arc<Table>>) {
        self.failed.retain(|_, at| at.elapsed() < RETRY_AFTER);
        if self.failed.is_empty() {
            self.shared.set_trouble(None);
        }
        let mut due: Vec<_> = tables
            .into_iter()
            .map(|table| (table.stats().memtable_bytes, table))
            .filter(|(bytes, table)| *bytes > 0 && !self.failed.contains_key(&table.id))
            .collect();
        due.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        for (_, table) in due {
            if self.shared.is_closed() {
                return;
            }
            if !self.is_due(&table) {
                continue;
            }
            if let Err(error) = self.shared.disk.check_flush(table.stats().memtable_bytes) {
                self.shared.set_trouble(Some(error.to_string()));
                continue;
            }
            if self.flush(&table) {
                self.compact(&table);
            }
        }
    }

    fn is_due(&self, table: &Table) -> bool {
        let state = table.state();
        is_full(&state, self.shared) || is_old(&state, self.shared.options.flush_age)
    }

    fn flush(&mut self, table: &Arc<Table>) -> bool {
        let started = Instant::now();
        match flush(table) {
            Ok(rows) => {
                let (dbms, name) = (table.dbms(), table.name());
                let ms = started.elapsed().as_millis();
                tracing::debug!(dbms, table = name, rows, ms, "flushed");
                true
            }
            Err(error) => {
                self.failed(table, "flush", &error);
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
        self.halved.retain(|_, at| at.elapsed() < HALVE_EVERY);
        let rules: Vec<_> =
            catalog.all().into_iter().map(|table| (catalog.retention(&table), table)).collect();
        if rules.iter().any(|(rule, _)| rule.max_age.is_some()) {
            self.remember_clock();
        }
        for (rule, table) in rules {
            // What was halved is left alone for a while, but for its size.
            let max_age = rule.max_age.filter(|_| !self.halved.contains_key(&table.id));
            if let Err(error) = retain(&table, Retention { max_age, ..rule }, By::Maintenance) {
                self.failed(&table, "retain", &error);
            }
            if max_age.is_some()
                && let Some(reason) = self.shared.held(table.id)
            {
                let (dbms, name) = (table.dbms(), table.name());
                tracing::warn!(dbms, table = name, reason, "retention holds rows back");
                self.halved.insert(table.id, Instant::now());
            }
        }
    }

    /// Writes down every hour which time it is, unless the clock is not to be trusted.
    fn remember_clock(&mut self) {
        let is_due = self.remembered.is_none_or(|at| at.elapsed() >= REMEMBER_EVERY);
        if self.shared.clock.check().is_err() || !is_due {
            return;
        }
        self.remembered = Some(Instant::now());
        if let Err(error) = remember_clock(self.shared) {
            tracing::warn!(%error, "the time could not be written down");
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
