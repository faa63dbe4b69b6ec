//! Filling a template: every argument becomes a value in its place, and all that do not fit are reported
//! at once.

use std::ops::Range;

use edgemere_command::template::sql::{self, Misfit};
use edgemere_command::template::{condition, extensions, nodes, quote, value};
use serde_json::{Map, Value};

use super::kind::Kind;
use super::pieces::{Form, Part, Piece, Pieces, Slot};
use crate::arguments::{ArgumentError, ArgumentErrors};

/// A template that was filled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Printed {
    pub(crate) text: String,
    /// What in the text comes from where in the template.
    origins: Vec<(Range<usize>, Range<usize>)>,
    /// The SQL in it, and where that begins in the template.
    pub(crate) query: Option<(Box<Printed>, Option<usize>)>,
}

impl Printed {
    /// Where in the template a part of the text comes from.
    pub(crate) fn origin(&self, part: &Range<usize>) -> Option<Range<usize>> {
        let overlaps = |text: &Range<usize>| {
            text.start < part.end.max(part.start + 1) && part.start < text.end
        };
        let (text, origin) = self.origins.iter().find(|(text, _)| overlaps(text))?;
        match text.len() == origin.len() {
            true => {
                let start = origin.start + part.start.saturating_sub(text.start);
                let end = origin.start + part.end.min(text.end).saturating_sub(text.start);
                Some(start..end.max(start))
            }
            false => Some(origin.clone()),
        }
    }

    fn push(&mut self, text: &str, origin: Option<Range<usize>>) {
        let start = self.text.len();
        self.text.push_str(text);
        if let Some(origin) = origin {
            self.origins.push((start..self.text.len(), origin));
        }
    }
}

/// How a template is filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As a command or SQL: blanks around what is left out are one.
    Command,
    /// The same, with names in the places of values that must not be shown.
    Veiled,
    /// As it is written.
    Prose,
}

/// Fills a template.
pub(crate) fn print(
    pieces: &Pieces,
    arguments: &Map<String, Value>,
    manner: Manner,
) -> Result<Printed, ArgumentErrors> {
    let printed = Printed::default();
    let mut printer =
        Printer { arguments, manner, printed, errors: Vec::new(), ends_with_text: true };
    printer.pieces(&pieces.0);
    if manner != Manner::Prose && printer.ends_with_text {
        let length = printer.printed.text.trim_end().len();
        printer.printed.text.truncate(length);
    }
    match printer.errors.is_empty() {
        true => Ok(printer.printed),
        false => Err(ArgumentErrors(printer.errors)),
    }
}

struct Printer<'a> {
    arguments: &'a Map<String, Value>,
    manner: Manner,
    printed: Printed,
    errors: Vec<ArgumentError>,
    /// Whether the last that was printed stands in the template, and is no argument.
    ends_with_text: bool,
}

