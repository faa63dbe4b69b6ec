//! The model behind `sql_differential`: tables and queries by chance, two databases that hold the
//! same rows, and what is equal in their answers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]

pub(crate) mod answer;
pub(crate) mod chance;
pub(crate) mod databases;
pub(crate) mod expression;
pub(crate) mod family;
pub(crate) mod scope;
pub(crate) mod shrink;
pub(crate) mod table;
