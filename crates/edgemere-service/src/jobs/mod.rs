//! Jobs: queries that run to their end with nobody reading, and whose rows are kept for a while.
//!
//! 1. [`Jobs::start`] takes a query that runs, and gives a [`Job`] with an id that nobody guesses.
//! 2. `keep` takes the query's batches one after the other and appends each to a file of the job
//!    (`file`), an Arrow IPC stream, within what `store` has room for.
//! 3. [`Reader`] gives the batches that are there and waits for those that come, any number of
//!    times and while the job runs.
//! 4. A job that failed or was cancelled has no rows. One that is whole has them until its time is
//!    over, somebody has it forgotten, or newer ones need the room.
//!
//! Jobs do not outlive the node: what is left in the folder is removed when it is opened. They do not
//! know who may ask; they only remember who did.

mod error;
mod file;
mod job;
mod keep;
mod limits;
mod reader;
mod store;

use std::io;
use std::path::Path;
use std::sync::Arc;

pub use self::error::Error;
pub use self::job::{Job, State, Status};
pub use self::limits::Limits;
pub use self::reader::Reader;
use self::store::Store;
use edgemere_query::sql::Query;
use edgemere_storage::private;

/// The owner of jobs that nobody asks for: no principal has this name.
const UNLISTED: &str = "\0";

/// The jobs of a node. Clones are the same.
#[derive(Clone, Debug)]
pub struct Jobs {
    store: Arc<Store>,
}

impl Jobs {
    /// Jobs whose rows are in a folder that must be nobody else's: what is in it is removed.
    pub fn open(folder: &Path, limits: Limits) -> Result<Self, Error> {
        private::clear(folder).map_err(|error| Error::file("clear", error))?;
        Ok(Self { store: Arc::new(Store::new(folder, limits)) })
    }

    /// Whether one more job may begin, for who would rather know before the query runs.
    pub fn admit(&self) -> Result<(), Error> {
        self.store.admit()
    }

    /// Keeps the rows of a query, from here on and with nobody's help.
    pub async fn start(&self, owner: &str, query: Query) -> Result<Arc<Job>, Error> {
        let begin = keep::begin(Arc::clone(&self.store), owner.to_owned(), query);
        // On its own: whoever waits for it may go away, and leaves nothing half done.
        let begun = tokio::spawn(begin).await;
        begun.map_err(|error| Error::file("begin to write", io::Error::other(error)))?
    }

    /// Takes the rows that are left of a query to disk, with the room that jobs have, and gives them
    /// from there. They are nobody's job, and gone with the reader.
    pub async fn spill(&self, query: Query) -> Result<Reader, Error> {
        let job = self.start(UNLISTED, query).await?;
        let reader = job.read().await?;
        Ok(reader.forgetting(self.clone()))
    }

    /// The job of that id and owner.
    pub fn get(&self, owner: &str, id: &str) -> Result<Arc<Job>, Error> {
        self.store.find(owner, id).ok_or_else(|| Error::Unknown { id: id.to_owned() })
    }

    /// All jobs of an owner, the oldest first.
    #[must_use]
    pub fn all(&self, owner: &str) -> Vec<Arc<Job>> {
        self.store.all(owner)
    }

    /// What is known of a job now.
    #[must_use]
    pub fn status(&self, job: &Job) -> Status {
        job.status(self.store.limits().keep)
    }

    /// Cancels a job that runs, and forgets one that has ended. Says whether it was running.
    pub async fn remove(&self, job: &Arc<Job>) -> bool {
        let was_running = job.cancel();
        if !was_running {
            self.store.forget(job).await;
        }
        was_running
    }

    /// Cancels all jobs that run, forgets all with their rows, and takes no more.
    pub async fn close(&self) {
        self.store.close().await;
    }

    /// How many bytes of rows are kept.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.store.bytes()
    }
}
