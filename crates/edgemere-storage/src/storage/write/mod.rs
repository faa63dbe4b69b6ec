//! An append from the caller to the disk: block, budget, group commit, memtable, idempotency keys.

pub(crate) mod block;
pub(crate) mod budget;
pub(crate) mod commit;
pub(crate) mod idempotency;
pub(crate) mod memtable;
