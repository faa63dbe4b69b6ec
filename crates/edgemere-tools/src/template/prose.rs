//! A text with holes, for people and models: nothing in it can be mistaken for a command.

use serde_json::{Map, Value};

use super::pieces::{Form, Pieces, Slot};
use super::print::{Manner, print};
use super::scan::{What, Wrong, scan};
use super::sql::{built, part};
use crate::arguments::{ArgumentError, ArgumentErrors};
use crate::file::surroundings::Surroundings;
use crate::words::unknown_hint;

/// A text with holes.
#[derive(Clone, Debug)]
pub(crate) struct Prose(pub(crate) Pieces);

impl Prose {
    /// Makes a text with holes.
    pub(crate) fn compile(text: &str, surroundings: &Surroundings) -> Result<Self, Vec<Wrong>> {
        let marks = scan(text, surroundings)?;
        let mut slots = Vec::new();
        let mut wrong = Vec::new();
        for mark in &marks {
            if matches!(mark.what, What::Open { .. } | What::Close) {
                continue;
            }
            match part(mark) {
                Ok(part) => {
                    slots.push(Slot { range: mark.range.clone(), form: Form::Prose(part) });
                }
                Err(one) => wrong.push(one),
            }
        }
        match wrong.is_empty() {
            true => Ok(Self(built(text, &marks, slots))),
            false => Err(wrong),
        }
    }

    /// The text with the arguments in it.
    pub(crate) fn fill(
        &self,
        arguments: &Map<String, Value>,
        known: &[&str],
        required: &[&str],
    ) -> Result<String, ArgumentErrors> {
        let names: Vec<String> = known.iter().map(|name| (*name).to_owned()).collect();
        let unknown = arguments.keys().filter(|name| !names.contains(name)).map(|name| {
            let hint = unknown_hint(name, &names, "argument");
            ArgumentError { argument: name.clone(), message: "unknown argument".into(), hint }
        });
        let missing = required.iter().filter(|name| !arguments.contains_key(**name)).map(|name| {
            ArgumentError { argument: (*name).to_owned(), message: "is missing".into(), hint: None }
        });
        let errors: Vec<_> = unknown.chain(missing).collect();
        match errors.is_empty() {
            true => print(&self.0, arguments, Manner::Prose).map(|printed| printed.text),
            false => Err(ArgumentErrors(errors)),
        }
    }
}
