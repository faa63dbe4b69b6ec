//! The command language: from text to what commands are parsed from. It knows words, values, JSON,
//! conditions and options; it does not know any single command.

pub(crate) mod cursor;
pub(crate) mod filter;
pub(crate) mod json;
pub(crate) mod lexer;
pub(crate) mod options;
pub(crate) mod quantity;
pub mod script;
pub mod template;
pub(crate) mod term;
