//! `drop …`: takes away what this node holds.

pub(super) mod dbms;
pub(super) mod operator;
pub(super) mod partition;
pub(super) mod table;
pub(super) mod view;
