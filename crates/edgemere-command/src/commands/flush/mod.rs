//! `flush …`: what is done now instead of later.

pub(super) mod buffers;
