//! The ledger: the shared metadata of the network ("blockchain" in commands), made of policies.
//!
//! A [`Policy`] is a JSON object with one root key, its type. A [`Ledger`] keeps them in a folder:
//! their history as an append-only chain of entries on disk, and what it adds up to in memory,
//! where lookups are answered. Nothing acknowledged is lost by a crash, and nothing that was
//! changed behind its back is taken for true.
//!
//! 1. `rules` checks a new policy and completes it; `identity` gives it the id that EdgeLake would,
//!    for which `python` writes it as Python does.
//! 2. `entry` makes one line of it that carries the hash of the line before, and `log` makes that
//!    durable.
//! 3. `view` holds what lives, with an `index` over the attributes. `condition`, `path` and `loose`
//!    say what fits.
//! 4. `exchange` is what nodes make of it together: a master takes policies of other nodes, which
//!    wait in the `outbox` there until it has them; `feed` reads a master's history from a
//!    `position` on, and `follow` keeps a copy in step with it.
//! 5. `network` says of which network a ledger is, so that no other one's history is taken for it;
//!    `quota` how much a ledger takes; `snapshot` puts what the history comes to in its place.
//! 6. On the next start `scan` reads the lines, and `recovery` decides what to do about one that
//!    does not hold.
//!
//! The crate knows no SQL, no sockets and no async runtime; calls that write wait for the disk.

mod bound;
mod condition;
mod entry;
mod error;
mod exchange;
#[cfg(test)]
mod faults;
mod feed;
mod folder;
mod follow;
mod identity;
mod index;
mod ledger;
mod log;
mod loose;
mod network;
mod outbox;
mod path;
mod policy;
mod position;
mod printable;
mod python;
mod quota;
mod recovery;
mod rules;
mod scan;
mod scope;
mod snapshot;
mod view;
mod visible;

pub use bound::{Identity, NODE_ID, accepted, unbound};
pub use condition::{Comparison, Condition, Kinds};
pub use error::Error;
pub use feed::{Changes, Page};
pub use follow::{Followed, Follower};
pub use ledger::{Ledger, Verified};
pub use network::Network;
pub use path::Path;
pub use policy::{DEPTH_MAX, POLICY_BYTES_MAX, Policy};
pub use position::Position;
pub use quota::Limits;
pub use recovery::{Cut, Recovery, repair};
pub use scope::Scope;
