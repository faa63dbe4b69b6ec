//! Rules between the arguments of a tool: conflicts and requirements.
//!
//! clap reveals conflicts and groups, but not `requires` and similar rules, which it checks when a call is
//! parsed. It does not reveal the conflicts of global arguments either, which are found by trying.

use clap::{Arg, ArgGroup, Command, Id, error::ErrorKind};
use serde_json::{Value, json};

use super::{
    Argument, Kind,
    argument::{Layout, Shape, Spelling, is_filled},
};

/// A rule between arguments, by their index in the tool's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Not both.
    Conflict(usize, usize),
    /// At least one.
    OneOf(Vec<usize>),
    /// The first only with the second.
    Needs { given: usize, needed: usize },
}

/// The rules of a tool's arguments. An argument that is required unless another one is present is no longer
/// marked as required. Fails if no offered argument can satisfy a rule.
pub(crate) fn rules(arguments: &mut [Argument], levels: &[&Command]) -> Option<Vec<Rule>> {
    let mut rules = Vec::new();
    for (level, command) in levels.iter().enumerate() {
        let is_last = level + 1 == levels.len();
        let mut conflicts = conflicts(arguments, level, command);
        conflicts.sort_unstable();
        conflicts.dedup();
        rules.extend(conflicts.iter().map(|(one, other)| Rule::Conflict(*one, *other)));
        if is_last || !command.is_subcommand_negates_reqs_set() {
            rules.extend(unless(arguments, level, &conflicts));
            rules.extend(one_of(arguments, level, command)?);
        }
        rules.extend(gaps(arguments, level, command));
    }
    Some(rules)
}

/// Conflicts: declared, by a group that allows one argument, or by an exclusive argument.
fn conflicts(arguments: &[Argument], level: usize, command: &Command) -> Vec<(usize, usize)> {
    let place = |id: &Id| place(arguments, level, id);
    let mut pairs = Vec::new();
    for arg in command.get_arguments().filter(|arg| !arg.is_global_set()) {
        let others = command.get_arg_conflicts_with(arg).into_iter().map(Arg::get_id);
        let alone = command.get_arguments().filter(|_| arg.is_exclusive_set()).map(Arg::get_id);
        let one = place(arg.get_id());
        pairs.extend(others.chain(alone).filter_map(|other| Some((one?, place(other)?))));
    }
    pairs.extend(global_conflicts(arguments, level, command));
    for group in command.get_groups().filter(|group| !group.to_owned().clone().is_multiple()) {
        let members: Vec<usize> = members(group, command).iter().filter_map(place).collect();
        pairs.extend(members.iter().flat_map(|one| members.iter().map(|other| (*one, *other))));
    }
    let ordered = pairs.into_iter().map(|(one, other)| (one.min(other), one.max(other)));
    ordered.filter(|(one, other)| one != other).collect()
}

/// Conflicts of global arguments. clap checks conflicts before missing arguments.
fn global_conflicts(
    arguments: &[Argument],
    level: usize,
    command: &Command,
) -> Vec<(usize, usize)> {
    let samples: Vec<(usize, Vec<String>)> = arguments
        .iter()
        .enumerate()
        .filter(|(_, argument)| argument.level == level && argument.is_global)
        .filter_map(|(at, argument)| Some((at, sample(argument)?)))
        .collect();
    let excludes = |one: &[String], other: &[String]| {
        let mut alone = command.clone().no_binary_name(true);
        let parsed = alone.try_get_matches_from_mut(one.iter().chain(other));
        parsed.is_err_and(|error| error.kind() == ErrorKind::ArgumentConflict)
    };
    let mut pairs = Vec::new();
    for (place, (one, words)) in samples.iter().enumerate() {
        let others = samples.iter().skip(place + 1);
        let excluded = others.filter(|(_, others)| excludes(words, others));
        pairs.extend(excluded.map(|(other, _)| (*one, *other)));
    }
    pairs
}

/// Words that give an argument an accepted value; none if no value is sure to be accepted.
fn sample(argument: &Argument) -> Option<Vec<String>> {
    let name = match &argument.spelling {
        Spelling::Long(long) => format!("--{long}"),
        Spelling::Short(short) => format!("-{short}"),
        Spelling::Position(_) | Spelling::Last => return None,
    };
    let value = match &argument.kind {
        Kind::Text { .. } => "a".to_owned(),
        Kind::Integer { min, max } => min.or(*max).unwrap_or(0).to_string(),
        Kind::Number { .. } => "0".to_owned(),
        Kind::Boolean => "true".to_owned(),
        Kind::Choice(choices) => choices.first()?.0.clone(),
    };
    Some(match &argument.shape {
        Shape::Flag | Shape::Count => vec![name],
        Shape::Many { min, layout: Layout::Spaced, .. } => {
            [name].into_iter().chain(std::iter::repeat_n(value, *min)).collect()
        }
        Shape::One | Shape::Maybe | Shape::Many { .. } => vec![format!("{name}={value}")],
    })
}

/// Arguments that are required unless a conflicting one is present.
fn unless(arguments: &mut [Argument], level: usize, conflicts: &[(usize, usize)]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (at, argument) in arguments.iter_mut().enumerate() {
        let others: Vec<usize> = conflicts
            .iter()
            .filter_map(|(one, other)| match at {
                _ if at == *one => Some(*other),
                _ if at == *other => Some(*one),
                _ => None,
            })
            .collect();
        if argument.level == level && argument.required && !others.is_empty() {
            argument.required = false;
            rules.push(Rule::OneOf([vec![at], others].concat()));
        }
    }
    rules
}

