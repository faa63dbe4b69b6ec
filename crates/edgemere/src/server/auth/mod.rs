//! Node to node: who belongs to the network.
//!
//! Every node of a network has the same key, 32 bytes that are never sent. A request on the network
//! port carries a proof of it: a MAC over what is asked, for this one process, now, and once.
//!
//! 1. `key` finds the key, or makes one at a master.
//! 2. `proof` says what is signed and how it is written in the header `authorization`; `mac` signs.
//! 3. `guard` is the port's side: it answers a request without a good proof with 401 and a
//!    challenge, which names the process and tells its clock, and with nothing else.
//! 4. `caller` is the other side: it answers challenges, and remembers them.
//!
//! The clock is the one of the node that is asked, so that machines need not agree on the time. What
//! is sent is not secret: that takes TLS, or a network that is.

mod caller;
mod guard;
mod key;
mod mac;
mod proof;

pub(super) use self::caller::Caller;
pub(super) use self::guard::{Guard, authenticate, prove};
pub(crate) use self::key::{BadKey, NetworkKey, NoKey};
pub(super) use self::proof::{PROTOCOL, PROTOCOL_HEADER, REPLY_HEADER, is_same_major};
