//! Validation of the arguments of a call. It reports all problems at once.

use serde_json::{Map, Value};

use crate::tree::{Argument, Kind, Leaf, Shape, whole};

/// An argument of a call.
#[derive(Debug, PartialEq)]
pub(super) struct CallArgument<'a> {
    pub(super) argument: &'a Argument,
    pub(super) values: Values,
}

/// The values of an argument.
#[derive(Debug, PartialEq)]
pub(super) enum Values {
    /// A flag, given this many times.
    Times(usize),
    /// At least one value.
    Words(Vec<String>),
}

impl PartialEq for Argument {
    fn eq(&self, other: &Self) -> bool {
        (self.level, &self.id) == (other.level, &other.id)
    }
}

/// The validated arguments, in the order of the command's definition.
pub(super) fn check<'a>(
    leaf: &'a Leaf,
    arguments: &Map<String, Value>,
) -> Result<Vec<CallArgument<'a>>, String> {
    let mut problems = Vec::new();
    let mut found = Vec::new();
    let mut is_given = vec![false; leaf.arguments.len()];
    for (argument, is_given) in leaf.arguments.iter().zip(&mut is_given) {
        match arguments.get(&argument.name).map(|value| values(argument, value)) {
            Some(Ok(Some(values))) => {
                *is_given = true;
                found.push(CallArgument { argument, values });
            }
            Some(Ok(None)) => {}
            Some(Err(wrong)) => {
                // It counts as given, so that its conflicts are reported in the same answer.
                *is_given = true;
                problems.push(format!("\"{}\" {wrong}", argument.name));
            }
            None if argument.required => problems.push(format!("\"{}\" is missing", argument.name)),
            None => {}
        }
    }
    let unknown =
        arguments.keys().filter(|name| leaf.arguments.iter().all(|one| one.name != **name));
    problems.extend(unknown.map(|name| is_unknown(name, leaf)));
    let broken = |at: usize| is_given.get(at).copied().unwrap_or_default();
    problems.extend(leaf.rules.iter().filter_map(|rule| rule.broken(&leaf.arguments, broken)));
    match problems.is_empty() {
        true => Ok(found),
        false => Err(problems.join("\n")),
    }
}

/// The values in a JSON value; none if it stands for an absent argument.
fn values(argument: &Argument, value: &Value) -> Result<Option<Values>, String> {
    match (&argument.shape, value) {
        (_, Value::String(text)) if text.is_empty() && argument.is_absent_when_empty() => Ok(None),
        (Shape::Flag, Value::Bool(is)) => Ok(is.then_some(Values::Times(1))),
        (Shape::Flag, _) => Err("must be true or false".to_owned()),
        (Shape::Count, Value::Number(number)) => match whole(number).map(usize::try_from) {
            Some(Ok(0)) => Ok(None),
            Some(Ok(count @ 1..=255)) => Ok(Some(Values::Times(count))),
            _ => Err("must be an integer from 0 to 255".to_owned()),
        },
        (Shape::Count, _) => Err("must be an integer from 0 to 255".to_owned()),
        (Shape::Maybe, Value::Bool(true)) if argument.kind != Kind::Boolean => {
            Ok(Some(Values::Times(1)))
        }
        (Shape::One | Shape::Maybe, value) => Ok(Some(Values::Words(vec![word(argument, value)?]))),
        (Shape::Many { min, max, .. }, Value::Array(values)) => {
            let count = values.len();
            if count < *min || max.is_some_and(|max| count > max) {
                return Err(wrong_count(*min, *max, count));
            }
            let words = values.iter().map(|value| word(argument, value));
            let words: Result<Vec<String>, String> = words.collect();
            Ok(Some(Values::Words(words.map_err(|wrong| format!("has a value that {wrong}"))?)))
        }
        (Shape::Many { .. }, _) => Err("must be a list".to_owned()),
    }
}

fn word(argument: &Argument, value: &Value) -> Result<String, String> {
    let word = argument.kind.word(value)?;
    if argument.never.dash && word.starts_with('-') {
        return Err("must not begin with \"-\" at this position of a command line".to_owned());
    }
    match argument.never.delimiter {
        Some(one) if word.contains(one) => Err(format!("must not have a \"{one}\"")),
        _ => Ok(word),
    }
}

fn wrong_count(min: usize, max: Option<usize>, count: usize) -> String {
    match max {
        Some(max) if max == min => format!("must have {min} values, not {count}"),
        Some(max) => format!("must have {min} to {max} values, not {count}"),
        None => format!("must have at least {min} values, not {count}"),
    }
}

/// The problem of an unknown name. A withheld argument counts as unknown.
fn is_unknown(name: &str, leaf: &Leaf) -> String {
    let suggestion = leaf
        .arguments
        .iter()
        .map(|argument| (strsim::jaro_winkler(name, &argument.name), &argument.name))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let name = name.chars().take(80).collect::<String>();
    if let Some((_, suggestion)) = suggestion {
        return format!("there is no argument \"{name}\": did you mean \"{suggestion}\"?");
    }
    let names: Vec<String> = leaf.arguments.iter().map(|one| format!("\"{}\"", one.name)).collect();
    match names.is_empty() {
        true => format!("there is no argument \"{name}\": the tool takes none"),
        false => format!("there is no argument \"{name}\": there are {}", names.join(", ")),
    }
}
