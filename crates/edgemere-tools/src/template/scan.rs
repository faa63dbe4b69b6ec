//! Where a template has holes: `{name}`, `{t:name}`, values of the environment `${NAME}`, and clauses
//! `[[ … ]]` that are there only with their arguments. What stands around them is not read here.

use std::ops::Range;

use super::kind::Kind;
use crate::file::environment::{self, HINT};
use crate::file::surroundings::Surroundings;

/// Something in a template that is more than its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Where it stands, in bytes.
    pub(crate) range: Range<usize>,
    pub(crate) what: What,
}

/// What a mark is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A place for an argument.
    Hole { kind: Kind, name: String },
    /// A text that is known, and what stands for it where it must not be shown.
    Constant { text: String, shown: String },
    /// The beginning of a clause.
    Open { condition: Option<Condition> },
    /// The end of a clause.
    Close,
}

/// On what a clause depends beside its holes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// `[[?name … ]]`: the argument is given, and is not false.
    Given(String),
    /// `[[!name … ]]`: it is not given, or is false.
    Absent(String),
}

/// What is wrong with a template, and where, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) range: Range<usize>,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Wrong {
    pub(crate) fn new(range: Range<usize>, message: impl Into<String>) -> Self {
        Self { range, message: message.into(), hint: None }
    }

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// Finds all marks, in the order of the text.
pub(crate) fn scan(text: &str, surroundings: &Surroundings) -> Result<Vec<Mark>, Vec<Wrong>> {
    let mut scanner = Scanner { text, surroundings, marks: Vec::new(), wrong: Vec::new() };
    if let Some(at) = text.find(|c: char| c.is_control() && !"\n\r\t".contains(c)) {
        return Err(vec![Wrong::new(at..at + 1, "a control character cannot be in a template")]);
    }
    scanner.part(0..text.len());
    match scanner.wrong.is_empty() {
        true => Ok(scanner.marks),
        false => Err(scanner.wrong),
    }
}

struct Scanner<'a> {
    text: &'a str,
    surroundings: &'a Surroundings,
    marks: Vec<Mark>,
    wrong: Vec<Wrong>,
}

impl<'a> Scanner<'a> {
    fn part(&mut self, range: Range<usize>) {
        let mut at = range.start;
        while at < range.end {
            let rest = self.rest(at..range.end);
            at = match rest.as_bytes() {
                [b'$', b'$', b'{', ..] => self.constant(at..at + 3, "${", "${"),
                [b'$', b'{', ..] => self.variable(at, rest),
                [b'{', b'{', ..] => self.braces(at, rest),
                [b'{', ..] => self.hole(at, rest),
                [b'[', b'[', ..] => self.clause(at, rest),
                _ => at + rest.chars().next().map_or(1, char::len_utf8),
            };
        }
    }

