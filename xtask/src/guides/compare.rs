//! Whether a command printed what a page says: the same lines, with `…` for what may differ, and any
//! figure where a duration, a rate or a size stands.

use std::sync::LazyLock;

use regex_lite::Regex;

/// A figure that no two runs have in common, with the unit that makes it one.
static MEASURED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b\d[\d.,]* ?(ms|s|rows/s|MB/s|B|KB|KiB|MB|MiB)\b").ok());

/// Whether the lines of a page stand for what was printed.
pub(crate) fn matches(expected: &[String], printed: &str) -> bool {
    let expected: Vec<String> = trimmed(expected.iter().map(String::as_str));
    let printed: Vec<String> = trimmed(printed.lines());
    lines_match(&expected, &printed)
}

/// Lines with their figures taken out, without blank ones at the beginning and the end.
fn trimmed<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lines = lines.map(|line| without_figures(line.trim_end()));
    let mut lines: Vec<String> = lines.skip_while(String::is_empty).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn without_figures(line: &str) -> String {
    match &*MEASURED {
        Some(measured) => measured.replace_all(line, "# $1").into_owned(),
        None => line.to_owned(),
    }
}

fn lines_match(expected: &[String], printed: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((any, rest)) if any.trim() == "…" => {
            (0..=printed.len()).any(|skip| lines_match(rest, printed.get(skip..).unwrap_or(&[])))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, more)| line_matches(first, line) && lines_match(rest, more)),
    }
}

fn line_matches(expected: &str, line: &str) -> bool {
    let Some((begin, rest)) = expected.split_once('…') else { return expected == line };
    let Some(mut left) = line.strip_prefix(begin) else { return false };
    let mut pieces = rest.split('…').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return left.ends_with(piece);
        }
        match left.split_once(piece) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(expected: &str, printed: &str) -> bool {
        let expected: Vec<String> = expected.lines().map(str::to_owned).collect();
        matches(&expected, printed)
    }

    #[test]
    fn figures_and_ellipses_stand_for_others() {
        assert!(same("5 rows stored in 0.1 s (60 rows/s)", "5 rows stored in 2.25 s (2 rows/s)\n"));
        assert!(same("a…z", "abcz"));
        assert!(same("a\n…\nz\n", "a\nb\nc\nz\n\n"));
        assert!(same("…", ""));
        assert!(same("x … y … z", "x 1 y 2 z"));
    }

    #[test]
    fn all_else_must_be_the_same() {
        assert!(!same("5 rows stored in 0.1 s", "4 rows stored in 0.1 s"));
        assert!(!same("a", "a\nb"));
        assert!(!same("a\nb", "a"));
        assert!(!same("x … y … z", "x 1 y 2 w"));
        assert!(!same("[[10]]", "[[20]]"));
    }
}
