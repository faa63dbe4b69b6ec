//! Edgemere's data engine. It begins with what every node must know of a table before it stores a
//! single row: the table's definition, read from the `create` text of its policy.
//!
//! The engine knows SQL; it does not know the command language, the network or who is asking.

mod table;

pub use table::{Column, Error, SYSTEM_COLUMNS, Table};
