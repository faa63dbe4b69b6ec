//! A template is tried before anybody calls the tool: with values for its arguments, and with every
//! combination of its clauses, it must be one and the same command, and its SQL must be a query.

use std::collections::BTreeSet;
use std::ops::Range;

use edgemere_command::template::{Token, TokenKind, sql, tokens};
use edgemere_command::{Command, Effect, Error};
use serde_json::{Map, Value, json};

use super::Checking;
use super::command::Draft;
use crate::arguments::ArgumentErrors;
use crate::file::form::EffectForm;
use crate::problem::Problem;
use crate::template::kind::Kind;
use crate::template::pieces::Use;
use crate::template::print::{Manner, Printed, print};
use crate::template::sample::sample;
use crate::template::{Answers, format};
use crate::words::unknown_hint;

/// How many arguments of clauses are combined with each other; of more, each is tried alone and left
/// out alone.
const COMBINED_MAX: usize = 7;

/// What a schema says of a tool's arguments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) properties: &'a Map<String, Value>,
    pub(super) required: &'a [String],
    /// What says so.
    pub(super) whose: &'static str,
}

impl Known<'_> {
    /// Whether a call always has a value for the argument.
    fn is_always_given(&self, name: &str) -> bool {
        let default = self.properties.get(name).and_then(|property| property.get("default"));
        self.required.iter().any(|required| required == name) || default.is_some()
    }
}

/// Tries a command's template; its declared name, and what it answers with, when all is well.
pub(super) fn command(
    checking: &mut Checking<'_>,
    draft: &Draft,
    known: Known<'_>,
    effect: EffectForm,
) -> Option<(&'static str, Answers)> {
    let mut trial = Trial { draft, known, file: checking.file, problems: Vec::new() };
    let (mut names, mut answers) = (BTreeSet::new(), None);
    if trial.uses() {
        for arguments in trial.tried() {
            let Some((name, gives)) = trial.as_command(&arguments, effect) else { continue };
            names.insert(name);
            answers = Some(answers.map_or(gives, |answers: Answers| answers.or(gives)));
        }
    }
    let answers = match format::is_open(&draft.pieces) {
        true => Some(Answers::Either),
        false => answers,
    };
    if names.len() > 1 {
        let all: Vec<_> = names.iter().copied().collect();
        let message = format!("with other arguments it is another command: {}", all.join(", "));
        trial.problems.push(checking.file.problem(&draft.pointer, message));
    }
    finish(checking, trial.problems).then(|| names.first().copied().zip(answers)).flatten()
}

/// Checks only that every hole is for an argument, of what cannot be tried.
pub(super) fn holes(checking: &mut Checking<'_>, draft: &Draft, known: Known<'_>) -> bool {
    let mut trial = Trial { draft, known, file: checking.file, problems: Vec::new() };
    trial.uses();
    finish(checking, trial.problems)
}

/// Tries the template of a destination.
pub(super) fn destination(checking: &mut Checking<'_>, draft: &Draft, known: Known<'_>) -> bool {
    let mut trial = Trial { draft, known, file: checking.file, problems: Vec::new() };
    if trial.uses() {
        for arguments in trial.combinations() {
            trial.as_destination(&arguments);
        }
    }
    finish(checking, trial.problems)
}

fn finish(checking: &mut Checking<'_>, problems: Vec<Problem>) -> bool {
    let is_well = problems.is_empty();
    checking.problems.extend(problems);
    is_well
}

struct Trial<'a> {
    draft: &'a Draft,
    known: Known<'a>,
    file: &'a crate::file::File,
    problems: Vec<Problem>,
}

