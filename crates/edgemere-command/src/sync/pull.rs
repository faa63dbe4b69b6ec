//! Fetching what the master has that this node has not.

use std::sync::Arc;
use std::time::Duration;

use edgemere_ledger::Followed;

use super::own;
use crate::error::Error;
use crate::node::Node;

/// Fetches everything that is new, and returns when the copy is the master's ledger.
pub async fn catch_up(node: &Arc<Node>) -> Result<(), Error> {
    while pull(node, Duration::ZERO).await?.behind {}
    Ok(())
}

/// Asks the master once, which may wait so long for something new, and applies what it answers.
pub(super) async fn pull(node: &Arc<Node>, wait: Duration) -> Result<Followed, Error> {
    let Some(master) = node.follows() else { return Ok(Followed::default()) };
    let synchronizer = node.synchronizer();
    let after = synchronizer.follower.lock().await.position();
    let pulled = async {
        let changes = node.settings().peers.changes(master, &after, wait).await?;
        let mut follower = Arc::clone(&synchronizer.follower).lock_owned().await;
        if follower.position() != after {
            // Somebody else was quicker with the same.
            return Ok(Followed { behind: true, ..Followed::default() });
        }
        let taken = tokio::task::spawn_blocking(move || follower.take(&changes)).await;
        let failed = |error| Error::Internal { what: "the ledger's thread failed", source: error };
        Ok(taken.map_err(|error| failed(Box::new(error)))??)
    };
    match pulled.await {
        Ok(followed) => {
            synchronizer.note_pulled(followed.behind, !followed.kinds.is_empty());
            own::see_to(node, &followed).await;
            Ok(followed)
        }
        Err(error) => {
            synchronizer.note_failed(master, &error);
            Err(error)
        }
    }
}
