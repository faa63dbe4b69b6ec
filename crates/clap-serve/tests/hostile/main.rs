//! Calls that mean no good, against the golem-shaped example as a process of its own: nothing that is
//! blocked runs, nothing leaks, and the server goes on.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here has failed the test"
)]
#![cfg(unix)]

mod arguments;
mod behaviour;
mod names;
mod resources;
mod server;
