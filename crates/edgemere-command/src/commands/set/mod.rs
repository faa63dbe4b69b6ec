//! `set …`: changes of the node itself.

pub(super) mod node_name;
pub(super) mod variable;
