//! `describe …`: what things of the network mean, for people and agents.

pub(super) mod column;
