//! `connect …`: what the node is to have at hand.

pub(super) mod dbms;
