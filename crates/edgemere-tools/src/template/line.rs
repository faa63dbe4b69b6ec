//! The command line of a tool: a program and its words, with holes for the arguments. A value is always
//! one word or a part of one, and never an option:
//!
//! - no shell reads the words;
//! - in a word that begins with `-` a hole stands after a `=`, so that a value cannot name an option;
//! - a word that begins with a hole cannot begin with `-`, unless it stands after a word `--`.

use std::ffi::OsString;

use clap_serve::program::Program;
use serde_json::{Map, Value};

use super::Prose;
use super::kind::Kind;
use super::pieces::{Form, Part, Piece, Pieces, Slot, When};
use super::scan::{What, Wrong, scan};
use crate::arguments::{ArgumentError, ArgumentErrors};
use crate::bound::BoundProgram;
use crate::file::form::EffectForm;
use crate::file::surroundings::Surroundings;

/// The word after which a program takes nothing for an option.
const END_OF_OPTIONS: &str = "--";

/// A program and its words.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The program, how it is run, and no words.
    pub(crate) program: Program,
    pub(crate) words: Vec<Word>,
    pub(crate) effect: EffectForm,
}

/// An entry of `args`: a word; with a list in it a word for each item.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// As it is written.
    pub(crate) pieces: Pieces,
    /// When it is there.
    when: Option<When>,
    parts: Vec<Part>,
    /// Whether it stands after the end of the options.
    is_after_options: bool,
}

impl Line {
    /// The program with these arguments in its words, which are checked and have their defaults.
    pub(crate) fn bind(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<BoundProgram, ArgumentErrors> {
        let (mut words, mut errors) = (Vec::new(), Vec::new());
        for word in &self.words {
            match word.fill(&arguments) {
                Ok(filled) => words.extend(filled.into_iter().map(OsString::from)),
                Err(error) => errors.push(error),
            }
        }
        match errors.is_empty() {
            true => Ok(BoundProgram { program: self.program.clone().args(words), arguments }),
            false => Err(ArgumentErrors(errors)),
        }
    }

    /// Whether an argument makes a difference.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let mut uses = self.words.iter().flat_map(|word| word.pieces.uses());
        uses.any(|one| one.name == name)
    }
}

/// The words of the entries of `args`, and what is wrong with each.
pub(crate) fn compile(
    entries: &[String],
    surroundings: &Surroundings,
) -> Result<Vec<Word>, Vec<(usize, Wrong)>> {
    let (mut words, mut wrong) = (Vec::new(), Vec::new());
    let mut is_after_options = false;
    for (index, entry) in entries.iter().enumerate() {
        match Word::compile(entry, surroundings) {
            Ok(word) => words.push(Word { is_after_options, ..word }),
            Err(several) => wrong.extend(several.into_iter().map(|one| (index, one))),
        }
        is_after_options |= entry == END_OF_OPTIONS;
    }
    match wrong.is_empty() {
        true => Ok(words),
        false => Err(wrong),
    }
}

impl Word {
    fn compile(entry: &str, surroundings: &Surroundings) -> Result<Self, Vec<Wrong>> {
        let marks = scan(entry, surroundings)?;
        let others = marks
            .iter()
            .filter(|mark| matches!(&mark.what, What::Hole { kind, .. } if *kind != Kind::Value));
        let others: Vec<_> = others
            .map(|mark| {
                let wrong = Wrong::new(mark.range.clone(), "a program takes only values");
                wrong.with_hint("write the argument's name alone, as {name}")
            })
            .collect();
        if !others.is_empty() {
            return Err(others);
        }
        let Prose(pieces) = Prose::compile(entry, surroundings)?;
        let (when, parts) = shape(&pieces).ok_or_else(|| {
            let wrong = Wrong::new(0..entry.len(), "a clause is all of an entry, or none of it");
            vec![wrong.with_hint("as \"[[ --name={name} ]]\"; make two entries of it")]
        })?;
        let word = Self { pieces, when, parts, is_after_options: false };
        match word.names_an_option() {
            Some(range) => {
                let message = "a value here could become another option";
                let hint = "write \"--option={name}\", or the value as an entry of its own";
                Err(vec![Wrong::new(range, message).with_hint(hint)])
            }
            None => Ok(word),
        }
    }

    /// The first hole, when it stands in the name of an option.
    fn names_an_option(&self) -> Option<std::ops::Range<usize>> {
        let before = self.before_values();
        let is_in_name = before.starts_with('-') && !before.contains('=');
        let hole = self.pieces.uses().into_iter().find(|one| one.kind.is_some());
        hole.filter(|_| is_in_name).map(|one| one.range)
    }

