//! The round that a node goes for as long as it runs: send what waits, ask for what is new.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use super::pull::pull;
use super::{WAIT, flush, own};
use crate::error::Error;
use crate::node::Node;

/// How long to leave the master alone after it failed: at first, and at most.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Keeps a node in step with its master until the node stops. `joined` is whether its own policies
/// are seen to already.
pub async fn run(node: Arc<Node>, mut joined: bool) {
    let shutdown = node.settings().shutdown.clone();
    let mut pause = PAUSE_MIN;
    while !shutdown.is_cancelled() {
        let round = async {
            match round(&node, &mut joined).await {
                Ok(()) => pause = PAUSE_MIN,
                Err(_) => {
                    tokio::time::sleep(jittered(pause)).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        };
        tokio::select! {
            () = shutdown.cancelled() => break,
            () = round => {}
        }
    }
}

async fn round(node: &Arc<Node>, joined: &mut bool) -> Result<(), Error> {
    let sent = flush(node).await;
    // What fails is tried again soon, and until the node has joined it wants to know whether it has.
    let wait = if *joined && sent.is_ok() { WAIT } else { Duration::ZERO };
    let wake = node.synchronizer().signals.wake.notified();
    let followed = tokio::select! {
        followed = pull(node, wait) => followed?,
        () = wake => return Ok(()),
    };
    if !*joined && !followed.behind {
        *joined = true;
        tracing::info!(master = node.follows(), "in step with the master");
        own::join(node).await;
    }
    sent.map(drop)
}

/// Between half of a time and all of it, so that nodes do not come all at once.
fn jittered(pause: Duration) -> Duration {
    let share = RandomState::new().hash_one(0_u8) % 512;
    pause.mul_f64(0.5 + share as f64 / 1024.0)
}
