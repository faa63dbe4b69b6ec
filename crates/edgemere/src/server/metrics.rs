//! Figures for Prometheus, at `/metrics`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use edgemere_command::Node;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use super::bodies::Bodies;

/// The node's figures.
#[derive(Debug)]
pub(super) struct Metrics {
    registry: Mutex<Registry>,
    commands: Family<CommandLabels, Counter>,
    seconds: Family<CommandName, Histogram, fn() -> Histogram>,
    policies: Gauge,
    memory: Gauge,
    queries: Gauge,
    query_memory: Gauge,
    query_spill: Gauge,
    stuck_threads: Gauge,
    cursors: Gauge,
    cursors_spilled: Gauge,
    cursors_dropped: Gauge,
    job_disk: Gauge,
    bodies: Arc<Bodies>,
    body_memory: Gauge,
    rows_stored: Counter,
    rows_rejected: Counter,
    damaged_files: Gauge,
    damaged_rows: Gauge,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CommandLabels {
    command: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CommandName {
    command: &'static str,
}

impl Metrics {
    pub(super) fn new(bodies: Arc<Bodies>) -> Self {
        // From 50 µs to 13 s.
        let histogram = || Histogram::new(exponential_buckets(0.000_05, 2.0, 18));
        let metrics = Self {
            registry: Mutex::default(),
            commands: Family::default(),
            seconds: Family::new_with_constructor(histogram),
            policies: Gauge::default(),
            memory: Gauge::default(),
            queries: Gauge::default(),
            query_memory: Gauge::default(),
            query_spill: Gauge::default(),
            stuck_threads: Gauge::default(),
            cursors: Gauge::default(),
            cursors_spilled: Gauge::default(),
            cursors_dropped: Gauge::default(),
            job_disk: Gauge::default(),
            bodies,
            body_memory: Gauge::default(),
            rows_stored: Counter::default(),
            rows_rejected: Counter::default(),
            damaged_files: Gauge::default(),
            damaged_rows: Gauge::default(),
        };
        let mut registry = Registry::with_prefix("edgemere");
        registry.register("commands", "Commands run", metrics.commands.clone());
        registry.register_with_unit(
            "command_duration",
            "Time that commands took",
            Unit::Seconds,
            metrics.seconds.clone(),
        );
        registry.register("ledger_policies", "Policies in the ledger", metrics.policies.clone());
        registry.register_with_unit(
            "resident_memory",
            "Memory that the process occupies",
            Unit::Bytes,
            metrics.memory.clone(),
        );
        registry.register("queries_running", "Queries that run", metrics.queries.clone());
        registry.register_with_unit(
            "query_memory",
            "Memory that queries have taken for what they do",
            Unit::Bytes,
            metrics.query_memory.clone(),
        );
        registry.register_with_unit(
            "query_spill",
            "Disk space of what does not fit in the memory of queries",
            Unit::Bytes,
            metrics.query_spill.clone(),
        );
        registry.register(
            "sql_stuck_threads",
            "Threads of queries that were replaced because they did not answer",
            metrics.stuck_threads.clone(),
        );
        registry.register_with_unit(
            "job_disk",
            "Disk space of the rows that jobs keep",
            Unit::Bytes,
            metrics.job_disk.clone(),
        );
        metrics.register_cursors(&mut registry);
        metrics.register_ingest(&mut registry);
        metrics.register_damage(&mut registry);
        Self { registry: Mutex::new(registry), ..metrics }
    }

    fn register_cursors(&self, registry: &mut Registry) {
        let [kept, spilled, dropped] =
            [&self.cursors, &self.cursors_spilled, &self.cursors_dropped].map(Gauge::clone);
        registry.register("cursors", "Results of which some rows were not taken yet", kept);
        let why = "Such results whose rows went to disk to give their memory back";
        registry.register("cursors_spilled", why, spilled);
        let why = "Such results that were dropped because there was no room for them";
        registry.register("cursors_dropped", why, dropped);
    }

    fn register_ingest(&self, registry: &mut Registry) {
        let (stored, rejected) = (self.rows_stored.clone(), self.rows_rejected.clone());
        registry.register("rows_stored", "Rows that were sent and are stored", stored);
        registry.register("rows_rejected", "Rows that were sent and do not fit", rejected);
        let Bodies { refused, late, .. } = &*self.bodies;
        registry.register(
            "bodies_refused",
            "Bodies that were refused because there was no room for them",
            refused.clone(),
        );
        registry.register("bodies_late", "Bodies that came too slowly", late.clone());
        registry.register_with_unit(
            "body_memory",
            "Room that the bodies of requests have taken",
            Unit::Bytes,
            self.body_memory.clone(),
        );
    }

    fn register_damage(&self, registry: &mut Registry) {
        let files = "Data files that are damaged or missing";
        registry.register("damaged_files", files, self.damaged_files.clone());
        let rows = "Rows in them, which cannot be read";
        registry.register("damaged_rows", rows, self.damaged_rows.clone());
    }

    /// Counts rows that were sent.
    pub(super) fn rows(&self, stored: usize, rejected: usize) {
        self.rows_stored.inc_by(stored as u64);
        self.rows_rejected.inc_by(rejected as u64);
    }

    /// Adds the figures of something beside the node.
    pub(super) fn add(&self, collector: Box<dyn Collector>) {
        let mut registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        registry.register_collector(collector);
    }

    /// Counts a command. Only declared names become labels, so nobody can make up new ones.
    pub(super) fn command(&self, name: Option<&'static str>, ok: bool, time: Duration) {
        let command = name.unwrap_or("unknown");
        let outcome = if ok { "ok" } else { "error" };
        self.commands.get_or_create(&CommandLabels { command, outcome }).inc();
        self.seconds.get_or_create(&CommandName { command }).observe(time.as_secs_f64());
    }

    /// The figures as Prometheus reads them.
    pub(super) fn text(&self, node: &Node) -> String {
        let sql = node.engine().sql();
        self.policies.set(node.ledger().len().try_into().unwrap_or(i64::MAX));
        self.queries.set(sql.running().try_into().unwrap_or(i64::MAX));
        self.query_memory.set(sql.memory_used_bytes().try_into().unwrap_or(i64::MAX));
        self.query_spill.set(sql.spilled_bytes().try_into().unwrap_or(i64::MAX));
        self.stuck_threads.set(sql.stuck_threads().try_into().unwrap_or(i64::MAX));
        let cursors = edgemere_command::results::cursors(node);
        self.cursors.set(cursors.kept.try_into().unwrap_or(i64::MAX));
        self.cursors_spilled.set(cursors.spilled.try_into().unwrap_or(i64::MAX));
        self.cursors_dropped.set(cursors.dropped.try_into().unwrap_or(i64::MAX));
        self.job_disk.set(node.jobs().bytes().try_into().unwrap_or(i64::MAX));
        self.body_memory.set(self.bodies.taken_bytes().try_into().unwrap_or(i64::MAX));
        let held = node.engine().storage().stats().total;
        self.damaged_files.set(held.damaged_files.try_into().unwrap_or(i64::MAX));
        self.damaged_rows.set(held.damaged_rows.try_into().unwrap_or(i64::MAX));
        self.memory.set(resident_bytes().unwrap_or(0));
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        match encode(&mut text, &registry) {
            Ok(()) => text,
            Err(error) => format!("# the figures cannot be written: {error}\n"),
        }
    }
}

/// The memory that the process occupies, where the system tells.
fn resident_bytes() -> Option<i64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
