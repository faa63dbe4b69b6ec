//! What stands between the doors of a node and its data.
//!
//! - [`jobs`] runs queries to their end with nobody reading, and keeps their rows for a while.
//!
//! The crate knows no door: no HTTP, no MCP, no terminal.

pub mod jobs;