    /// What is known of the word before its first value.
    fn before_values(&self) -> String {
        let known = self.parts.iter().map_while(|part| match part {
            Part::Text(text) | Part::Constant { text, .. } => Some(text.as_str()),
            Part::Argument(_) => None,
        });
        known.collect()
    }

    /// The words with the arguments in them: none when its clause is not there.
    fn fill(&self, arguments: &Map<String, Value>) -> Result<Vec<String>, ArgumentError> {
        if self.when.as_ref().is_some_and(|when| !when.holds(arguments)) {
            return Ok(Vec::new());
        }
        match self.list(arguments)? {
            None => self.word(arguments, None).map(|word| vec![word]),
            Some((name, items)) => {
                let items = items.iter().enumerate();
                items.map(|(at, item)| self.word(arguments, Some((name, at, item)))).collect()
            }
        }
    }

    /// The argument in it that is a list.
    fn list<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
    ) -> Result<Option<(&'a str, &'a [Value])>, ArgumentError> {
        let mut lists = self.parts.iter().filter_map(|part| {
            let Part::Argument(name) = part else { return None };
            Some((name.as_str(), arguments.get(name)?.as_array()?.as_slice()))
        });
        let first = lists.next();
        match lists.find(|(name, _)| first.is_some_and(|(other, _)| other != *name)) {
            Some((name, _)) => Err(error(name, "cannot be a second list in the same word")),
            None => Ok(first),
        }
    }

    /// One word, with an item of a list in the place of the list.
    fn word(
        &self,
        arguments: &Map<String, Value>,
        item: Option<(&str, usize, &Value)>,
    ) -> Result<String, ArgumentError> {
        let mut word = String::new();
        let mut first = None;
        for part in &self.parts {
            match part {
                Part::Text(text) | Part::Constant { text, .. } => word.push_str(text),
                Part::Argument(name) => {
                    let (way, value) = match item {
                        Some((list, at, value)) if list == name => {
                            (format!("{name}[{at}]"), Some(value))
                        }
                        _ => (name.clone(), arguments.get(name)),
                    };
                    let text = value.map_or(Err("is missing"), text);
                    word.push_str(&text.map_err(|message| error(&way, message))?);
                    first.get_or_insert(way);
                }
            }
        }
        let is_option = self.before_values().is_empty() && word.starts_with('-');
        match first.filter(|_| is_option && !self.is_after_options) {
            Some(way) => {
                Err(error(&way, "must not begin with \"-\": it would be taken for an option"))
            }
            None => Ok(word),
        }
    }
}

/// A value as the text of a word.
fn text(value: &Value) -> Result<String, &'static str> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => return Err("is missing"),
        other => other.to_string(),
    };
    match text.contains('\0') {
        true => Err("must not have a NUL character in it"),
        false => Ok(text),
    }
}

fn error(argument: &str, message: &str) -> ArgumentError {
    ArgumentError { argument: argument.to_owned(), message: message.to_owned(), hint: None }
}

/// When a word is there, and its parts; none when a clause is only a part of it.
fn shape(pieces: &Pieces) -> Option<(Option<When>, Vec<Part>)> {
    let is_blank =
        |piece: &Piece| matches!(piece, Piece::Text { text, .. } if text.trim().is_empty());
    let inside: Vec<&Piece> = pieces.0.iter().filter(|piece| !is_blank(piece)).collect();
    match inside.as_slice() {
        [Piece::Clause { when, pieces }] => Some((Some(when.clone()), trimmed(parts(pieces)?))),
        _ => Some((None, parts(&pieces.0)?)),
    }
}

fn parts(pieces: &[Piece]) -> Option<Vec<Part>> {
    let part = |piece: &Piece| match piece {
        Piece::Text { text, .. } => Some(Part::Text(text.clone())),
        Piece::Slot(Slot { form: Form::Prose(part), .. }) => Some(part.clone()),
        Piece::Slot(_) | Piece::Clause { .. } => None,
    };
    pieces.iter().map(part).collect()
}

