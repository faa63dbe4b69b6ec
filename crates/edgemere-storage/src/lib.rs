//! Edgemere's storage: the types of columns, the decoding of rows, and where rows are kept.
//!
//! 1. [`decode`] decodes bytes to typed rows, and reports the rows that do not fit.
//! 2. [`storage`] makes them durable, and keeps them.
//! 3. `put` does both for one request: [`storage::Storage::put`].
//!
//! `chunking` cuts files into requests, on the side of the client that sends them.
//!
//! The crate knows Arrow, Parquet and redb. It does not know SQL, DataFusion, the ledger or the caller.

mod apart;
pub mod chunking;
pub mod decode;
mod json_values;
pub mod private;
mod put;
pub mod schema;
pub mod storage;

pub use json_values::{JsonValues, base64_texts};
pub use put::{Error, Put, Rows};
pub use schema::{Column, Kind, SYSTEM_COLUMNS, Schema};
pub use storage::Storage;
