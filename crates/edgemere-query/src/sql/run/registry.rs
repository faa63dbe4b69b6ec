//! The queries that run, and the last ones that ran: who asked, how far they are, how they are
//! planned; and the way to cancel one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::distributed;
use crate::sql::error::Error;
use crate::sql::output::batch::Batch;
use crate::sql::plan::explain::{Plan, shortened};
use crate::sql::run::deadline::Deadline;
use crate::sql::run::scan_metrics::Count;

/// How many queries that have ended are remembered. Those that run always are.
const ENDED_MAX: usize = 100;

/// How many bytes of a query's text are remembered.
const SQL_BYTES_MAX: usize = 16 * 1024;

/// The queries of a node. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct QueryRegistry {
    list: Arc<Mutex<List>>,
}

#[derive(Debug, Default)]
struct List {
    last: u64,
    queries: VecDeque<Arc<Entry>>,
}

/// How a query is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// All rows were given.
    Completed,
    /// It failed, or was refused.
    Failed(String),
    /// Whoever asked went away, or somebody cancelled it.
    Cancelled,
}

/// What is known of a query.
#[derive(Clone, Debug)]
pub struct Status {
    /// Its number, which rises.
    pub id: u64,
    /// Who asked.
    pub caller: String,
    /// The database.
    pub dbms: String,
    /// The query, shortened when it is very long.
    pub sql: String,
    /// When it was asked.
    pub started: jiff::Timestamp,
    /// How it is doing.
    pub state: State,
    /// How long it has taken, or took.
    pub elapsed: Duration,
    /// After what time there were rows.
    pub first_rows: Option<Duration>,
    /// How many batches were given so far,
    pub batches: u64,
    /// and how many rows.
    pub rows: u64,
    /// How it is run; none when it could not be planned.
    pub plan: Option<Plan>,
    /// What each operator does for it; nothing when it is run here.
    pub operators: Vec<distributed::OperatorProgress>,
}

#[derive(Debug)]
struct Entry {
    id: u64,
    caller: String,
    dbms: String,
    sql: String,
    started_at: jiff::Timestamp,
    started: Instant,
    batches: AtomicU64,
    rows: AtomicU64,
    progress: Mutex<Progress>,
    network: distributed::Progress,
    cancelled: watch::Sender<bool>,
    /// What its work looks at while nobody waits for it.
    stop: OnceLock<Deadline>,
}

#[derive(Debug)]
struct Progress {
    state: State,
    first_rows: Option<Duration>,
    elapsed: Option<Duration>,
    plan: Option<Plan>,
    read: Option<Count>,
}

impl QueryRegistry {
    /// A query begins.
    pub(crate) fn begin(
        &self,
        caller: &str,
        dbms: &str,
        sql: &str,
        network: distributed::Progress,
    ) -> QueryHandle {
        let mut list = self.lock();
        list.last += 1;
        let entry = Arc::new(Entry {
            id: list.last,
            caller: caller.to_owned(),
            dbms: dbms.to_owned(),
            sql: shortened(sql.to_owned(), SQL_BYTES_MAX),
            started_at: jiff::Timestamp::now(),
            started: Instant::now(),
            batches: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            progress: Mutex::new(Progress {
                state: State::Running,
                first_rows: None,
                elapsed: None,
                plan: None,
                read: None,
            }),
            network,
            cancelled: watch::Sender::new(false),
            stop: OnceLock::new(),
        });
        list.queries.push_back(Arc::clone(&entry));
        list.forget();
        QueryHandle { entry }
    }

    /// All that are remembered, the oldest first.
    #[must_use]
    pub fn all(&self) -> Vec<Status> {
        self.lock().queries.iter().map(|entry| entry.status()).collect()
    }

    /// The last that was asked.
    #[must_use]
    pub fn last(&self) -> Option<Status> {
        self.lock().queries.back().map(|entry| entry.status())
    }

    /// The one of that number, while it is remembered.
    #[must_use]
    pub fn get(&self, id: u64) -> Option<Status> {
        self.find(id).map(|entry| entry.status())
    }

    /// Cancels the query of that number; none when it is not known, false when it had ended.
    #[must_use]
    pub fn cancel(&self, id: u64) -> Option<bool> {
        self.find(id).map(|entry| entry.cancel())
    }

