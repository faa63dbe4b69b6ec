//! What the commands that change the ledger share: the policy as it is written, and the change
//! made on a thread that may wait for the disk.

use edgemere_ledger::{Ledger, Policy, Scope};
use serde_json::Value;

use crate::dispatch::Context;
use crate::error::Error;
use crate::language::term::Term;
use crate::sync;

/// The policy that a term stands for: JSON, or a variable that holds JSON or its text.
pub(super) fn resolve(term: &Term, context: &Context<'_>) -> Result<Policy, Error> {
    let value = match term.value(context.variables())? {
        Value::String(text) => serde_json::from_str(&text)
            .map_err(|source| Error::NotPolicy { text: text.clone(), source })?,
        other => other,
    };
    Ok(Policy::from_value(value)?)
}

/// Changes the ledger where waiting for the disk holds up nobody else.
pub(super) async fn change<T: Send + 'static>(
    context: &Context<'_>,
    change: impl FnOnce(&Ledger) -> Result<T, edgemere_ledger::Error> + Send + 'static,
) -> Result<T, Error> {
    context.node.change_ledger(change).await
}

/// Gives a policy to the network: to this ledger and, when another node keeps the network's, to its
/// master, now or as soon as it is there.
pub(in crate::commands) async fn share(context: &Context<'_>, policy: Policy) -> Result<(), Error> {
    let node = context.node;
    let scope = node.scope();
    let added = change(context, move |ledger| ledger.insert(policy, scope)).await?;
    match added.id() {
        Some(id) if scope == Scope::Pending => sync::deliver(node, id.to_owned()).await,
        _ => Ok(()),
    }
}

/// Has the master carry out a command on what only it may change, and waits until the change is
/// here, too.
pub(in crate::commands) async fn ask_master(
    context: &Context<'_>,
    command: &str,
) -> Result<(), Error> {
    let node = context.node;
    let Some(master) = node.follows() else {
        return Err(Error::NotMaster { master: None });
    };
    let caller = context.forwarded();
    node.settings().peers.call_as(master, command, &caller, context.timeout()).await?;
    // It is done. That it is not to be seen here yet is for the next round to make good.
    if let Err(error) = sync::catch_up(node).await {
        tracing::debug!(reason = error.message(), "the change is not here yet");
    }
    Ok(())
}

/// Whether a policy is the master's to change: a global one, of a node that follows a master.
pub(in crate::commands) fn is_masters(context: &Context<'_>, id: &str) -> bool {
    let policy = context.node.ledger().get(id);
    context.node.follows().is_some()
        && policy.is_some_and(|policy| policy.scope() == Some(Scope::Global))
}
