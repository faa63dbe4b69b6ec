//! A tool: what an agent sees of it, and how a call of it becomes a command.

use std::time::Duration;

use mcp_serve::Icon;
use serde_json::{Map, Value};

use crate::arguments::{ArgumentErrors, Arguments};
use crate::bound::{Bound, Ready};
use crate::parser::Parser;
use crate::template::Plan;
use crate::template::line::Line;

/// A tool that was checked.
#[derive(Clone, Debug)]
pub struct Tool {
    /// What it is called.
    pub name: String,
    /// What people are shown instead of the name.
    pub title: Option<String>,
    /// What it does and when to choose it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Map<String, Value>,
    /// The JSON Schema of its structured answers, where the file gives one.
    pub output_schema: Option<Map<String, Value>>,
    /// What clients may be told of its effects.
    pub annotations: Annotations,
    /// How large an answer may be and how long it may take, where the file says so.
    pub limits: Limits,
    /// Pictures that clients may show beside it.
    pub icons: Vec<Icon>,
    /// The toolsets that it belongs to.
    pub toolsets: Vec<String>,
    /// How it is carried out.
    pub kind: Kind,
    /// Where it is declared.
    pub position: Position,
    pub(crate) arguments: Arguments,
    pub(crate) work: Work,
    pub(crate) parser: Option<Parser>,
    pub(crate) row_shape: RowShape,
}

/// What the rows of an answer are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RowShape {
    /// Lists of values, with the columns' names once beside them.
    #[default]
    Lists,
    /// Objects, as EdgeLake's users know them.
    Objects,
}

impl Tool {
    /// A call's arguments, checked, with defaults, and bound as values. All that is wrong is reported at
    /// once.
    pub fn bind(&self, arguments: &Map<String, Value>) -> Result<Ready, ArgumentErrors> {
        let (arguments, errors) = self.arguments.check(arguments);
        let bound = match &self.work {
            Work::Command(plan) => plan.bind(arguments).map(Ready::Command),
            Work::Program(line) => line.bind(arguments).map(Box::new).map(Ready::Program),
            Work::Text(text) => Ok(Ready::Answer(text.clone())),
        };
        match (bound, errors.is_empty()) {
            (bound, true) => bound,
            (bound, false) => Err(errors.and(bound.err())),
        }
    }

    /// What picks the answer out of a reply; none leaves the reply as it is.
    pub fn parser(&self) -> Option<&Parser> {
        self.parser.as_ref()
    }

    /// A query of the same columns as every call's, when the tool's SQL and its database are known
    /// without arguments. Planning it gives the schema of the answers.
    pub fn sample(&self) -> Option<Bound> {
        let is_sql = matches!(self.kind, Kind::NetworkSql | Kind::LocalSql);
        let Work::Command(plan) = &self.work else { return None };
        let arguments = is_sql.then(|| plan.sample(&self.input_schema)).flatten()?;
        plan.bind(arguments).ok()
    }
}

/// How a tool is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A command of the node.
    Command,
    /// A query on all operators that hold the tables.
    NetworkSql,
    /// A query on this node's own rows.
    LocalSql,
    /// What the server knows of itself, by the name in `method`.
    Internal,
    /// A program of this machine.
    Cli,
}

/// What a tool does, with holes for its arguments.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// A command of a node.
    Command(Plan),
    /// A program of this machine.
    Program(Line),
    /// Nothing: the answer is known.
    Text(Value),
}

/// What clients may be told of a tool's effects, as MCP's annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// It may take something away.
    pub destructive: bool,
    /// Calling it again changes nothing more.
    pub idempotent: bool,
    /// It reaches out of the network of nodes.
    pub open_world: bool,
}

/// How large an answer may be and how long it may take. None is the server's own limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Rows.
    pub rows: Option<usize>,
    /// Bytes of text.
    pub bytes: Option<usize>,
    /// Estimated tokens of text.
    pub tokens: Option<usize>,
    /// How long a call may take.
    pub time: Option<Duration>,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}
