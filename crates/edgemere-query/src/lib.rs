//! Edgemere's queries: SQL on the tables of a storage, or on those of all operators of a network.
//!
//! 1. `sql` validates a query, plans it, and streams what it finds.
//! 2. `network` has it run on many nodes at once.
//!
//! The crate alone knows DataFusion. It does not know the command language, the ledger or the caller.

pub mod distributed;
mod engine;
pub mod sql;
mod table;

pub use engine::{Engine, Error};
pub use table::{Column as DefinedColumn, Error as DefinitionError, Table as Definition};