impl Trial<'_> {
    /// Whether every hole is for an argument that can be there.
    fn uses(&mut self) -> bool {
        let before = self.problems.len();
        for one in self.draft.pieces.uses() {
            let Some(property) = self.known.properties.get(one.name) else {
                let known: Vec<String> = self.known.properties.keys().cloned().collect();
                let message = format!("{} has no \"{}\"", self.known.whose, one.name);
                let hint = unknown_hint(one.name, &known, "argument");
                self.wrong(Some(one.range), message, hint);
                continue;
            };
            let is_given =
                self.known.is_always_given(one.name) || self.draft.given == Some(one.name);
            if !one.is_optional && !is_given {
                let message = format!("\"{}\" is not always given", one.name);
                let hint = "put it in [[ … ]], give it a default, or require it".to_owned();
                self.wrong(Some(one.range.clone()), message, Some(hint));
            }
            if one.kind == Some(Kind::Keyword) && property.get("enum").is_none() {
                let message = format!("\"{}\" is a word of the enum, and has none", one.name);
                let hint = "give it an \"enum\" in the input_schema".to_owned();
                self.wrong(Some(one.range), message, Some(hint));
            }
        }
        self.problems.len() == before
    }

    /// The arguments to try. What is proven is only asked what it is.
    fn tried(&self) -> Vec<Map<String, Value>> {
        let mut combinations = self.combinations();
        let before = match self.file.source.is_proven {
            true => combinations.len().saturating_sub(1),
            false => 0,
        };
        combinations.split_off(before)
    }

    /// The arguments to try: all that are always given, with each set of the others.
    fn combinations(&self) -> Vec<Map<String, Value>> {
        let uses = self.draft.pieces.uses();
        let mut all = Map::new();
        for one in &uses {
            let kind = one.kind.unwrap_or(Kind::Value);
            if !all.contains_key(one.name) || one.kind.is_some() {
                let property = self.known.properties.get(one.name);
                let value = sample(property, kind);
                // A flag's default may be that it is off.
                let value = if value == json!(false) { json!(true) } else { value };
                all.insert(one.name.to_owned(), value);
            }
        }
        let open: BTreeSet<&str> =
            uses.iter().filter(|one| self.is_open(one)).map(|one| one.name).collect();
        let open: Vec<&str> = open.into_iter().collect();
        let without = |left_out: &dyn Fn(usize) -> bool| {
            let left_out = open.iter().enumerate().filter(|(index, _)| left_out(*index));
            let mut arguments = all.clone();
            left_out.for_each(|(_, name)| {
                arguments.remove(*name);
            });
            arguments
        };
        match open.len() {
            count @ 0..=COMBINED_MAX => {
                (0..1_usize << count).map(|set| without(&|index| set >> index & 1 == 1)).collect()
            }
            count => {
                let ends = [without(&|_| false), without(&|_| true)];
                let each = (0..count).flat_map(|one| {
                    [without(&|index| index == one), without(&|index| index != one)]
                });
                ends.into_iter().chain(each).collect()
            }
        }
    }

    /// Whether an argument may be left out, or be a flag that is off.
    fn is_open(&self, one: &Use<'_>) -> bool {
        one.is_optional && (one.kind.is_none() || !self.known.is_always_given(one.name))
    }

    fn as_command(
        &mut self,
        arguments: &Map<String, Value>,
        allowed: EffectForm,
    ) -> Option<(&'static str, Answers)> {
        let printed = self.printed(arguments)?;
        let command = self.parsed(&printed, &printed.text, 0)?;
        if let Some((query, at)) = printed.query.as_ref().filter(|_| !self.file.source.is_proven) {
            self.query(query, *at);
        }
        let is_allowed = match command.effect() {
            Effect::Read => true,
            Effect::Write => allowed != EffectForm::Read,
            Effect::Destructive => allowed == EffectForm::Destructive,
            Effect::Secret => false,
        };
        if !is_allowed {
            let effect = command.effect();
            let name = command.declaration().name;
            let message =
                format!("\"{name}\" does more than read: it needs the permission to {effect}");
            let hint = match effect {
                Effect::Write => Some("say so: \"effect: write\"".to_owned()),
                Effect::Destructive => Some("say so: \"effect: destructive\"".to_owned()),
                Effect::Read | Effect::Secret => None,
            };
            self.wrong(None, message, hint);
        }
        let answers = if command.gives_pages() { Answers::Rows } else { Answers::Value };
        Some((command.declaration().name, answers))
    }

    fn as_destination(&mut self, arguments: &Map<String, Value>) {
        const BEFORE: &str = "run client (";
        if let Some(printed) = self.printed(arguments) {
            let text = format!("{BEFORE}{}) get status", printed.text);
            self.parsed(&printed, &text, BEFORE.len());
        }
    }

    fn printed(&mut self, arguments: &Map<String, Value>) -> Option<Printed> {
        match print(&self.draft.pieces, arguments, Manner::Veiled) {
            Ok(printed) => Some(printed),
            Err(ArgumentErrors(errors)) => {
                for error in errors {
                    let uses = self.draft.pieces.uses();
                    let place = uses.into_iter().find(|one| one.name == error.argument);
                    let message = format!(
                        "a value that \"{}\" may have does not fit: {}",
                        error.argument, error.message
                    );
                    let range = place.map(|one| one.range);
                    let hint = "give it an example that fits, as \"examples: […]\"".to_owned();
                    self.wrong(range, message, Some(hint));
                }
                None
            }
        }
    }

    fn parsed(&mut self, printed: &Printed, text: &str, before: usize) -> Option<Command> {
        match edgemere_command::parse(text) {
            Ok(command) => Some(command),
            Err(error) => {
                let bytes = error.at().map(|at| in_bytes(text, &at));
                let range = bytes.and_then(|at| {
                    let at = at.start.checked_sub(before)?..at.end.saturating_sub(before);
                    printed.origin(&at)
                });
                let hint = self.word_hint(&error, text);
                let hint = hint.or_else(|| error.hint().map(|hint| hint.to_string()));
                self.wrong(range, format!("not a command: {error}"), hint);
                None
            }
        }
    }

    /// What to do when an argument stands where a word of the command must stand.
    fn word_hint(&self, error: &Error, text: &str) -> Option<String> {
        const NAME_WORDS_MAX: usize = 3;
        let is_unknown = matches!(error, Error::UnknownCommand { .. });
        let first = tokens(text);
        let is_value = |token: &Token| matches!(token.kind, TokenKind::Quoted(_));
        let has_value = first.iter().take(NAME_WORDS_MAX).any(is_value);
        (is_unknown && has_value).then(|| {
            "an argument is a value and no word of the command; \"cases\" choose among commands"
                .into()
        })
    }

    fn query(&mut self, query: &Printed, at: Option<usize>) {
        let Err(error) = sql::check(&query.text) else { return };
        let place = match &error {
            sql::Error::Syntax { position: Some(position), .. } => {
                let start = offset(&query.text, *position);
                query.origin(&(start..start + 1)).zip(at)
            }
            _ => None,
        };
        let range = place.map(|(range, at)| range.start + at..range.end + at);
        let hint = error.hint();
        self.wrong(range, error.to_string(), hint);
    }

    fn wrong(&mut self, range: Option<Range<usize>>, message: String, hint: Option<String>) {
        let Draft { pointer, is_written, .. } = self.draft;
        let problem = match range.filter(|_| *is_written) {
            Some(range) => self.file.problem_inside(pointer, range, message),
            None => self.file.problem(pointer, message),
        };
        let problem = problem.with_hint(hint);
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }
}

/// A place in characters as one in bytes.
fn in_bytes(text: &str, at: &Range<usize>) -> Range<usize> {
    let byte =
        |character: usize| text.char_indices().nth(character).map_or(text.len(), |(byte, _)| byte);
    byte(at.start)..byte(at.end)
}

/// A line and a column, from 1, as a place in bytes.
fn offset(text: &str, (line, column): (usize, usize)) -> usize {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let rest = text.get(before..).unwrap_or_default();
    let inside = rest.char_indices().nth(column.saturating_sub(1));
    before + inside.map_or(rest.len(), |(byte, _)| byte)
}
