//! Options: the `where key = value and …` of a command, with `format` and `extract`, which say how
//! the reply is to look and never which things it is about.

use std::fmt;

use super::cursor::Cursor;
use super::lexer::word_or_quote;
use super::term::Term;
use crate::declaration::Declaration;
use crate::error::Error;
use crate::format::Format;
use crate::near;

/// How the reply is to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Output {
    /// The format asked for; none is the command's own.
    pub(crate) format: Option<Format>,
    /// The attribute whose values alone are wanted.
    pub(crate) extract: Option<String>,
}

impl Output {
    /// Takes `format = …` or `extract = …` after its key.
    pub(crate) fn take(
        &mut self,
        key: &str,
        declaration: &Declaration,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Error> {
        let at = cursor.characters(&cursor.peek().span);
        let value = cursor.name(&format!("a value for \"{key}\""))?;
        if key == "extract" {
            self.extract = Some(value);
            return Ok(());
        }
        let known = Format::from_name(&value).filter(|f| declaration.formats.contains(f));
        self.format = Some(known.ok_or_else(|| Error::BadValue {
            key: key.into(),
            value,
            expected: names(declaration.formats.iter().map(|format| format.name())),
            at: Some(at),
        })?);
        Ok(())
    }

    /// Whether the key is one of those that say how the reply is to look.
    pub(crate) fn is_key(key: &str) -> bool {
        matches!(key, "format" | "extract")
    }

    /// The directives as `key = value`, for printing.
    pub(crate) fn directives(&self) -> impl Iterator<Item = String> {
        let format = self.format.map(|format| format!("format = {}", format.name()));
        let extract = self.extract.as_deref().map(|e| format!("extract = {}", word_or_quote(e)));
        format.into_iter().chain(extract)
    }
}

/// The options of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Options {
    pairs: Vec<(String, Term)>,
    pub(crate) output: Output,
}

impl Options {
    /// Takes `where …` if it is next; no options otherwise.
    pub(crate) fn parse(cursor: &mut Cursor<'_>, declaration: &Declaration) -> Result<Self, Error> {
        if cursor.keyword("where") {
            Self::parse_pairs(cursor, declaration)
        } else {
            Ok(Self::default())
        }
    }

    /// Takes `where …`, which must be next.
    pub(crate) fn parse_required(
        cursor: &mut Cursor<'_>,
        declaration: &Declaration,
    ) -> Result<Self, Error> {
        let usage = Some(format!("usage: {}", declaration.usage));
        if cursor.peek_keyword().as_deref() == Some("where") {
            Self::parse(cursor, declaration)
        } else {
            Err(cursor.expected_with_hint("\"where\"", usage))
        }
    }

    pub(crate) fn parse_pairs(
        cursor: &mut Cursor<'_>,
        declaration: &Declaration,
    ) -> Result<Self, Error> {
        let mut options = Self::default();
        loop {
            options.take_pair(cursor, declaration)?;
            if !cursor.keyword("and") {
                return Ok(options);
            }
        }
    }

    /// Takes one `key = value`.
    pub(crate) fn take_pair(
        &mut self,
        cursor: &mut Cursor<'_>,
        declaration: &Declaration,
    ) -> Result<(), Error> {
        let key = option_key(cursor, declaration)?;
        cursor.expect_operator("=")?;
        if Output::is_key(&key) {
            return self.output.take(&key, declaration, cursor);
        }
        let value = cursor.term(&format!("a value for \"{key}\""))?;
        self.pairs.push((key, value));
        Ok(())
    }

    /// All of it as `key = value`, for printing.
    pub(crate) fn directives(&self) -> impl Iterator<Item = String> {
        let pairs = self.pairs.iter().map(|(key, value)| format!("{key} = {value}"));
        pairs.chain(self.output.directives())
    }

    /// The value of a key, the last one when it is given twice.
    pub(crate) fn get(&self, key: &str) -> Option<&Term> {
        self.pairs.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Gives a key another value.
    pub(crate) fn set(&mut self, key: &str, value: Term) {
        self.pairs.retain(|(known, _)| known != key);
        self.pairs.push((key.to_owned(), value));
    }

    /// All values of a key.
    pub(crate) fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Term> {
        self.pairs.iter().filter(move |(known, _)| known == key).map(|(_, value)| value)
    }

    /// All keys and values.
    pub(crate) fn pairs(&self) -> &[(String, Term)] {
        &self.pairs
    }

    /// The value of a key that must be there.
    pub(crate) fn require(&self, key: &str, declaration: &Declaration) -> Result<&Term, Error> {
        self.get(key).ok_or_else(|| Error::MissingKey {
            command: declaration.name,
            key: key.into(),
            usage: declaration.usage,
        })
    }

    /// The value of a key that is true or false.
    pub(crate) fn flag(&self, key: &str, default: bool) -> Result<bool, Error> {
        let Some(value) = self.get(key) else { return Ok(default) };
        match value.literal().map(str::to_ascii_lowercase).as_deref() {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err(Error::BadValue {
                key: key.into(),
                value: value.to_string(),
                expected: "true or false".into(),
                at: None,
            }),
        }
    }
}

fn option_key(cursor: &mut Cursor<'_>, declaration: &Declaration) -> Result<String, Error> {
    let known = || {
        let output = if declaration.formats.is_empty() { &[] } else { &["format", "extract"][..] };
        declaration.keys.iter().chain(output).copied()
    };
    let is_open = declaration.keys == ANY_KEY;
    match cursor.peek_keyword() {
        Some(key) if is_open || known().any(|name| name == key) => {
            // Of an open list the key is the user's own, so its letters are kept.
            let written = cursor.name("a key")?;
            Ok(if is_open && !Output::is_key(&key) { written } else { key })
        }
        Some(key) => {
            let hint = near::hint(&key, known());
            Err(cursor.expected_with_hint(&format!("a key ({})", names(known())), hint))
        }
        None => Err(cursor.expected(&format!("a key ({})", names(known())))),
    }
}

/// The keys of a `where` whose keys are the user's own.
pub(crate) const ANY_KEY: &[&str] = &["KEY"];

/// `a, b or c`.
pub(crate) fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    match names.split_last() {
        None => "nothing".into(),
        Some((last, [])) => (*last).to_string(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, pair) in self.directives().enumerate() {
            write!(f, " {} {pair}", if index == 0 { "where" } else { "and" })?;
        }
        Ok(())
    }
}
