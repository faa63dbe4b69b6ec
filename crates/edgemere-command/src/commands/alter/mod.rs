//! `alter …`: changes what this node holds.

pub(super) mod table;
