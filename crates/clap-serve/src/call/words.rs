//! What is given, written as a command line.
//!
//! A value is always attached to its name, `--name=value`, or comes after two dashes: there it is data,
//! whatever it looks like. Where neither is possible, because only others may stand after the dashes or
//! because a name takes several words, it was refused when it began with one.

use super::given::{Given, Values};
use crate::tree::{Layout, Leaf, Shape, Spelling};

/// The words after the program's name.
pub(super) fn words(leaf: &Leaf, given: &[Given<'_>]) -> Vec<String> {
    let mut words = Vec::new();
    for level in 0..=leaf.path.len() {
        let here: Vec<&Given<'_>> =
            given.iter().filter(|one| one.argument.level == level).collect();
        let (placed, mut named): (Vec<&Given<'_>>, Vec<&Given<'_>>) =
            here.into_iter().partition(|one| one.argument.spelling.is_positional());
        let (bare, escaped): (Vec<&Given<'_>>, Vec<&Given<'_>>) =
            placed.into_iter().partition(|one| one.argument.never.dash);
        write_placed(bare, &mut words);
        // What takes the words that follow it goes first: then a name ends it.
        named.sort_by_key(|one| !is_spaced(one));
        named.iter().for_each(|one| write_named(one, &mut words));
        if !escaped.is_empty() {
            words.push("--".to_owned());
        }
        write_placed(escaped, &mut words);
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

/// Values that are known by their place.
fn write_placed(mut given: Vec<&Given<'_>>, words: &mut Vec<String>) {
    given.sort_by_key(|one| match one.argument.spelling {
        Spelling::Position(index) => index,
        _ => usize::MAX,
    });
    given.iter().for_each(|one| words.extend(values(one)));
}

fn values(given: &Given<'_>) -> Vec<String> {
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
