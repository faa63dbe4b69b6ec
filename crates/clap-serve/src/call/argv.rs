//! The arguments of a call as an argv.
//!
//! A value is attached to its option, `--name=value`, or follows `--`, where everything is data. Where
//! neither is possible, because other arguments follow the `--` or an option takes several words, a value
//! that begins with a dash was refused before.

use super::arguments::{CallArgument, Values};
use crate::tree::{Layout, Leaf, Shape, Spelling};

/// The argv after the program's name.
pub(super) fn argv(leaf: &Leaf, arguments: &[CallArgument<'_>]) -> Vec<String> {
    let mut argv = Vec::new();
    for level in 0..=leaf.path.len() {
        let here: Vec<&CallArgument<'_>> =
            arguments.iter().filter(|one| one.argument.level == level).collect();
        let (positional, mut named): (Vec<&CallArgument<'_>>, Vec<&CallArgument<'_>>) =
            here.into_iter().partition(|one| one.argument.spelling.is_positional());
        let (bare, escaped): (Vec<&CallArgument<'_>>, Vec<&CallArgument<'_>>) =
            positional.into_iter().partition(|one| one.argument.never.dash);
        write_positional(bare, &mut argv);
        // An option with several words goes first, so that the name of the next option ends it.
        named.sort_by_key(|one| !is_spaced(one));
        named.iter().for_each(|one| write_named(one, &mut argv));
        if !escaped.is_empty() {
            argv.push("--".to_owned());
        }
        write_positional(escaped, &mut argv);
        argv.extend(leaf.path.get(level).cloned());
    }
    argv
}

fn is_spaced(argument: &CallArgument<'_>) -> bool {
    let has_words = matches!(argument.values, Values::Words(_));
    !has_words || matches!(argument.argument.shape, Shape::Many { layout: Layout::Spaced, .. })
}

fn write_named(argument: &CallArgument<'_>, argv: &mut Vec<String>) {
    let name = match &argument.argument.spelling {
        Spelling::Long(long) => format!("--{long}"),
        Spelling::Short(short) => format!("-{short}"),
        Spelling::Position(_) | Spelling::Last => return,
    };
    match &argument.values {
        Values::Times(count) => argv.extend(std::iter::repeat_n(name, *count)),
        Values::Words(values) => match &argument.argument.shape {
            Shape::Many { layout: Layout::Spaced, .. } => {
                argv.push(name);
                argv.extend(values.iter().cloned());
            }
            Shape::Many { layout: Layout::Joined(one), .. } => {
                argv.push(format!("{name}={}", joined(values, *one)));
            }
            _ => argv.extend(values.iter().map(|value| format!("{name}={value}"))),
        },
    }
}

/// Writes positional arguments.
fn write_positional(mut arguments: Vec<&CallArgument<'_>>, argv: &mut Vec<String>) {
    arguments.sort_by_key(|one| match one.argument.spelling {
        Spelling::Position(index) => index,
        _ => usize::MAX,
    });
    arguments.iter().for_each(|one| argv.extend(values(one)));
}

fn values(argument: &CallArgument<'_>) -> Vec<String> {
    match (&argument.values, &argument.argument.shape) {
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
