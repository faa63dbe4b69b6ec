//! Edgemere's tools for agents: what `tools.yaml` says, checked, bound and answered.
//!
//! One call, top to bottom:
//!
//! 1. [`Toolbox::load`] reads the file, and everything in it is checked before anything is offered:
//!    `file` makes typed forms of the YAML and knows where each stood, `check` proves that every
//!    template is a command that only reads, every path compiles and every schema is one.
//! 2. [`Tool::bind`] checks a call's arguments against the tool's schema (`arguments`) and puts each
//!    into its place as one value (`template`). Text never becomes a command or SQL.
//!    Of a tool of type `cli` that is a program with its words (`template/line.rs`).
//! 3. Whoever carries the [`Bound`] command out gives the reply's JSON to [`Parser::apply`]
//!    (`parser`), which picks the answer out of it.
//!
//! No tool is known by name here: what a tool does is in the file and nowhere else.

mod arguments;
mod bound;
mod check;
mod commands;
mod execute;
mod file;
mod no_node;
mod offer;
mod parser;
mod problem;
mod reload;
mod result;
mod shipped;
mod template;
mod tool;
mod toolbox;
mod words;

pub use arguments::{ArgumentError, ArgumentErrors};
pub use bound::{Bound, BoundProgram, Ready};
pub use clap_serve::program::all_ended as programs_ended;
pub use commands::{Answer, Commands, Events, Failure, Wanted};
pub use execute::{Executor, agent};
pub use file::schema;
pub use file::surroundings::Surroundings;
pub use offer::Offer;
pub use parser::{ParseError, Parser};
pub use problem::{Problem, Problems};
pub use reload::{Health, Live, Origin};
pub use result::rows::Given;
pub use tool::{Annotations, Kind, Limits, Position, Tool};
pub use toolbox::{Prompt, PromptArgument, Resource, Toolbox, Toolset};
