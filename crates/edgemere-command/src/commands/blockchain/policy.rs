//! What the commands that change the ledger share: the policy as it is written, and the change
//! made on a thread that may wait for the disk.

use edgemere_ledger::{Ledger, Policy};
use serde_json::Value;

use crate::dispatch::Context;
use crate::error::Error;
use crate::language::term::Term;
use crate::node::Node;

/// The policy that a term stands for: JSON, or a variable that holds JSON or its text.
pub(super) fn resolve(term: &Term, node: &Node) -> Result<Policy, Error> {
    let value = match term.value(&node.variables)? {
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
    let ledger = context.node.ledger().clone();
    let changed = tokio::task::spawn_blocking(move || change(&ledger)).await;
    let failed = |error| Error::Internal { what: "the ledger's thread failed", source: error };
    Ok(changed.map_err(|error| failed(Box::new(error)))??)
}
