//! `test …`: whether the node, the network and the cluster are as they should be.

pub(super) mod cluster_setup;
pub(super) mod data;
pub(super) mod network;
pub(super) mod node;
