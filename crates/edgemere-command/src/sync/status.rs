//! How it goes with the master: what `get synchronizer` and `get processes` tell.

use std::sync::PoisonError;
use std::time::Instant;

use edgemere_ledger::Error as LedgerError;
use edgemere_service::Error as ServiceError;

use super::Synchronizer;
use crate::error::Error;

/// What is known of the exchange with the master.
#[derive(Clone, Debug, Default)]
pub(crate) struct Status {
    pub(crate) state: State,
    /// When the copy was last known to be the master's ledger.
    pub(crate) in_step_at: Option<Instant>,
    /// How often the master was asked.
    pub(crate) calls: u64,
    /// How often it had something new.
    pub(crate) loads: u64,
    /// How many of the calls succeeded, and how many did not.
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// How many policies the master refused, and why the last one.
    pub(crate) refused: u64,
    pub(crate) refusal: Option<String>,
}

/// How old a copy of the ledger is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerAge {
    /// How many seconds ago it was last known to be the master's.
    pub seconds: u64,
    /// From when on an answer by it is not called complete.
    pub seconds_max: u64,
}

impl LedgerAge {
    /// Whether an answer may be without operators that the copy does not know.
    #[must_use]
    pub fn is_stale(self) -> bool {
        self.seconds > self.seconds_max
    }
}

/// How it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// The master was not asked yet.
    #[default]
    Starting,
    /// There is more to fetch.
    Behind,
    /// The copy is the master's ledger.
    InStep,
    /// The master does not answer, or not as it should.
    Failed(String),
    /// The master's ledger is not the one of this node's network, or has lost policies.
    Refused(String),
}

impl Synchronizer {
    /// How it stands now.
    pub(crate) fn status(&self) -> Status {
        self.status.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Notes that a call has come back, with whether there is more and whether something was new.
    pub(super) fn note_pulled(&self, behind: bool, loaded: bool) {
        let mut was_failed = false;
        self.note(|status| {
            was_failed = matches!(status.state, State::Failed(_) | State::Refused(_));
            status.calls += 1;
            status.succeeded += 1;
            status.loads += u64::from(loaded);
            status.state = if behind { State::Behind } else { State::InStep };
            if !behind {
                status.in_step_at = Some(Instant::now());
            }
        });
        if was_failed {
            tracing::info!("the master answers again");
        }
    }

    /// Notes that a call has failed; the log hears of it once.
    pub(super) fn note_failed(&self, master: &str, error: &Error) {
        let reason = error.message();
        let mut is_news = false;
        self.note(|status| {
            status.calls += 1;
            status.failed += 1;
            let state = match error {
                Error::Service(ServiceError::Ledger(LedgerError::HistoryRefused { reason })) => {
                    State::Refused(reason.clone())
                }
                _ => State::Failed(reason.clone()),
            };
            is_news = status.state != state;
            status.state = state;
        });
        if is_news {
            tracing::warn!(
                master,
                reason,
                hint = error.hint().map(|hint| hint.to_string()),
                "not in step with the master: the last copy of the ledger is used, and new \
                 policies wait"
            );
        }
    }

    pub(super) fn note_refused(&self, id: &str, error: &Error) {
        let reason = error.message();
        tracing::warn!(id, reason, "the master refused a policy; it stays with this node alone");
        self.note(|status| {
            status.refused += 1;
            status.refusal = Some(reason);
        });
    }

    fn note(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.status.write().unwrap_or_else(PoisonError::into_inner));
    }
}
