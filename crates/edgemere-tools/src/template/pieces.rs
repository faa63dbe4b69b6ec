//! A template that is ready to be filled: its text, its slots, and its clauses.

use std::ops::Range;

use serde_json::{Map, Value};

use super::kind::Kind;

/// A template.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pieces(pub(crate) Vec<Piece>);

/// A piece of a template.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Text as it is written, and where it begins in the template; none when it was added.
    Text { text: String, at: Option<usize> },
    /// A token that has holes in it.
    Slot(Slot),
    /// Pieces that are there only with their arguments.
    Clause { when: When, pieces: Vec<Piece> },
}

/// A token that has holes in it.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// Where it stands in the template.
    pub(crate) range: Range<usize>,
    pub(crate) form: Form,
}

/// How a slot is filled.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// One argument, as a token of a command.
    Command { kind: Kind, name: String },
    /// A text of a command, with arguments in it, in quotes.
    CommandText(Vec<Part>),
    /// One argument, as a token of SQL.
    Sql { kind: Kind, name: String },
    /// A text of SQL, with arguments in it, in quotes.
    SqlText(Vec<Part>),
    /// SQL in a command: one text, in quotes. Where it begins in the template, when it stands there
    /// as it is read.
    Query { pieces: Pieces, at: Option<usize> },
    /// An argument as it is.
    Prose(Part),
}

/// A part of a text.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(String),
    /// A text that is known, and what stands for it where it must not be shown.
    Constant {
        text: String,
        shown: String,
    },
    Argument(String),
}

/// When a clause is there.
#[derive(Clone, Debug, Default)]
pub(crate) struct When {
    /// The arguments in it, all of which must be given.
    pub(crate) holes: Vec<(String, Kind)>,
    /// An argument that must be given, and not be false.
    pub(crate) given: Option<(String, Kind)>,
    /// An argument that must not be given, or be false.
    pub(crate) absent: Option<(String, Kind)>,
}

impl When {
    /// Whether the clause is there.
    pub(crate) fn holds(&self, arguments: &Map<String, Value>) -> bool {
        let has = |(name, kind): &(String, Kind)| {
            arguments.get(name).is_some_and(|value| is_given(value, *kind))
        };
        let is_on = |one: &(String, Kind)| has(one) && arguments.get(&one.0) != Some(&false.into());
        self.holes.iter().all(has)
            && self.given.as_ref().is_none_or(is_on)
            && !self.absent.as_ref().is_some_and(is_on)
    }

    /// The arguments that it depends on, with their kinds.
    pub(crate) fn arguments_mut(&mut self) -> impl Iterator<Item = &mut (String, Kind)> {
        self.holes.iter_mut().chain(&mut self.given).chain(&mut self.absent)
    }
}

/// Whether a value is one: an empty list is none, and an empty text is none where SQL, nodes or a
/// condition should stand.
fn is_given(value: &Value, kind: Kind) -> bool {
    match value {
        Value::Null => false,
        Value::Array(values) => !values.is_empty(),
        Value::String(text) => kind == Kind::Value || !text.trim().is_empty(),
        _ => true,
    }
}

/// A hole as it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use<'a> {
    pub(crate) name: &'a str,
    /// None is only a condition of a clause.
    pub(crate) kind: Option<Kind>,
    pub(crate) range: Range<usize>,
    /// Whether it stands in a clause that is there only when the argument is given.
    pub(crate) is_optional: bool,
}

impl Pieces {
    /// The text, when it always is the same.
    pub(crate) fn fixed(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Text { text, .. }] => Some(text),
            _ => None,
        }
    }

    /// All uses of arguments.
    pub(crate) fn uses(&self) -> Vec<Use<'_>> {
        let mut uses = Vec::new();
        for piece in &self.0 {
            collect(piece, false, 0, &mut uses);
        }
        uses
    }

    /// The SQL in a command.
    pub(crate) fn query(&self) -> Option<(&Self, Option<usize>)> {
        self.0.iter().find_map(|piece| match piece {
            Piece::Slot(Slot { form: Form::Query { pieces, at }, .. }) => Some((pieces, *at)),
            _ => None,
        })
    }
}

