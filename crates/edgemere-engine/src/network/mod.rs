//! SQL on the network: many operators answer as one database.
//!
//! One query, top to bottom, on the query node:
//!
//! 1. The statement is read and validated as local SQL is, by the same [`Sql`], on the tables that a
//!    [`Placement`] knows (`catalog`).
//! 2. DataFusion plans it as if all rows were here. A scan is only a description: `scan`.
//! 3. `planner` divides the plan: what each operator can do on its own rows (`safe`), and what has to
//!    see all of it. Between the two is a `gather`.
//! 4. All operators get their tasks at once (`tasks`, `link`), before anything runs.
//! 5. The rest of the plan runs here, and streams as a local query does.
//!
//! [`Sql`]: crate::sql::Sql
//!
//! And on an operator: [`Worker`]. What is agreed between the two is in `protocol`, `codec`, `safe`
//! and `ending`.
//!
//! What holds: a scan runs on the operator that it names, or nowhere. An operator's rows are in an
//! answer all or not at all, and the answer says which. What peers send is checked before it is decoded:
//! `requests` here and `answers` there. `now()` is a moment of the query node's.

mod answers;
mod catalog;
mod channel;
mod codec;
mod ending;
mod error;
mod expand;
mod explain;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod gather;
mod held;
mod link;
mod operators;
mod planner;
mod progress;
mod protocol;
mod proved;
mod requests;
mod ruling_out;
mod safe;
mod scan;
mod seen;
mod subqueries;
mod task;
mod tasks;
mod worker;

use std::fmt;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;

use self::channel::Channels;
pub use self::channel::Patience;
pub use self::error::Error;
pub use self::explain::{Explained, Portion};
pub(crate) use self::explain::{is_scan, task_plan};
pub use self::link::Credentials;
use self::link::Links;
pub use self::operators::{Bound, Operator, Part, Placement, Table};
pub use self::progress::{Progress, Share, State};
pub use self::seen::{SEEN_MAX, Seen};
pub(crate) use self::tasks::Job;
pub use self::worker::{Admission, Caller, Identity, Own, Worker};
use crate::sql::Tables;

/// The way to the operators. Clones share their connections.
#[derive(Clone)]
pub(crate) struct Remote {
    channels: Channels,
    credentials: Arc<dyn Credentials>,
    seen: Seen,
}

impl Remote {
    pub(crate) fn new(credentials: Arc<dyn Credentials>, patience: Patience) -> Self {
        Self { channels: Channels::new(patience), credentials, seen: Seen::default() }
    }

    /// The same, with what is remembered of operators.
    pub(crate) fn remembering(self, seen: Seen) -> Self {
        Self { seen, ..self }
    }

    /// The work of one query, whose memory is taken from `runtime`.
    pub(crate) fn job(
        &self,
        subset: bool,
        progress: &Progress,
        runtime: Arc<RuntimeEnv>,
    ) -> Result<Arc<Job>> {
        let credentials = Arc::clone(&self.credentials);
        let (channels, seen) = (self.channels.clone(), self.seen.clone());
        let links = Links::new(channels, credentials, seen, runtime, subset)?;
        Ok(Arc::new(Job::new(links, subset, progress.clone())))
    }
}

/// The tables that a placement knows, to be asked.
pub(crate) fn tables(placement: Arc<dyn Placement>) -> Arc<dyn Tables> {
    Arc::new(catalog::Placed(placement))
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}
