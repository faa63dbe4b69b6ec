//! One job: whose it is, how far it is, how it ended, and its file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use uuid::Uuid;

use super::error::Error;
use super::file::{RowsFile, Writer};
use super::reader::Reader;
use edgemere_query::distributed::OperatorProgress;
use edgemere_query::sql::{self, Batch, Query, Watched};

/// How a job is doing.
#[derive(Clone, Debug)]
pub enum State {
    /// It runs.
    Running,
    /// All of its rows are there.
    Completed,
    /// It failed, and has no rows.
    Failed(Error),
    /// Somebody cancelled it, and it has no rows.
    Cancelled,
}

/// What is known of a job.
#[derive(Clone, Debug)]
pub struct Status {
    /// Under which it is asked for.
    pub id: String,
    /// How it is doing.
    pub state: State,
    /// How many rows are there,
    pub rows: u64,
    /// and how many bytes these are.
    pub bytes: u64,
    /// How long it has taken, or took.
    pub elapsed: Duration,
    /// Until when it is remembered, of one that has ended.
    pub kept_until: Option<Timestamp>,
    /// Its query.
    pub query: sql::Status,
}

/// A query whose rows are kept.
#[derive(Debug)]
pub struct Job {
    id: String,
    owner: String,
    query: Watched,
    /// No rows, with the columns of the result.
    like: Batch,
    file: RowsFile,
    progress: watch::Sender<Progress>,
    /// The room that its rows have, which the store counts.
    pub(super) held_bytes: AtomicU64,
    forgotten: Notify,
}

/// How far a job is.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) state: State,
    /// How many batches are in the file.
    pub(super) batches: u64,
    pub(super) rows: u64,
    pub(super) bytes: u64,
    /// When it ended, and after what time.
    ended: Option<(Timestamp, Duration)>,
    pub(super) is_forgotten: bool,
}

impl Job {
    /// A job of a query that has begun, with a file for its rows.
    pub(super) async fn create(
        folder: &Path,
        owner: &str,
        query: &Query,
    ) -> Result<(Self, Writer), Error> {
        // Random, so that knowing one job's id says nothing of another's.
        let id = Uuid::new_v4().simple().to_string();
        let (file, writer) = RowsFile::create(folder.join(format!("{id}.arrows"))).await?;
        let progress = Progress {
            state: State::Running,
            batches: 0,
            rows: 0,
            bytes: 0,
            ended: None,
            is_forgotten: false,
        };
        let job = Self {
            id,
            owner: owner.to_owned(),
            query: query.watched(),
            like: query.no_rows(),
            file,
            progress: watch::Sender::new(progress),
            held_bytes: AtomicU64::new(0),
            forgotten: Notify::new(),
        };
        Ok((job, writer))
    }

    /// Under which it is asked for.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Who made it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Its rows from the first one on: those that are there, and those that come.
    pub async fn read(self: &Arc<Self>) -> Result<Reader, Error> {
        Reader::open(Arc::clone(self), self.progress.subscribe()).await
    }

    /// What is known of it now, when it is kept so long after its end.
    pub(super) fn status(&self, keep: Duration) -> Status {
        let query = self.query.status();
        let progress = self.progress.borrow().clone();
        let (ended_at, elapsed) = progress.ended.unzip();
        Status {
            id: self.id.clone(),
            state: progress.state,
            rows: progress.rows,
            bytes: progress.bytes,
            elapsed: elapsed.unwrap_or(query.elapsed),
            kept_until: ended_at.map(|at| at.saturating_add(keep).unwrap_or(Timestamp::MAX)),
            query,
        }
    }

    /// Cancels it, and says whether it was running.
    pub(super) fn cancel(&self) -> bool {
        let was_running = self.end(State::Cancelled);
        self.query.cancel();
        was_running
    }

    /// Ends it when it runs, and says whether it did.
    pub(super) fn end(&self, state: State) -> bool {
        let elapsed = self.query.status().elapsed;
        self.progress.send_if_modified(|progress| {
            let is_running = matches!(progress.state, State::Running);
            if is_running {
                progress.state = state;
                progress.ended = Some((Timestamp::now(), elapsed));
            }
            is_running
        })
    }

    /// So much was written, with so many rows: one batch, or none.
    pub(super) fn wrote(&self, bytes: u64, rows: usize) {
        self.progress.send_modify(|progress| {
            progress.bytes += bytes;
            progress.rows += rows as u64;
            progress.batches += u64::from(rows > 0);
        });
    }

    /// When it ended; none while it runs.
    pub(super) fn ended_at(&self) -> Option<Timestamp> {
        self.progress.borrow().ended.map(|(at, _)| at)
    }

    pub(super) fn is_completed(&self) -> bool {
        matches!(self.progress.borrow().state, State::Completed)
    }

    pub(super) fn is_being_read(&self) -> bool {
        self.progress.receiver_count() > 0
    }

    /// Lets everybody know who reads it or waits for its time to be over.
    pub(super) fn forget(&self) {
        self.progress.send_modify(|progress| progress.is_forgotten = true);
        self.forgotten.notify_one();
    }

    /// Waits until it is forgotten. Only one may wait.
    pub(super) async fn forgotten(&self) {
        self.forgotten.notified().await;
    }

    pub(super) fn operators(&self) -> Vec<OperatorProgress> {
        self.query.status().operators
    }

    pub(super) fn missing_rows(&self) -> Vec<String> {
        self.query.missing_rows()
    }

    pub(super) fn file(&self) -> &RowsFile {
        &self.file
    }

    pub(super) fn like(&self) -> &Batch {
        &self.like
    }

    /// Takes what it held, to be given back.
    pub(super) fn take_held(&self) -> u64 {
        self.held_bytes.swap(0, Ordering::Relaxed)
    }
}
