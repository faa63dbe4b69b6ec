//! SQL on the network: many operators answer as one database.
//!
//! One query, top to bottom, on the query node:
//!
//! 1. [`Sql`] parses and validates the statement as it does for local SQL, on the tables of a
//!    [`ShardMap`] (`catalog`, `shards`).
//! 2. DataFusion plans it as if all rows were here. A `scan` only describes an operator's shard. `pruning`
//!    leaves out shards that cannot have a matching row.
//! 3. `planner` divides the plan into fragments that operators run on their own rows (`pushdown` says which
//!    steps may go there), and a rest that needs the rows of all. `merge_scan` connects the two.
//! 4. The `coordinator` sends all fragments at once (`remote_task`), before anything runs.
//! 5. The rest of the plan runs here, and streams as a local query does.
//!
//! [`Sql`]: crate::sql::Sql
//!
//! On an operator, [`Worker`] takes the fragment: `gate` admits only steps of `pushdown`, `snapshot_pin` holds the rows as
//! they are, `replan` plans the fragment on the operator's own files, and `fragment` runs it. `end_of_stream`
//! closes its rows, so that a broken connection is never taken for their end. `protocol` and `codec` are
//! what both sides agree on.
//!
//! Invariants: a scan runs on the operator that it names, or nowhere. A result has all rows of an
//! operator or none, and says which. Both sides check a message before they decode it (`requests`,
//! `flight_messages`). `now()` is a moment of the query node.

mod catalog;
mod channel;
mod codec;
mod coordinator;
mod end_of_stream;
mod error;
mod explain;
mod flight_messages;
mod fragment;
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod merge_scan;
mod planner;
mod positions_seen;
mod progress;
mod protocol;
mod pruning;
mod pushdown;
mod remote_task;
mod replan;
mod requests;
mod scan;
mod shards;
mod snapshot_pin;
mod subqueries;
mod verified_channel;
mod worker;

use std::fmt;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;

use self::channel::Channels;
pub use self::channel::ConnectTimeouts;
pub(crate) use self::coordinator::DistributedQuery;
pub use self::error::Error;
pub use self::explain::{Explained, FragmentPlan};
pub(crate) use self::explain::{is_scan, task_plan};
pub use self::positions_seen::{SEEN_MAX, Seen};
pub use self::progress::{OperatorProgress, Progress, State};
pub use self::remote_task::Credentials;
use self::remote_task::RemoteTaskClient;
pub use self::shards::{Bound, Operator, Shard, ShardMap, Table};
pub use self::worker::{Admission, Caller, Identity, Own, Worker};
use crate::sql::Tables;

/// The way to the operators. Clones share their connections.
#[derive(Clone)]
pub(crate) struct Coordinator {
    channels: Channels,
    credentials: Arc<dyn Credentials>,
    seen: Seen,
}

impl Coordinator {
    pub(crate) fn new(credentials: Arc<dyn Credentials>, patience: ConnectTimeouts) -> Self {
        Self { channels: Channels::new(patience), credentials, seen: Seen::default() }
    }

    /// The same, with what is remembered of operators.
    pub(crate) fn remembering(self, seen: Seen) -> Self {
        Self { seen, ..self }
    }

    /// The work of one query, whose memory is taken from `runtime`.
    pub(crate) fn distributed_query(
        &self,
        subset: bool,
        progress: &Progress,
        runtime: Arc<RuntimeEnv>,
    ) -> Result<Arc<DistributedQuery>> {
        let credentials = Arc::clone(&self.credentials);
        let (channels, seen) = (self.channels.clone(), self.seen.clone());
        let links = RemoteTaskClient::new(channels, credentials, seen, runtime, subset)?;
        Ok(Arc::new(DistributedQuery::new(links, subset, progress.clone())))
    }
}

/// The tables that a placement knows, to be asked.
pub(crate) fn tables(placement: Arc<dyn ShardMap>) -> Arc<dyn Tables> {
    Arc::new(catalog::NetworkTables(placement))
}

impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").finish_non_exhaustive()
    }
}
