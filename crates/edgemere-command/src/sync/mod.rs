//! Keeping in step with the master, which keeps the network's ledger.
//!
//! 1. A policy that a node makes for the network is added to its own ledger at once, with the mark
//!    that the master is to get it. `outbox` sends what is marked, in order, as soon as the master
//!    answers. The master takes the same policy once, however often it comes (`serve`).
//! 2. `pull` asks the master for what is new. The master answers when there is something, so that a
//!    change is everywhere a moment later, and nobody needs a way back to a node.
//! 3. After a change of the copy, `own` sees to it that the node's own policies are in it.
//! 4. `run` goes round these for as long as the node runs. When the master is not there, everything
//!    goes on with the last copy.
//!
//! How the master is reached is [`crate::Peers`]' business.

mod outbox;
mod own;
mod pull;
mod run;
pub mod serve;
mod status;

use std::sync::{Arc, RwLock};
use std::time::Duration;

use edgemere_ledger::{Follower, Ledger};
use tokio::sync::{Mutex, Notify, watch};

pub use self::outbox::flush;
pub(crate) use self::outbox::{deliver, deliver_all};
pub use self::own::{found, operator, operator_id, publish_position, register};
pub use self::pull::catch_up;
pub use self::run::run;
pub use self::status::LedgerAge;
pub(crate) use self::status::{State, Status};

/// How long the master keeps a question open when it has nothing new.
pub(crate) const WAIT: Duration = Duration::from_secs(25);

/// What a node keeps for staying in step.
#[derive(Debug)]
pub(crate) struct Synchronizer {
    follower: Arc<Mutex<Follower>>,
    /// Held while policies are sent, so that they arrive in their order.
    sending: Mutex<()>,
    status: RwLock<Status>,
    signals: Arc<Signals>,
}

/// What a change of the ledger sets off.
#[derive(Debug, Default)]
struct Signals {
    /// Something waits to be sent.
    wake: Notify,
    /// The ledger has changed.
    changed: watch::Sender<()>,
}

impl Synchronizer {
    /// Changes whenever the ledger does.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.signals.changed.subscribe()
    }

    pub(crate) fn new(ledger: &Ledger) -> Self {
        let signals = Arc::new(Signals::default());
        let told = Arc::clone(&signals);
        ledger.watch(move |ledger| {
            told.changed.send_replace(());
            if ledger.waiting() > 0 {
                told.wake.notify_one();
            }
        });
        Self {
            follower: Arc::new(Mutex::new(Follower::new(ledger.clone()))),
            sending: Mutex::default(),
            status: RwLock::default(),
            signals,
        }
    }
}
