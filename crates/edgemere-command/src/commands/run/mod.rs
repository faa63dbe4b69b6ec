//! `run …`: work that is started somewhere.

pub(super) mod client;
