//! A tool's plan: which template its arguments go into, where the command is sent, and how.

use std::time::Duration;

use edgemere_command::CommandText;
use serde_json::{Map, Value};

use super::kind::Kind;
use super::pieces::Pieces;
use super::print::{Manner, Printed, print};
use super::sample::named;
use crate::arguments::{ArgumentError, ArgumentErrors};
use crate::bound::Bound;

/// How a tool's arguments become a command.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) choice: Choice,
    /// The nodes that the command is for.
    pub(crate) destination: Option<Pieces>,
    pub(crate) subset: Subset,
    pub(crate) timeout: Option<Duration>,
}

/// Whether the answers of some nodes will do when others do not answer.
#[derive(Clone, Debug)]
pub(crate) enum Subset {
    /// Always, or never.
    Always(bool),
    /// As this argument says; without it they will not.
    Argument(String),
}

impl Subset {
    fn of(&self, arguments: &Map<String, Value>) -> bool {
        match self {
            Self::Always(always) => *always,
            Self::Argument(name) => arguments.get(name).and_then(Value::as_bool).unwrap_or(false),
        }
    }
}

/// Which template it is.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    /// Always the same.
    One(Template),
    /// By the value of an argument.
    Cases { argument: String, when: Vec<(String, Template)> },
    /// By whether an argument is given.
    Given { argument: String, with: Template, without: Template },
}

/// A template, and the declared name of the command that it is.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) pieces: Pieces,
    pub(crate) expected: &'static str,
    pub(crate) answers: Answers,
    /// The command, when there is nothing to fill in: it is printed and parsed once.
    fixed: Option<CommandText>,
}

/// What a command answers with, as far as that is known before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Rows, page by page.
    Rows,
    /// A value.
    Value,
    /// The one or the other: it depends on arguments.
    Either,
}

impl Answers {
    /// What it is when it may also be the other.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == other { self } else { Self::Either }
    }
}

impl Template {
    pub(crate) fn new(pieces: Pieces, expected: &'static str, answers: Answers) -> Self {
        let filled = || print(&pieces, &Map::new(), Manner::Command).ok();
        let fixed = pieces.uses().is_empty().then(filled).flatten();
        Self { fixed: fixed.map(|printed| printed.text.into()), pieces, expected, answers }
    }

    fn fill(&self, arguments: &Map<String, Value>) -> Result<CommandText, ArgumentErrors> {
        match &self.fixed {
            Some(fixed) => Ok(fixed.clone()),
            None => {
                print(&self.pieces, arguments, Manner::Command).map(|filled| filled.text.into())
            }
        }
    }
}

impl Plan {
    /// The command with these arguments in it, which are checked and have their defaults.
    pub(crate) fn bind(&self, arguments: Map<String, Value>) -> Result<Bound, ArgumentErrors> {
        let template = self.template(&arguments)?;
        let command = template.fill(&arguments);
        let destination =
            self.destination.as_ref().map(|pieces| print(pieces, &arguments, Manner::Command));
        let destination = destination.transpose();
        let (command, destination) = match (command, destination) {
            (Ok(command), Ok(destination)) => (command, destination),
            (command, destination) => {
                let errors = command.err().into_iter().chain(destination.err());
                return Err(ArgumentErrors(errors.flat_map(|ArgumentErrors(all)| all).collect()));
            }
        };
        let destination = destination.map(|Printed { text, .. }| text.trim().to_owned());
        Ok(Bound {
            command,
            destination: destination.filter(|destination| !destination.is_empty()),
            subset: self.subset.of(&arguments),
            timeout: self.timeout,
            arguments,
            expected: template.expected,
        })
    }

    /// The declared names of the commands that it may be.
    pub(crate) fn commands(&self) -> Vec<&'static str> {
        match &self.choice {
            Choice::One(template) => vec![template.expected],
            Choice::Cases { when, .. } => when.iter().map(|(_, one)| one.expected).collect(),
            Choice::Given { with, without, .. } => vec![with.expected, without.expected],
        }
    }

    /// What it answers with, as far as that is known before a call.
    pub(crate) fn answers(&self) -> Answers {
        let answers = match &self.choice {
            Choice::One(template) => Some(template.answers),
            Choice::Cases { when, .. } => {
                when.iter().map(|(_, template)| template.answers).reduce(Answers::or)
            }
            Choice::Given { with, without, .. } => Some(with.answers.or(without.answers)),
        };
        let one_database = |destination: &Pieces| {
            destination.fixed().is_some_and(|word| ["network", "local", ""].contains(&word.trim()))
        };
        match answers.unwrap_or(Answers::Value) {
            // Of nodes that are asked one by one each gives an answer.
            Answers::Value => Answers::Value,
            _ if !self.destination.as_ref().is_none_or(one_database) => Answers::Either,
            answers => answers,
        }
    }

    fn template(&self, arguments: &Map<String, Value>) -> Result<&Template, ArgumentErrors> {
        let wrong = |argument: &str, message: &str| {
            let (argument, message) = (argument.to_owned(), message.to_owned());
            ArgumentErrors(vec![ArgumentError { argument, message, hint: None }])
        };
        match &self.choice {
            Choice::One(template) => Ok(template),
            Choice::Given { argument, with, without } => {
                Ok(if arguments.contains_key(argument) { with } else { without })
            }
            Choice::Cases { argument, when } => {
                let value = arguments.get(argument).and_then(Value::as_str);
                let template = when.iter().find(|(case, _)| Some(case.as_str()) == value);
                template
                    .map(|(_, template)| template)
                    .ok_or_else(|| wrong(argument, "must be one of the values of the schema"))
            }
        }
    }

    /// Arguments that give the same columns as all others, when there are such.
    pub(crate) fn sample(&self, schema: &Map<String, Value>) -> Option<Map<String, Value>> {
        let Choice::One(template) = &self.choice else { return None };
        let (query, _) = template.pieces.query()?;
        let property = |name: &str| schema.get("properties").and_then(|all| all.get(name));
        let mut arguments = Map::new();
        let in_query = query.uses();
        for one in template.pieces.uses() {
            let kind = one.kind.unwrap_or(Kind::Value);
            let is_plain = matches!(kind, Kind::Value | Kind::Moment)
                && in_query.iter().any(|inside| inside.name == one.name);
            let value = match (named(property(one.name)), is_plain) {
                (Some(value), _) => value,
                (None, true) if !one.is_optional => super::sample::sample(property(one.name), kind),
                (None, _) if one.is_optional => continue,
                (None, _) => return None,
            };
            arguments.insert(one.name.to_owned(), value);
        }
        Some(arguments)
    }
}
