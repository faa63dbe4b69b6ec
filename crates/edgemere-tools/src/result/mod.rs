//! Answers for agents: as much as fits, with what is left out said, and where it came from.
//!
//! `rows` makes answers of queries, `value` of all else, `streamed` of rows that are sent while they
//! come; `provenance` says who answered.

mod budget;
mod provenance;
pub(crate) mod rows;
pub(crate) mod schema;
pub(crate) mod streamed;
pub(crate) mod value;

pub(crate) use self::budget::{Budget, TEXT_BYTES_MAX};
pub(crate) use self::provenance::Provenance;
