//! `create …`: what is made: a copy of the rows, a policy, which is not stored, and tables and views, which are.

pub(super) mod backup;
pub(super) mod policy;
pub(super) mod table;
pub(super) mod view;