/// Groups of which one argument is required.
fn one_of(arguments: &[Argument], level: usize, command: &Command) -> Option<Vec<Rule>> {
    let mut rules = Vec::new();
    for group in command.get_groups().filter(|group| group.is_required_set()) {
        let members = members(group, command);
        let is_by_itself = |id: &Id| {
            let arg = command.get_arguments().find(|arg| arg.get_id() == id);
            arg.is_some_and(|arg| arg.get_default_values().is_empty() && is_filled(arg))
        };
        if members.iter().any(is_by_itself) {
            continue;
        }
        let places: Vec<usize> =
            members.iter().filter_map(|id| place(arguments, level, id)).collect();
        if places.is_empty() {
            return None;
        }
        rules.push(Rule::OneOf(places));
    }
    Some(rules)
}

/// A positional argument requires those before it.
fn gaps(arguments: &[Argument], level: usize, command: &Command) -> Vec<Rule> {
    if command.is_allow_missing_positional_set() {
        return Vec::new();
    }
    let mut places: Vec<(usize, usize)> = arguments
        .iter()
        .enumerate()
        .filter(|(_, argument)| argument.level == level)
        .filter_map(|(at, argument)| match argument.spelling {
            Spelling::Position(index) => Some((index, at)),
            _ => None,
        })
        .collect();
    places.sort_unstable();
    let pairs = places.iter().zip(places.iter().skip(1));
    let needs = pairs.map(|((_, needed), (_, given))| (*given, *needed));
    let open = needs.filter(|(_, needed)| arguments.get(*needed).is_some_and(|one| !one.required));
    open.map(|(given, needed)| Rule::Needs { given, needed }).collect()
}

/// The arguments of a group, including those of nested groups.
fn members(group: &ArgGroup, command: &Command) -> Vec<Id> {
    let mut members = Vec::new();
    let mut seen = vec![group.get_id().clone()];
    let mut open: Vec<&ArgGroup> = vec![group];
    while let Some(group) = open.pop() {
        for id in group.get_args() {
            match command.get_groups().find(|other| other.get_id() == id) {
                Some(inner) if !seen.contains(id) => {
                    seen.push(id.clone());
                    open.push(inner);
                }
                Some(_) => {}
                None => members.push(id.clone()),
            }
        }
    }
    members
}

fn place(arguments: &[Argument], level: usize, id: &Id) -> Option<usize> {
    arguments.iter().position(|argument| argument.level == level && argument.id == *id)
}

impl Rule {
    /// The message if the rule is violated.
    pub(crate) fn broken(
        &self,
        arguments: &[Argument],
        is_given: impl Fn(usize) -> bool,
    ) -> Option<String> {
        let name = |at: usize| arguments.get(at).map_or("", |argument| argument.name.as_str());
        match self {
            Self::Conflict(one, other) if is_given(*one) && is_given(*other) => Some(format!(
                "\"{}\" and \"{}\" must not be given together",
                name(*one),
                name(*other)
            )),
            Self::OneOf(any) if !any.iter().any(|at| is_given(*at)) => {
                Some(format!("one of {} must be given", quoted(arguments, any)))
            }
            Self::Needs { given, needed } if is_given(*given) && !is_given(*needed) => {
                Some(format!("\"{}\" is only possible with \"{}\"", name(*given), name(*needed)))
            }
            _ => None,
        }
    }

    /// Whether a keyword of JSON Schema can express it, which only sees which properties are present: not if an
    /// empty text means absent.
    pub(crate) fn has_keyword(&self, arguments: &[Argument]) -> bool {
        let is_plain =
            |at: &usize| arguments.get(*at).is_some_and(|one| !one.is_absent_when_empty());
        matches!(self, Self::Needs { given, needed } if is_plain(given) && is_plain(needed))
    }

    /// A schema of objects that violate it, unless a keyword expresses it.
    pub(crate) fn broken_schema(&self, arguments: &[Argument]) -> Option<Value> {
        let given = |at: &usize| arguments.get(*at).map(Argument::given_schema);
        match self {
            Self::Conflict(one, other) => Some(json!({ "allOf": [given(one)?, given(other)?] })),
            Self::OneOf(any) => {
                let any: Vec<Value> = any.iter().filter_map(given).collect();
                Some(json!({ "not": { "anyOf": any } }))
            }
            Self::Needs { .. } if self.has_keyword(arguments) => None,
            Self::Needs { given: one, needed } => {
                Some(json!({ "allOf": [given(one)?, { "not": given(needed)? }] }))
            }
        }
    }

    /// The rule as a sentence for a description.
    pub(crate) fn sentence(&self, arguments: &[Argument]) -> Option<String> {
        match self {
            Self::OneOf(any) => Some(format!("Give one of {}.", quoted(arguments, any))),
            Self::Conflict(..) | Self::Needs { .. } => None,
        }
    }
}

fn quoted(arguments: &[Argument], any: &[usize]) -> String {
    let names = any.iter().filter_map(|at| arguments.get(*at));
    names.map(|argument| format!("\"{}\"", argument.name)).collect::<Vec<_>>().join(", ")
}
