//! Edgemere's data engine: tables and their types, the way of rows in, where they are kept, and SQL
//! on them.
//!
//! 1. `ingest` makes typed rows of bytes, and says which rows do not fit.
//! 2. `storage` makes them durable, and keeps them.
//! 3. `sql` validates a query, and streams what it finds.
//! 4. `network` has it run on many nodes at once.
//! 5. `jobs` runs queries to their end with nobody reading, and keeps what they find for a while.
//!
//! `pieces` cuts files into what `ingest` takes at once, on the side of who sends them.
//!
//! The engine knows Arrow, Parquet and DataFusion; it does not know the command language, the
//! ledger or who is asking.

mod apart;
mod engine;
pub mod ingest;
pub mod jobs;
pub mod network;
pub mod pieces;
pub mod private;
pub mod schema;
pub mod sql;
pub mod storage;
mod table;

pub use engine::{Engine, Error, Put, Rows};
pub use schema::{Column, Kind, SYSTEM_COLUMNS, Schema};
pub use table::{Column as DefinedColumn, Error as DefinitionError, Table as Definition};