    fn rest(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    fn constant(&mut self, range: Range<usize>, text: &str, shown: &str) -> usize {
        let what = What::Constant { text: text.to_owned(), shown: shown.to_owned() };
        let end = range.end;
        self.marks.push(Mark { range, what });
        end
    }

    fn variable(&mut self, at: usize, rest: &str) -> usize {
        let Some(length) = rest.find('}') else {
            let wrong = Wrong::new(at..at + 2, "\"${\" has no \"}\" after it");
            self.wrong.push(wrong);
            return at + 2;
        };
        let range = at..at + length + 1;
        match environment::variable(rest.get(2..length).unwrap_or_default(), self.surroundings) {
            Ok(value) => {
                let shown = rest.get(..length + 1).unwrap_or_default();
                self.constant(range, &value, shown)
            }
            Err(message) => {
                let end = range.end;
                self.wrong.push(Wrong::new(range, message).with_hint(HINT));
                end
            }
        }
    }

    /// `{{name}}` is the text `{name}`.
    fn braces(&mut self, at: usize, rest: &str) -> usize {
        let inside = rest.get(2..).unwrap_or_default();
        match inside.split_once("}}").filter(|(name, _)| hole(name).is_some()) {
            Some((name, _)) => {
                let text = format!("{{{name}}}");
                self.constant(at..at + name.len() + 4, &text, &text)
            }
            None => at + 1,
        }
    }

    /// `{name}` or `{t:name}`. Any other brace is only a brace, as in JSON.
    fn hole(&mut self, at: usize, rest: &str) -> usize {
        let inside = rest.get(1..).unwrap_or_default();
        let Some((inside, (kind, name))) =
            inside.split_once('}').and_then(|(inside, _)| hole(inside).map(|hole| (inside, hole)))
        else {
            return at + 1;
        };
        let range = at..at + inside.len() + 2;
        let end = range.end;
        match kind.map_or(Some(Kind::Value), Kind::from_letter) {
            Some(kind) => {
                let what = What::Hole { kind, name: name.to_owned() };
                self.marks.push(Mark { range, what });
            }
            None => {
                let wrong = Wrong::new(range, format!("no kind of hole is written {{{inside}}}"));
                self.wrong.push(wrong.with_hint(Kind::all()));
            }
        }
        end
    }

    /// `[[ … ]]`, when there is something in it that it can depend on.
    fn clause(&mut self, at: usize, rest: &str) -> usize {
        let inside = rest.get(2..).unwrap_or_default();
        let Some(length) = inside.find("]]") else { return at + 2 };
        let inside = inside.get(..length).unwrap_or_default();
        let (condition, prefix) = condition(inside);
        let (start, end) = (at + 2 + prefix, at + 2 + length);
        let before = self.marks.len();
        self.part(start..end);
        if let Some(nested) = inside.find("[[") {
            let at = at + 2 + nested;
            self.wrong.push(Wrong::new(at..at + 2, "a clause cannot be inside of another"));
        }
        let inner = self.marks.get(before..).unwrap_or_default();
        let has_hole = inner.iter().any(|mark| matches!(mark.what, What::Hole { .. }));
        if condition.is_some() || has_hole {
            let open = Mark { range: at..start, what: What::Open { condition } };
            self.marks.insert(before, open);
            self.marks.push(Mark { range: end..end + 2, what: What::Close });
        }
        end + 2
    }
}

/// The letter and the name of what stands in braces.
fn hole(inside: &str) -> Option<(Option<char>, &str)> {
    let (kind, name) = match inside.split_once(':') {
        Some((kind, name)) => {
            let mut letters = kind.chars();
            let letter = letters.next().filter(char::is_ascii_lowercase)?;
            (letters.next().is_none().then_some(Some(letter))?, name)
        }
        None => (None, inside),
    };
    is_name(name).then_some((kind, name))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// The condition that a clause begins with, and how long it is with the blank or colon after it.
fn condition(inside: &str) -> (Option<Condition>, usize) {
    let named = |sign: char| {
        let rest = inside.strip_prefix(sign)?;
        let end = rest.find(|c: char| c.is_whitespace() || c == ':')?;
        rest.get(..end).filter(|name| is_name(name)).map(str::to_owned)
    };
    match (named('?'), named('!')) {
        (Some(name), _) => (Some(Condition::Given(name.clone())), name.len() + 2),
        (_, Some(name)) => (Some(Condition::Absent(name.clone())), name.len() + 2),
        (None, None) => (None, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(text: &str) -> Vec<String> {
        let marks = scan(text, &Surroundings::of([("N", "v w")])).unwrap();
        let shown = marks.iter().map(|mark| {
            let written = text.get(mark.range.clone()).unwrap();
            match &mark.what {
                What::Hole { kind, name } => format!("{written} {kind:?} {name}"),
                What::Constant { text, shown } => format!("{written} = {text} ({shown})"),
                What::Open { condition } => format!("{written} {condition:?}"),
                What::Close => written.to_owned(),
            }
        });
        shown.collect()
    }

    #[test]
    fn holes_clauses_and_values_are_found() {
        assert_eq!(
            marks("get {a} where [[ b = {t:b} and ]] c = \"${N}\" [[!d e ]][[?f:g]] {{h}} $${N}"),
            [
                "{a} Value a",
                "[[ None",
                "{t:b} Table b",
                "]]",
                "${N} = v w (${N})",
                "[[!d  Some(Absent(\"d\"))",
                "]]",
                "[[?f: Some(Given(\"f\"))",
                "]]",
                "{{h}} = {h} ({h})",
                "$${ = ${ (${)",
            ]
        );
    }

    #[test]
    fn braces_and_brackets_that_hold_nothing_are_text() {
        for text in [
            "{\"table\": {\"a\": {\"b\": 1}}}",
            "ARRAY[[1, 2], [3, 4]]",
            "bring [*][name] [ip]",
            "{ a }",
            "{}",
            "{a b}",
            "[[ a",
            "]]",
        ] {
            assert_eq!(marks(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn what_cannot_be_is_told_with_its_place() {
        let wrong = |text: &str| {
            let wrong = scan(text, &Surroundings::empty()).unwrap_err();
            wrong.iter().map(|w| text.get(w.range.clone()).unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(wrong("a {z:b} ${NO} {y:c}"), ["{z:b}", "${NO}", "{y:c}"]);
        assert_eq!(wrong("[[ a {b} [[ c {d} ]] ]]"), ["[["]);
        assert_eq!(wrong("a\u{1}b"), ["\u{1}"]);
    }
}
