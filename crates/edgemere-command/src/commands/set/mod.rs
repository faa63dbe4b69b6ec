//! `set …`: changes of the node itself, and of how much it keeps.

pub(super) mod node_name;
pub(super) mod retention;
pub(super) mod variable;
