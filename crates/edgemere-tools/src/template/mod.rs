//! Templates: commands and SQL with holes for the arguments.
//!
//! 1. `scan` finds the holes, the clauses and the values of the environment in a text.
//! 2. `command` and `sql` find the token that each hole stands in, with the lexers of the two
//!    languages, and make `pieces` of the text, with its `format`. SQL that is built (`build`) is a
//!    template as well.
//! 3. `print` fills the pieces: a hole is exactly one value, or a part that was parsed by itself
//!    (`kind`), so that no text can become more than it stands for.
//! 4. `line` is the same for a program: its words, each of which stays one.
//! 5. `plan` is all of that for a tool: which template, where the command is sent, and how.

pub(crate) mod build;
pub(crate) mod command;
pub(crate) mod format;
pub(crate) mod kind;
pub(crate) mod line;
pub(crate) mod pieces;
mod plan;
pub(crate) mod print;
mod prose;
pub(crate) mod sample;
pub(crate) mod scan;
pub(crate) mod sql;

pub(crate) use self::plan::{Answers, Choice, Plan, Subset, Template};
pub(crate) use self::prose::Prose;
