//! From a statement to a plan that can run.
//!
//! 1. `validate` proves that the statement only reads, and `views` resolves its tables, views and columns. `stars`,
//!    `visible` and `column_names` expand `*` and column names, `alias_masking` keeps aliases apart.
//! 2. `catalog` gives DataFusion the `tables`; `table_scan` is one of them. `include` adds further tables.
//! 3. `session` plans with a session of the `session_pool`; `shape` gives the result its last columns.
//! 4. `plan_cache` keeps the optimized plans of repeated statements.
//!
//! `information` and `analyze` answer SHOW, DESCRIBE and EXPLAIN.

pub(crate) mod alias_masking;
pub(crate) mod analyze;
pub(crate) mod catalog;
pub(crate) mod clauses;
pub(crate) mod column_names;
pub(crate) mod explain;
pub(crate) mod include;
pub(crate) mod information;
pub(crate) mod missing;
pub(crate) mod plan_cache;
pub(crate) mod rules;
pub(crate) mod session;
pub(crate) mod session_pool;
pub(crate) mod shape;
pub(crate) mod small_scan;
pub(crate) mod stars;
pub(crate) mod statement_size;
pub(crate) mod table_scan;
pub(crate) mod tables;
pub(crate) mod time_range;
pub(crate) mod validate;
pub(crate) mod views;
pub(crate) mod visible;
