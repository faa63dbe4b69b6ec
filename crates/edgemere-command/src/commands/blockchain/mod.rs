//! `blockchain …`: the ledger's policies.

pub(super) mod add;
mod bring;
pub(super) mod drop;
pub(super) mod get;
pub(super) mod get_root;
pub(super) mod insert;
mod one_policy;
pub(super) mod policy;
pub(super) mod prepare;
pub(super) mod push;
pub(super) mod test;
pub(super) mod update;

pub(super) use one_policy::OnePolicy;