/// Without the blanks that stand inside of the brackets.
fn trimmed(mut parts: Vec<Part>) -> Vec<Part> {
    if let Some(Part::Text(text)) = parts.first_mut() {
        *text = text.trim_start().to_owned();
    }
    if let Some(Part::Text(text)) = parts.last_mut() {
        *text = text.trim_end().to_owned();
    }
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(entries: &[&str], arguments: Value) -> Result<Vec<String>, String> {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        let around = Surroundings::of([("SITE", "plant 1")]);
        let line = Line {
            program: Program::new("p"),
            words: compile(&entries, &around).unwrap(),
            effect: EffectForm::Read,
        };
        let bound = line.bind(arguments.as_object().unwrap().clone());
        let bound = bound.map_err(|errors| errors.to_string())?;
        Ok(bound.program.args.iter().map(|word| word.to_str().unwrap().to_owned()).collect())
    }

    fn refused(entry: &str) -> String {
        let wrong = compile(&[entry.to_owned()], &Surroundings::empty()).unwrap_err();
        assert_eq!(wrong[0].0, 0);
        let shown = entry.get(wrong[0].1.range.clone()).unwrap();
        format!("{shown}: {}", wrong[0].1.message)
    }

    #[test]
    fn every_entry_is_a_word() {
        let entries =
            ["list", "--name={name}", "{n}/{name}", "${SITE}", "{{name}}", " a b ", "{on}", "{o}"];
        let arguments = json!({ "name": "a b;c", "n": 5, "on": true, "o": { "k": [1] } });
        let expected = [
            "list",
            "--name=a b;c",
            "5/a b;c",
            "plant 1",
            "{name}",
            " a b ",
            "true",
            "{\"k\":[1]}",
        ];
        assert_eq!(words(&entries, arguments).unwrap(), expected);
    }

    #[test]
    fn clauses_are_there_only_with_their_arguments() {
        let entries = ["[[ --type={type} ]]", "[[?all --all ]]", "[[!all --some]]", "[[ {tags} ]]"];
        assert_eq!(words(&entries, json!({})).unwrap(), ["--some"]);
        let given = json!({ "type": " x ", "all": true, "tags": ["a"] });
        assert_eq!(words(&entries, given).unwrap(), ["--type= x ", "--all", "a"]);
        let empty = json!({ "type": "", "all": false, "tags": [] });
        assert_eq!(words(&entries, empty).unwrap(), ["--type=", "--some"]);
    }

    #[test]
    fn a_list_is_a_word_for_each_item() {
        let given = json!({ "tags": ["a", 2, "c d"], "n": "x" });
        assert_eq!(
            words(&["--tag={n}:{tags}", "{tags}"], given.clone()).unwrap(),
            ["--tag=x:a", "--tag=x:2", "--tag=x:c d", "a", "2", "c d"]
        );
        assert_eq!(words(&["{tags}"], json!({ "tags": [] })).unwrap(), [""; 0]);
        let two = words(&["{a}{b}"], json!({ "a": [1], "b": [2] }));
        assert_eq!(two.unwrap_err(), "b: cannot be a second list in the same word");
    }

    #[test]
    fn no_value_becomes_an_option() {
        let message = "must not begin with \"-\": it would be taken for an option";
        for (entry, arguments, argument) in [
            ("{a}", json!({ "a": "-rf" }), "a"),
            ("{a}", json!({ "a": -5 }), "a"),
            ("{a}", json!({ "a": "--" }), "a"),
            ("{a}", json!({ "a": ["x", "--help"] }), "a[1]"),
            ("{a}{b}", json!({ "a": "", "b": "-x" }), "a"),
            ("{a}-x", json!({ "a": "" }), "a"),
            ("[[ {a} ]]", json!({ "a": "-x" }), "a"),
        ] {
            assert_eq!(words(&[entry], arguments).unwrap_err(), format!("{argument}: {message}"));
        }
        let given = json!({ "a": "-x" });
        assert_eq!(words(&["--", "{a}"], given.clone()).unwrap(), ["--", "-x"]);
        assert_eq!(words(&["--o={a}", "x{a}"], given).unwrap(), ["--o=-x", "x-x"]);
        for entry in ["-{a}", "--{a}", "--no{a}", "-n{a}", "[[ --{a}=x ]]", "--{a}={a}"] {
            assert_eq!(refused(entry), "{a}: a value here could become another option");
        }
    }

    #[test]
    fn what_cannot_be_a_word_is_refused() {
        let nul = words(&["--x={a}"], json!({ "a": "b\0c" })).unwrap_err();
        assert_eq!(nul, "a: must not have a NUL character in it");
        assert_eq!(words(&["{a}"], json!({})).unwrap_err(), "a: is missing");
        assert_eq!(refused("{t:a}"), "{t:a}: a program takes only values");
        for entry in ["--range={a}[[ ..{b} ]]", "[[ {a} ]][[ {b} ]]"] {
            assert!(refused(entry).ends_with("a clause is all of an entry, or none of it"));
        }
    }
}