fn collect<'a>(piece: &'a Piece, is_optional: bool, base: usize, uses: &mut Vec<Use<'a>>) {
    match piece {
        Piece::Text { .. } => {}
        Piece::Clause { when, pieces } => {
            let start = pieces.iter().find_map(start_of).map_or(0..0, |at| at + base..at + base);
            for (name, _) in when.given.iter().chain(&when.absent) {
                let range = start.clone();
                uses.push(Use { name, kind: None, range, is_optional: true });
            }
            pieces.iter().for_each(|piece| collect(piece, true, base, uses));
        }
        Piece::Slot(Slot { range, form }) => {
            let range = range.start + base..range.end + base;
            let mut push = |name: &'a str, kind| {
                uses.push(Use { name, kind: Some(kind), range: range.clone(), is_optional });
            };
            match form {
                Form::Command { kind, name } | Form::Sql { kind, name } => push(name, *kind),
                Form::CommandText(parts) | Form::SqlText(parts) => {
                    let names = parts.iter().filter_map(Part::argument);
                    names.for_each(|name| push(name, Kind::Value));
                }
                Form::Prose(part) => part.argument().into_iter().for_each(|n| push(n, Kind::Value)),
                Form::Query { pieces, at } => {
                    let base = at.unwrap_or_default() + base;
                    pieces.0.iter().for_each(|piece| collect(piece, is_optional, base, uses));
                }
            }
        }
    }
}

fn start_of(piece: &Piece) -> Option<usize> {
    match piece {
        Piece::Text { at, .. } => *at,
        Piece::Slot(slot) => Some(slot.range.start),
        Piece::Clause { .. } => None,
    }
}

impl Part {
    fn argument(&self) -> Option<&str> {
        match self {
            Self::Argument(name) => Some(name),
            Self::Text(_) | Self::Constant { .. } => None,
        }
    }
}

/// What a template is made of: the slots in it, in their order, and its clauses.
pub(crate) struct Builder<'a> {
    text: &'a str,
    at: usize,
    pieces: Vec<Piece>,
    clause: Option<(When, Vec<Piece>)>,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, pieces: Vec::new(), clause: None }
    }

    /// Takes the text up to a place.
    pub(crate) fn text_to(&mut self, at: usize) {
        let text = self.text.get(self.at..at).unwrap_or_default().to_owned();
        if !text.is_empty() {
            let at = Some(self.at);
            self.push(Piece::Text { text, at });
        }
        self.at = at;
    }

    pub(crate) fn slot(&mut self, slot: Slot) {
        self.text_to(slot.range.start);
        self.at = slot.range.end;
        if let Some((when, _)) = &mut self.clause {
            match &slot.form {
                Form::Command { kind, name } | Form::Sql { kind, name } => {
                    when.holes.push((name.clone(), *kind));
                }
                Form::CommandText(parts) | Form::SqlText(parts) => {
                    let names = parts.iter().filter_map(Part::argument);
                    when.holes.extend(names.map(|name| (name.to_owned(), Kind::Value)));
                }
                Form::Prose(part) => {
                    let name = part.argument();
                    when.holes.extend(name.map(|name| (name.to_owned(), Kind::Value)));
                }
                Form::Query { .. } => {}
            }
        }
        self.push(Piece::Slot(slot));
    }

    pub(crate) fn open(&mut self, range: &Range<usize>, when: When) {
        self.text_to(range.start);
        self.at = range.end;
        self.clause = Some((when, Vec::new()));
    }

    pub(crate) fn close(&mut self, range: &Range<usize>) {
        self.text_to(range.start);
        self.at = range.end;
        if let Some((when, pieces)) = self.clause.take() {
            self.pieces.push(Piece::Clause { when, pieces });
        }
    }

    pub(crate) fn finish(mut self) -> Pieces {
        self.text_to(self.text.len());
        Pieces(self.pieces)
    }

    fn push(&mut self, piece: Piece) {
        match &mut self.clause {
            Some((_, pieces)) => pieces.push(piece),
            None => self.pieces.push(piece),
        }
    }
}
