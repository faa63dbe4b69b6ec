//! `job …`: queries by the nodes that they run on.

pub(super) mod status;
pub(super) mod stop;
