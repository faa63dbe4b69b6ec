//! Edgemere's command language: what people, agents and other nodes say to a node, and what it
//! answers.
//!
//! One command, top to bottom:
//!
//! 1. [`execute`] takes a [`Request`]: a text, who asks, and how it came.
//! 2. `commands::Command` finds the command that the text names and hands the rest to that
//!    command's file (`get status` is `commands/get/status.rs`), which parses it with the cursor of
//!    `language`.
//! 3. The command's [`Declaration`] says which method and which permission it needs.
//! 4. The command runs: it reads or changes the [`Node`] and gives a reply.
//! 5. `format` gives the reply its looks: text, `json` or `mcp`.
//!
//! The crate knows nothing of HTTP, of terminals or of MCP.

mod addresses;
pub mod announce;
mod code;
mod commands;
mod declaration;
mod destination;
mod dispatch;
mod error;
pub mod foreign;
mod format;
mod host;
pub mod ingest;
pub mod jobs;
mod language;
mod lookup;
pub mod near;
mod node;
mod peers;
mod placement;
mod reply;
pub mod results;
pub mod sync;
mod variables;

pub use code::Code;
pub use commands::{Command, Series, declarations, query_command, series_command};
pub use declaration::{Declaration, Method};
pub use dispatch::{COMMAND_BYTES_MAX, CommandText, Outcome, Request, execute, parse};
pub use edgemere_service::{Access, Effect, Kind, Principal};
pub use error::{Door, Error, Hint, INTERNAL_MESSAGE, Span};
pub use format::{Content, Format, Media, Rendered, Sources};
pub use language::{script, template};
pub use node::{Details, Node, Process, Role, Settings};
pub use peers::{Peers, Published};
pub use variables::is_secret_name;

/// What is known of operators while they answer.
pub mod network {
    pub use edgemere_query::distributed::{Operator, OperatorProgress, State};
}

/// What is known of queries and of their results.
pub mod sql {
    pub use edgemere_query::sql::{ResultColumn, State, Status, Watched};
}

/// Texts in the places of words, however they are spelled.
pub mod words {
    /// A text as one value of a command.
    pub fn quoted(text: &str) -> String {
        crate::language::lexer::quote(text)
    }

    /// A name as one name of SQL.
    pub fn identifier(name: &str) -> String {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// The text of a `sql` command, with options such as `format = json` and a query of any text.
pub fn sql_command(dbms: &str, options: &str, sql: &str) -> String {
    use language::lexer::{quote, word_or_quote};
    format!("sql {} {options} {}", word_or_quote(dbms), quote(sql))
}

/// The version of this node's software.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