impl<'a> Printer<'a> {
    fn pieces(&mut self, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Text { text, at } => self.written(text, *at),
                Piece::Slot(slot) => self.slot(slot),
                Piece::Clause { when, pieces } => {
                    if when.holds(self.arguments) {
                        self.pieces(pieces);
                    }
                }
            }
        }
    }

    /// Text as it is written. No piece begins or ends in a token or in a comment, so that blanks at its
    /// beginning mean nothing after others.
    fn written(&mut self, text: &str, at: Option<usize>) {
        let so_far = &self.printed.text;
        let is_after_blank =
            self.ends_with_text && (so_far.is_empty() || so_far.ends_with([' ', '\n']));
        let tidy = match self.manner {
            Manner::Prose => text,
            _ if is_after_blank => text.trim_start(),
            _ => text,
        };
        let skipped = text.len() - tidy.len();
        self.printed.push(tidy, at.map(|at| at + skipped..at + text.len()));
        self.ends_with_text = true;
    }

    fn slot(&mut self, slot: &Slot) {
        let text = match &slot.form {
            Form::Command { kind, name } => self.token(name, |value| command_token(*kind, value)),
            Form::Sql { kind, name } => self.token(name, |value| sql_token(*kind, value)),
            Form::CommandText(parts) => self.text(parts).map(|text| quote(&text)),
            Form::SqlText(parts) => self.text(parts).map(|text| sql::quoted(&text)),
            Form::Prose(part) => self.text(std::slice::from_ref(part)),
            Form::Query { pieces, at } => self.query(pieces, *at),
        };
        if let Some(text) = text {
            self.printed.push(&text, Some(slot.range.clone()));
            self.ends_with_text = false;
        }
    }

    fn query(&mut self, pieces: &Pieces, at: Option<usize>) -> Option<String> {
        match print(pieces, self.arguments, self.manner) {
            Ok(printed) => {
                let text = quote(&printed.text);
                self.printed.query = Some((Box::new(printed), at));
                Some(text)
            }
            Err(ArgumentErrors(errors)) => {
                self.errors.extend(errors);
                None
            }
        }
    }

    /// One argument as a token.
    fn token(
        &mut self,
        name: &str,
        write: impl Fn(&Value) -> Result<String, Unfit>,
    ) -> Option<String> {
        let value = self.argument(name)?;
        match write(value) {
            Ok(text) => Some(text),
            Err(Unfit { message, hint }) => {
                self.errors.push(ArgumentError { argument: name.to_owned(), message, hint });
                None
            }
        }
    }

    /// A text with arguments in it.
    fn text(&mut self, parts: &[Part]) -> Option<String> {
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Constant { shown, .. } if self.manner == Manner::Veiled => {
                    text.push_str(shown)
                }
                Part::Constant { text: part, .. } => text.push_str(part),
                Part::Argument(name) => match self.argument(name)? {
                    Value::String(value) => text.push_str(value),
                    value @ (Value::Number(_) | Value::Bool(_)) => {
                        text.push_str(&value.to_string())
                    }
                    _ => {
                        let message = "must be a text, a number, true or false".to_owned();
                        let argument = name.clone();
                        self.errors.push(ArgumentError { argument, message, hint: None });
                        return None;
                    }
                },
            }
        }
        Some(text)
    }

    fn argument(&mut self, name: &str) -> Option<&'a Value> {
        let value = self.arguments.get(name);
        if value.is_none() {
            let message = "is missing".to_owned();
            self.errors.push(ArgumentError { argument: name.to_owned(), message, hint: None });
        }
        value
    }
}

/// Why a value does not fit.
struct Unfit {
    message: String,
    hint: Option<String>,
}

impl From<Misfit> for Unfit {
    fn from(misfit: Misfit) -> Self {
        let hint = match &misfit {
            Misfit::Sql(error) => error.hint(),
            Misfit::Value { .. } => None,
        };
        Self { message: misfit.to_string(), hint }
    }
}

fn command_token(kind: Kind, argument: &Value) -> Result<String, Unfit> {
    let unfit = |expected: &str| Unfit { message: format!("must be {expected}"), hint: None };
    match kind {
        Kind::Nodes => {
            nodes(argument).ok_or_else(|| unfit("addresses as IP:PORT, or names of nodes"))
        }
        Kind::Extensions => {
            extensions(argument).ok_or_else(|| unfit("words as \"@ip\" or \"+variable\""))
        }
        Kind::Condition => {
            let text = argument.as_str().ok_or_else(|| unfit("a text"))?;
            condition(text).map_err(|error| Unfit {
                message: format!("not a condition on policies: {error}"),
                hint: error.hint().map(|hint| hint.to_string()),
            })
        }
        _ => value(argument).ok_or_else(|| unfit("given, and not empty")),
    }
}

fn sql_token(kind: Kind, value: &Value) -> Result<String, Unfit> {
    let text = match kind {
        Kind::Table => sql::table(value),
        Kind::Column => sql::column(value),
        Kind::Expression => sql::expression(value),
        Kind::Projection => sql::projection(value),
        Kind::Grouping => sql::grouping(value),
        Kind::Ordering => sql::ordering(value),
        Kind::Moment => sql::moment(value),
        Kind::Keyword => sql::keyword(value),
        Kind::Query => value
            .as_str()
            .map(str::to_owned)
            .ok_or(Misfit::Value { expected: "one SELECT statement" }),
        _ => sql::literal(value),
    };
    Ok(text?)
}