    fn find(&self, id: u64) -> Option<Arc<Entry>> {
        self.lock().queries.iter().find(|entry| entry.id == id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    /// Forgets the oldest that have ended when there are too many.
    fn forget(&mut self) {
        let ended = self.queries.iter().filter(|entry| entry.has_ended()).count();
        let mut surplus = ended.saturating_sub(ENDED_MAX);
        self.queries.retain(|entry| {
            let goes = surplus > 0 && entry.has_ended();
            surplus -= usize::from(goes);
            !goes
        });
    }
}

impl Entry {
    fn status(&self) -> Status {
        let progress = self.progress();
        Status {
            id: self.id,
            caller: self.caller.clone(),
            dbms: self.dbms.clone(),
            sql: self.sql.clone(),
            started: self.started_at,
            state: progress.state.clone(),
            elapsed: progress.elapsed.unwrap_or_else(|| self.started.elapsed()),
            first_rows: progress.first_rows,
            batches: self.batches.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            plan: progress.plan.clone(),
            operators: self.network.shares(),
        }
    }

    /// How many rows were read of the tables so far: here, and by the operators that are done.
    fn rows_read(&self) -> u64 {
        let there: u64 = self.network.shares().iter().map(|share| share.rows_read).sum();
        self.progress().read.as_ref().map_or(0, Count::rows) + there
    }

    /// Cancels it, and returns whether it was running.
    fn cancel(&self) -> bool {
        let was_running = self.end(State::Cancelled);
        self.cancelled.send_replace(true);
        if let Some(stop) = self.stop.get() {
            stop.now();
        }
        was_running
    }

    fn has_ended(&self) -> bool {
        self.progress().state != State::Running
    }

    /// Ends it, and returns whether it was running.
    fn end(&self, state: State) -> bool {
        let mut progress = self.progress();
        let is_running = progress.state == State::Running;
        if is_running {
            self.network.query_ended(state == State::Completed);
            progress.state = state;
            progress.elapsed = Some(self.started.elapsed());
        }
        is_running
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A query as others see it, for as long as they want to. Clones are the same.
#[derive(Clone, Debug)]
pub struct Watched {
    entry: Arc<Entry>,
}

impl Watched {
    /// What is known of it now.
    #[must_use]
    pub fn status(&self) -> Status {
        self.entry.status()
    }

    /// What each operator does for it; nothing when it is run here.
    #[must_use]
    pub fn operators(&self) -> Vec<distributed::OperatorProgress> {
        self.entry.network.shares()
    }

    /// The rows that it goes on without, because their files are damaged.
    #[must_use]
    pub fn missing_rows(&self) -> Vec<String> {
        self.entry.network.missing_rows()
    }

    /// How many rows were read of the tables so far: here, and by the operators that are done.
    #[must_use]
    pub fn rows_read(&self) -> u64 {
        self.entry.rows_read()
    }

    /// Cancels it, and returns whether it was running.
    pub fn cancel(&self) -> bool {
        self.entry.cancel()
    }
}

/// What a query has while it runs. When it is dropped before the end, the query was cancelled.
#[derive(Debug)]
pub(crate) struct QueryHandle {
    entry: Arc<Entry>,
}

impl QueryHandle {
    /// What each operator does for it.
    pub(crate) fn operators(&self) -> Vec<distributed::OperatorProgress> {
        self.entry.network.shares()
    }

    pub(crate) fn watched(&self) -> Watched {
        Watched { entry: Arc::clone(&self.entry) }
    }

    /// Has its work end with it when it is cancelled.
    pub(crate) fn stops(&self, stop: &Deadline) {
        let _ = self.entry.stop.set(stop.clone());
    }

    pub(crate) fn planned(&self, plan: Plan, read: Count) {
        let mut progress = self.entry.progress();
        progress.plan = Some(plan);
        progress.read = Some(read);
    }

    pub(crate) fn rows_read(&self) -> u64 {
        self.entry.rows_read()
    }

    pub(crate) fn failed(&self, error: &Error) {
        error.log();
        self.entry.end(State::Failed(error.to_string()));
    }

    /// Takes note of what comes out of the query.
    pub(crate) fn note(&self, next: Option<&Result<Batch, Error>>) {
        match next {
            None => _ = self.entry.end(State::Completed),
            Some(Err(error)) => self.failed(error),
            Some(Ok(batch)) => {
                let first = self.entry.batches.fetch_add(1, Ordering::Relaxed) == 0;
                self.entry.rows.fetch_add(batch.rows() as u64, Ordering::Relaxed);
                if first {
                    self.entry.progress().first_rows = Some(self.entry.started.elapsed());
                }
            }
        }
    }

    /// Waits until the query is cancelled. Any number may wait.
    pub(crate) fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut cancelled = self.entry.cancelled.subscribe();
        async move {
            if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
                // Nobody can cancel it any more.
                std::future::pending().await
            }
        }
    }
}

impl Drop for QueryHandle {
    fn drop(&mut self) {
        self.entry.end(State::Cancelled);
    }
}
