//! Which jobs there are, and the room that their rows have.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::Error;
use super::job::Job;
use super::limits::Limits;
use edgemere_query::sql;

/// The jobs, and their room.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    limits: Limits,
    list: Mutex<List>,
}

#[derive(Debug, Default)]
struct List {
    /// The oldest first.
    jobs: Vec<Arc<Job>>,
    /// What the rows of all of them take, those that are about to be written included.
    bytes: u64,
    is_closed: bool,
}

impl Store {
    pub(super) fn new(folder: &Path, limits: Limits) -> Self {
        Self { folder: folder.to_owned(), limits, list: Mutex::default() }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Whether one more may begin.
    pub(super) fn admit(&self) -> Result<(), Error> {
        self.lock().admit(&self.limits)
    }

    /// Adds a job, in the place of the first that ended when there are too many.
    pub(super) fn insert(&self, job: &Arc<Job>) -> Result<(), Error> {
        let mut list = self.lock();
        list.admit(&self.limits)?;
        list.jobs.push(Arc::clone(job));
        let surplus = list.jobs.len().saturating_sub(self.limits.jobs);
        let gone: Vec<_> = (0..surplus).filter_map(|_| list.take_ended()).collect();
        drop(list);
        // They are few and rarely large, and nobody waits for it.
        tokio::spawn(throw_away(gone));
        Ok(())
    }

    /// Makes room for more rows of a job, where there is some. Those that have ended go first.
    pub(super) async fn reserve(&self, job: &Job, bytes: u64) -> Result<(), Error> {
        let (gone, reserved) = self.lock().reserve(job, bytes, &self.limits);
        throw_away(gone).await;
        reserved
    }

    /// Throws away the rows of a job that has none to give, and remembers it.
    pub(super) async fn release(&self, job: &Arc<Job>) {
        self.lock().bytes -= job.take_held();
        throw_away(vec![Arc::clone(job)]).await;
    }

    /// Forgets a job with its rows.
    pub(super) async fn forget(&self, job: &Arc<Job>) {
        let gone = self.lock().take(job);
        throw_away(gone.into_iter().collect()).await;
    }

    pub(super) fn find(&self, owner: &str, id: &str) -> Option<Arc<Job>> {
        let list = self.lock();
        list.jobs.iter().find(|job| job.id() == id && job.owner() == owner).cloned()
    }

    pub(super) fn all(&self, owner: &str) -> Vec<Arc<Job>> {
        self.lock().jobs.iter().filter(|job| job.owner() == owner).cloned().collect()
    }

    /// Cancels all that run, forgets all with their rows, and takes no more.
    pub(super) async fn close(&self) {
        let jobs = self.lock().close();
        throw_away(jobs).await;
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl List {
    fn admit(&self, limits: &Limits) -> Result<(), Error> {
        if self.is_closed {
            return Err(sql::Error::Stopped.into());
        }
        let running = self.jobs.iter().filter(|job| job.ended_at().is_none());
        let held = |job: &Arc<Job>| job.held_bytes.load(Ordering::Relaxed);
        let (count, bytes) = running.fold((0, 0), |(n, sum), job| (n + 1, sum + held(job)));
        let running_max = limits.running.min(limits.jobs);
        if count >= running_max {
            return Err(Error::TooMany { limit: running_max });
        }
        // All that have ended would make room.
        match bytes >= limits.total_bytes {
            true => Err(Error::NoRoom { limit_bytes: limits.total_bytes }),
            false => Ok(()),
        }
    }

    fn close(&mut self) -> Vec<Arc<Job>> {
        self.is_closed = true;
        let jobs = std::mem::take(&mut self.jobs);
        for job in &jobs {
            job.cancel();
            self.bytes -= job.take_held();
            job.forget();
        }
        jobs
    }

    /// Makes room, and gives the jobs that went for it.
    fn reserve(
        &mut self,
        job: &Job,
        bytes: u64,
        limits: &Limits,
    ) -> (Vec<Arc<Job>>, Result<(), Error>) {
        let mut gone = Vec::new();
        if job.held_bytes.load(Ordering::Relaxed) + bytes > limits.job_bytes {
            return (gone, Err(Error::TooLarge { limit_bytes: limits.job_bytes }));
        }
        while self.bytes + bytes > limits.total_bytes {
            match self.take_ended() {
                Some(job) => gone.push(job),
                None => return (gone, Err(Error::NoRoom { limit_bytes: limits.total_bytes })),
            }
        }
        job.held_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        (gone, Ok(()))
    }

    /// Takes out the job that ended first, rather one that nobody reads.
    fn take_ended(&mut self) -> Option<Arc<Job>> {
        let ended = self.jobs.iter().filter_map(|job| Some((job, job.ended_at()?)));
        let (job, _) = ended.min_by_key(|(job, at)| (job.is_being_read(), *at))?;
        self.take(&Arc::clone(job))
    }

    /// Takes out a job, and gives its room back.
    fn take(&mut self, job: &Arc<Job>) -> Option<Arc<Job>> {
        let at = self.jobs.iter().position(|known| Arc::ptr_eq(known, job))?;
        let job = self.jobs.remove(at);
        self.bytes -= job.take_held();
        job.forget();
        Some(job)
    }
}

/// Removes the files of jobs.
async fn throw_away(jobs: Vec<Arc<Job>>) {
    if jobs.is_empty() {
        return;
    }
    let remove = move || jobs.iter().for_each(|job| job.file().throw_away());
    if let Err(error) = tokio::task::spawn_blocking(remove).await {
        tracing::warn!(%error, "the rows of jobs could not be removed");
    }
}
