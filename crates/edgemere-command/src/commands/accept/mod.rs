//! `accept …`: takes for good what the node has refused to be sure.

pub(super) mod ledger;
pub(super) mod operator;
