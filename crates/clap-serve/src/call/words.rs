//! What is given, written as a command line.
//!
//! A value is always attached to its name, `--name=value`, or comes after two dashes: there it is data,
//! whatever it looks like. Where neither is possible it was refused when it began with a dash.

use super::given::{Given, Values};
use crate::tree::{Layout, Leaf, Shape, Spelling};

/// The words after the program's name.
pub(super) fn words(leaf: &Leaf, given: &[Given<'_>]) -> Vec<String> {
    let mut words = Vec::new();
    for level in 0..=leaf.path.len() {
        let here: Vec<&Given<'_>> =
            given.iter().filter(|one| one.argument.level == level).collect();
        let (positional, named): (Vec<&Given<'_>>, Vec<&Given<'_>>) =
            here.into_iter().partition(|one| one.argument.spelling.is_positional());
        // What takes the words that follow it goes first: then a name ends it.
        let (spaced, attached): (Vec<&Given<'_>>, Vec<&Given<'_>>) =
            named.into_iter().partition(|one| is_spaced(one));
        spaced.iter().chain(&attached).for_each(|one| write_named(one, &mut words));
        write_positional(&positional, level == leaf.path.len(), &mut words);
        words.extend(leaf.path.get(level).cloned());
    }
    words
}

fn is_spaced(given: &Given<'_>) -> bool {
    let has_words = matches!(given.values, Values::Words(_));
    !has_words || matches!(given.argument.shape, Shape::Many { layout: Layout::Spaced, .. })
}

fn write_named(given: &Given<'_>, words: &mut Vec<String>) {
    let name = match &given.argument.spelling {
        Spelling::Long(long) => format!("--{long}"),
        Spelling::Short(short) => format!("-{short}"),
        Spelling::Position(_) | Spelling::Last => return,
    };
    match &given.values {
        Values::Times(count) => words.extend(std::iter::repeat_n(name, *count)),
        Values::Words(values) => match &given.argument.shape {
            Shape::Many { layout: Layout::Spaced, .. } => {
                words.push(name);
                words.extend(values.iter().cloned());
            }
            Shape::Many { layout: Layout::Joined(one), .. } => {
                words.push(format!("{name}={}", joined(values, *one)));
            }
            _ => words.extend(values.iter().map(|value| format!("{name}={value}"))),
        },
    }
}

/// Values that are known by their place. Those of the tool's own command come after two dashes, unless
/// there are others that only may.
fn write_positional(given: &[&Given<'_>], is_own: bool, words: &mut Vec<String>) {
    let (last, mut placed): (Vec<&Given<'_>>, Vec<&Given<'_>>) =
        given.iter().partition(|one| one.argument.spelling == Spelling::Last);
    placed.sort_by_key(|one| match one.argument.spelling {
        Spelling::Position(index) => index,
        _ => usize::MAX,
    });
    let is_open = |one: &&Given<'_>| one.argument.never.dash;
    let is_escaped = is_own && last.is_empty() && !placed.iter().any(is_open);
    if is_escaped && !placed.is_empty() {
        words.push("--".to_owned());
    }
    placed.iter().for_each(|one| words.extend(positional(one)));
    if !last.is_empty() {
        words.push("--".to_owned());
        last.iter().for_each(|one| words.extend(positional(one)));
    }
}

fn positional(given: &Given<'_>) -> Vec<String> {
    match (&given.values, &given.argument.shape) {
        (Values::Words(values), Shape::Many { layout: Layout::Joined(one), .. }) => {
            vec![joined(values, *one)]
        }
        (Values::Words(values), _) => values.clone(),
        (Values::Times(_), _) => Vec::new(),
    }
}

fn joined(values: &[String], one: char) -> String {
    values.join(one.encode_utf8(&mut [0; 4]))
}
