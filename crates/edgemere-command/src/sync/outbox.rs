//! Policies on their way to the master: sent in order, and settled in one write with what came of
//! them.

use std::sync::Arc;
use std::time::Duration;

use edgemere_ledger::{Ledger, Policy};

use super::{State, catch_up};
use crate::error::Error;
use crate::node::Node;
use crate::peers::Published;

/// How many policies, and about how many bytes of them, are sent at once.
const POLICIES_MAX: usize = 100;
const BYTES_MAX: usize = 1 << 20;

/// How long somebody who adds a policy waits for the master to have it.
const DELIVERY_TIME: Duration = Duration::from_secs(3);

/// How often the same policies are sent before they are left for later.
const ROUNDS_IDLE_MAX: usize = 3;

/// Why the master refused a policy.
type Refusal = (String, Error);

/// A policy that was sent, and what the master has made of it.
type Settled = (Arc<Policy>, Option<Policy>);

/// Sends what waits for the master until nothing does, and gives what was refused. What was taken
/// waits until it has come back. An error says why the rest goes on waiting.
pub async fn flush(node: &Arc<Node>) -> Result<Vec<(String, Error)>, Error> {
    let Some(master) = node.follows() else { return Ok(Vec::new()) };
    let synchronizer = node.synchronizer();
    if let State::Refused(reason) = synchronizer.status().state {
        // Nothing of this network is for a master that is not its own.
        return Err(edgemere_ledger::Error::HistoryRefused { reason }.into());
    }
    let _turn = synchronizer.sending.lock().await;
    let mut refusals = Vec::new();
    let mut rounds_idle = 0;
    while rounds_idle < ROUNDS_IDLE_MAX {
        let policies = next(node.ledger());
        let Some(first) = policies.first().and_then(|policy| policy.id()) else { break };
        let published =
            node.settings().peers.publish(master, &policies, node.settings().identity.id()).await;
        let Published { answers, end } =
            published.inspect_err(|error| synchronizer.note_failed(master, error))?;
        if answers.len() != policies.len() {
            let reason = format!("it answered for {} of {}", answers.len(), policies.len());
            return Err(Error::PeerUnreachable { address: master.into(), reason });
        }
        let (settled, refused) = sort(&policies, answers);
        refused.iter().for_each(|(id, error)| synchronizer.note_refused(id, error));
        refusals.extend(refused);
        node.change_ledger(move |ledger| ledger.settle(settled, &end)).await?;
        catch_up(node).await?;
        rounds_idle = if node.ledger().waits(first) { rounds_idle + 1 } else { 0 };
    }
    Ok(refusals)
}

/// Sends a policy that was just added and waits for the master. When the master refuses it, it is
/// taken back, and the refusal is the error; when the master is not there, it waits.
pub(crate) async fn deliver(node: &Arc<Node>, id: String) -> Result<(), Error> {
    let flushed = tokio::time::timeout(DELIVERY_TIME, flush(node)).await;
    let late = |_| {
        let address = node.follows().unwrap_or_default().to_owned();
        let error = Error::PeerTimeout { address: address.clone(), timeout: DELIVERY_TIME };
        node.synchronizer().note_failed(&address, &error);
        error
    };
    match flushed.map_err(late).flatten() {
        Ok(refusals) => match refusals.into_iter().find(|(refused, _)| *refused == id) {
            None => Ok(()),
            Some((_, error)) => {
                node.change_ledger(move |ledger| ledger.remove(&[id]).map(drop)).await?;
                Err(error)
            }
        },
        Err(error) => {
            let reason = error.message();
            tracing::info!(id, reason, "a policy waits for the master");
            Ok(())
        }
    }
}

/// Sends what waits for the master, when it answers: when it did not answer last time, what waits goes
/// on waiting, and nobody waits for it.
pub(crate) async fn deliver_all(node: &Arc<Node>) -> Result<(), Error> {
    let state = node.synchronizer().status().state;
    let is_away = matches!(state, State::Failed(_) | State::Refused(_));
    if node.ledger().waiting() == 0 || is_away {
        return Ok(());
    }
    flush(node).await.map(drop)
}

fn next(ledger: &Ledger) -> Vec<Arc<Policy>> {
    let mut room = BYTES_MAX;
    let mut policies = Vec::new();
    for policy in ledger.outbox(POLICIES_MAX) {
        let bytes = policy.to_string().len();
        if bytes > room && !policies.is_empty() {
            break;
        }
        room = room.saturating_sub(bytes);
        policies.push(policy);
    }
    policies
}

/// What each policy has become, and which were refused.
fn sort(sent: &[Arc<Policy>], answers: Vec<Result<Policy, Error>>) -> (Vec<Settled>, Vec<Refusal>) {
    let mut settled = Vec::new();
    let mut refused = Vec::new();
    for (policy, answer) in sent.iter().zip(answers) {
        let taken = match answer {
            Ok(taken) => Some(taken),
            Err(error) => {
                refused.push((policy.id().unwrap_or_default().to_owned(), error));
                None
            }
        };
        settled.push((Arc::clone(policy), taken));
    }
    (settled, refused)
}
