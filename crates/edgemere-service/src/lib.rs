//! The service in the middle of a node: typed requests of callers in, rows and receipts out.
//!
//! - [`access`]: callers, their permissions, and the effects of operations.
//! - [`jobs`]: queries that run to their end without a reader, and whose rows are kept for a while.
//! - [`Error`] and [`Kind`]: one classification of every failure, from the lower crates to the doors.
//!
//! The crate knows no door and no text language: no HTTP, no MCP, no terminal, no EdgeLake command.

pub mod access;
mod error;
pub mod jobs;
mod kind;

pub use access::{Access, Effect, Principal};
pub use error::Error;
pub use kind::Kind;
