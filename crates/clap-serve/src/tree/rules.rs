//! What holds between the arguments of a tool: which exclude each other, which need another.
//!
//! clap lets itself be asked for conflicts and groups, but not for `requires` and the like: those it refuses
//! itself, when a call is parsed. Nor can it be asked for the conflicts of global arguments, which it
//! knows only where they were declared: those are found by trying.

use clap::{Arg, ArgGroup, Command, Id, error::ErrorKind};
use serde_json::{Value, json};

use super::{
    Argument, Kind,
    argument::{Layout, Shape, Spelling, is_filled},
};

/// What holds between arguments, which are named by their place in the list of a tool's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Not both.
    Conflict(usize, usize),
    /// At least one.
    OneOf(Vec<usize>),
    /// The one only with the other.
    Needs { given: usize, needed: usize },
}

/// The rules of the arguments of a tool, whose commands are these. What has to be given unless another
/// is, is no longer marked as required. Fails when nothing that is offered can satisfy a rule.
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

/// What excludes each other: declared, by a group of which only one may be given, or because one
/// tolerates nothing beside it.
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

/// Which global arguments exclude each other: clap looks at that before it looks for what is missing.
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

/// Words with which an argument is given, with some value that it takes; none when there is none that
/// must fit.
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

/// What must be given unless something is that excludes it.
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

/// Groups of which one must be given.
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

/// Values that are known by their place need those before them.
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

/// The arguments of a group, also those of groups in it.
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
    /// What is said of it when it does not hold for what is given.
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

    /// Whether a keyword of JSON Schema says it, which only looks at what is there: not where an empty
    /// text is as good as nothing.
    pub(crate) fn has_keyword(&self, arguments: &[Argument]) -> bool {
        let is_plain =
            |at: &usize| arguments.get(*at).is_some_and(|one| !one.is_absent_when_empty());
        matches!(self, Self::Needs { given, needed } if is_plain(given) && is_plain(needed))
    }

    /// A schema of objects for which it does not hold, unless a keyword says it.
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

    /// What is said of it in a description.
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
