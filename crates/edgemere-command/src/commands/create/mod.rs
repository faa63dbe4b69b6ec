//! `create …`: what can be made without being stored.

pub(super) mod policy;
