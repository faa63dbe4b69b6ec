//! The master's side: its history for those who ask, and the policies of other nodes.

use std::sync::Arc;
use std::time::Duration;

use edgemere_ledger::{Changes, Ledger, Policy, Position};

use super::WAIT;
use crate::error::Error;
use crate::node::{Node, Role};
use edgemere_service::{Error as ServiceError, Kind};

/// About how many bytes of history are given at once.
const PAGE_BYTES: usize = 1 << 20;

/// What this master has after a position; when it has nothing, it waits so long for something.
pub async fn changes(node: &Arc<Node>, after: Position, wait: Duration) -> Result<Changes, Error> {
    must_be_master(node)?;
    let mut changed = node.synchronizer().signals.changed.subscribe();
    let wait = tokio::time::sleep(wait.min(WAIT));
    tokio::pin!(wait);
    loop {
        let position = after.clone();
        let changes =
            node.change_ledger(move |ledger| ledger.changes_after(&position, PAGE_BYTES)).await?;
        if !matches!(&changes, Changes::Page(page) if page.lines.is_empty()) {
            return Ok(changes);
        }
        tokio::select! {
            // The sender lives as long as the node.
            _ = changed.changed() => {}
            () = &mut wait => return Ok(changes),
            () = node.settings().shutdown.cancelled() => return Ok(changes),
        }
    }
}

/// Takes policies of another node for the network: each as it is in the ledger now, or with why it
/// is refused. All of them are looked at, in their order. `by` is the identity of that node, where it
/// is known.
pub async fn take(
    node: &Arc<Node>,
    policies: Vec<Policy>,
    by: Option<String>,
) -> Result<Vec<Result<Arc<Policy>, Error>>, Error> {
    must_be_master(node)?;
    let adopt = move |ledger: &Ledger| -> Result<Vec<_>, ServiceError> {
        let mut taken = Vec::new();
        for policy in policies {
            match ledger.adopt(policy, by.as_deref()).map_err(ServiceError::from) {
                // A full disk is no fault of the policy: the node may come again.
                Err(error) if is_own_fault(&error) => return Err(error),
                answer => taken.push(answer.map_err(Error::from)),
            }
        }
        Ok(taken)
    };
    node.change_ledger(adopt).await
}

fn is_own_fault(error: &ServiceError) -> bool {
    matches!(error.kind(), Kind::Unavailable | Kind::Internal)
}

fn must_be_master(node: &Node) -> Result<(), Error> {
    match node.has_role(Role::Master) {
        true => Ok(()),
        false => Err(Error::NotMaster { master: node.settings().master.clone() }),
    }
}
