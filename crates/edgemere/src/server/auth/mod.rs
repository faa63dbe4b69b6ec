//! Node to node: who belongs to the network.
//!
//! Every node of a network has the same key, 32 bytes that are never sent. A request on the network
//! port carries a proof of it: a MAC over what is asked, for this one process, now, and once.
//!
//! 1. `key` finds the key, or makes one at a master.
//! 2. `proof` says what is signed and how it is written in the header `authorization`; `mac` signs.
//! 3. `guard` is the port's side: it answers a request without a good proof with 401 and a
//!    challenge, which names the process and tells its clock, and with nothing else.
//! 4. `reply` proves the answer: behind its body, so that streams are proved as well.
//! 5. `caller` is the other side: it answers challenges, remembers them, and checks what it is reported.
//!
//! gRPC calls are streams in both directions: `grpc` says what of them is proved.
//!
//! The clock is the one of the node that is asked, so that machines need not agree on the time. What
//! is sent is not secret: that takes TLS, or a network that is.

mod caller;
mod grpc;
mod guard;
mod key;
mod mac;
mod proof;
mod reply;

pub(super) use self::caller::{Caller, Reply};
pub(super) use self::grpc::is_call;
pub(super) use self::guard::{Guard, authenticate};
pub(crate) use self::key::{BadKey, NetworkKey, NoKey};
pub(super) use self::proof::{PROTOCOL, PROTOCOL_HEADER, REPLY_HEADER, is_same_major};
pub(super) use self::reply::prove;
