//! The proof that a command line means what was given: clap parses it, and what clap read is compared.
//!
//! A word that became a flag, another command or a second value would show here, before anything runs.

use clap::{ArgMatches, Command, parser::ValueSource};

use super::given::{Given, Values};
use crate::tree::{Leaf, Shape};

/// What clap reads in the words of a call, when that is what was given.
pub(super) fn parse(
    leaf: &Leaf,
    words: &[String],
    given: &[Given<'_>],
) -> Result<ArgMatches, String> {
    let mut parser = leaf.parser.clone();
    let program = parser.get_name().to_owned();
    let is_bare = parser.is_no_binary_name_set();
    let line = (!is_bare).then_some(&program).into_iter().chain(words);
    let matches = parser.try_get_matches_from_mut(line).map_err(|error| told(&error))?;
    match is_as_given(leaf, &matches, given) {
        true => Ok(matches),
        false => Err("these values would be read as something else on a command line: \
                      leave out values that begin with \"-\" or are the names of commands"
            .to_owned()),
    }
}

/// What clap says of a command line, without the usage: the schema of the tool says that better.
fn told(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    let lines = lines.filter(|line| !line.starts_with("For more information"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Whether the same command was read, with the same arguments, of the same values.
fn is_as_given(leaf: &Leaf, matches: &ArgMatches, given: &[Given<'_>]) -> bool {
    let (mut matches, mut command) = (matches, &leaf.parser);
    for level in 0..=leaf.path.len() {
        if !is_level_as_given(command, matches, level, given) {
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

fn is_level_as_given(
    command: &Command,
    matches: &ArgMatches,
    level: usize,
    given: &[Given<'_>],
) -> bool {
    // Groups are among the ids too; and what is global is found at every level.
    let read = command.get_arguments().map(clap::Arg::get_id).filter(|id| {
        matches!(matches.try_contains_id(id.as_str()), Ok(true))
            && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
    });
    let is_meant = |id: &clap::Id| {
        let is_it = |one: &Given<'_>| one.argument.id == *id;
        given
            .iter()
            .any(|one| is_it(one) && (one.argument.level == level || one.argument.is_global))
    };
    let here = given.iter().filter(|one| one.argument.level == level);
    read.into_iter().all(is_meant) && here.into_iter().all(|one| is_value_as_given(matches, one))
}

fn is_value_as_given(matches: &ArgMatches, given: &Given<'_>) -> bool {
    let id = given.argument.id.as_str();
    if matches.value_source(id) != Some(ValueSource::CommandLine) {
        return false;
    }
    let read = matches.get_raw(id).into_iter().flatten().map(|value| value.to_str());
    match (&given.values, &given.argument.shape) {
        (Values::Words(words), _) => read.eq(words.iter().map(|word| Some(word.as_str()))),
        (Values::Times(count), Shape::Count) => usize::from(matches.get_count(id)) == *count,
        (Values::Times(_), _) => true,
    }
}
