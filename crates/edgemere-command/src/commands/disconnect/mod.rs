//! `disconnect …`: what the node is not to have at hand any more.

pub(super) mod dbms;
