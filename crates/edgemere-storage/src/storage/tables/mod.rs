//! The catalog of databases, tables and views, and what a table is: its columns, its partitions, how they change.

pub(crate) mod alter;
pub(crate) mod catalog;
pub(crate) mod database;
pub(crate) mod name;
pub(crate) mod partition;
pub(crate) mod stats;
pub(crate) mod table;
pub(crate) mod view;
pub(crate) mod widening;
