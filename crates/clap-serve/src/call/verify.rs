//! Verification of an argv: clap parses it, and the result must equal the arguments of the call.
//!
//! A value that became a flag, another command or a second value is found here, before anything runs.

use clap::{ArgMatches, Command, parser::ValueSource};

use super::arguments::{CallArgument, Values};
use crate::tree::{Leaf, Shape};

/// Parses an argv, and fails if the result differs from the arguments of the call.
pub(super) fn parse(
    leaf: &Leaf,
    argv: &[String],
    arguments: &[CallArgument<'_>],
) -> Result<ArgMatches, String> {
    let mut parser = leaf.parser.clone();
    let program = parser.get_name().to_owned();
    let is_bare = parser.is_no_binary_name_set();
    let line = (!is_bare).then_some(&program).into_iter().chain(argv);
    let matches = parser.try_get_matches_from_mut(line).map_err(|error| message(&error))?;
    match is_equal(leaf, &matches, arguments) {
        true => Ok(matches),
        false => Err("these values would be read as something else on a command line: \
                      leave out values that begin with \"-\" or are the names of commands"
            .to_owned()),
    }
}

/// The message of a clap error, without the usage: the tool's schema is clearer.
fn message(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let lines = lines.filter(|line| !line.starts_with("For more information"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Whether clap parsed the same command with the same arguments and values.
fn is_equal(leaf: &Leaf, matches: &ArgMatches, arguments: &[CallArgument<'_>]) -> bool {
    let (mut matches, mut command) = (matches, &leaf.parser);
    for level in 0..=leaf.path.len() {
        if !is_level_equal(command, matches, level, arguments) {
            return false;
        }
        match (leaf.path.get(level), matches.subcommand()) {
            (None, None) => return true,
            (Some(expected), Some((name, below))) if expected == name => {
                let Some(next) = command.find_subcommand(name) else { return false };
                (matches, command) = (below, next);
            }
            _ => return false,
        }
    }
    false
}

fn is_level_equal(
    command: &Command,
    matches: &ArgMatches,
    level: usize,
    arguments: &[CallArgument<'_>],
) -> bool {
    // The ids include groups, and global arguments are present at every level.
    let read = command.get_arguments().map(clap::Arg::get_id).filter(|id| {
        matches!(matches.try_contains_id(id.as_str()), Ok(true))
            && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
    });
    let is_meant = |id: &clap::Id| {
        let is_it = |one: &CallArgument<'_>| one.argument.id == *id;
        arguments
            .iter()
            .any(|one| is_it(one) && (one.argument.level == level || one.argument.is_global))
    };
    let here = arguments.iter().filter(|one| one.argument.level == level);
    read.into_iter().all(is_meant) && here.into_iter().all(|one| is_value_equal(matches, one))
}

fn is_value_equal(matches: &ArgMatches, argument: &CallArgument<'_>) -> bool {
    let id = argument.argument.id.as_str();
    if matches.value_source(id) != Some(ValueSource::CommandLine) {
        return false;
    }
    let read = matches.get_raw(id).into_iter().flatten().map(|value| value.to_str());
    match (&argument.values, &argument.argument.shape) {
        (Values::Words(words), _) => read.eq(words.iter().map(|word| Some(word.as_str()))),
        (Values::Times(count), Shape::Count) => usize::from(matches.get_count(id)) == *count,
        (Values::Times(_), _) => true,
    }
}
