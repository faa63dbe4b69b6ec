//! What an expression may name: columns with their types.

use super::chance::Chance;
use super::table::COLUMNS;

/// The type of a column or of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    Real,
    Text,
    Bool,
    Time,
    Date,
}

/// All types.
pub(crate) const KINDS: [Kind; 6] =
    [Kind::Int, Kind::Real, Kind::Text, Kind::Bool, Kind::Time, Kind::Date];

/// The columns that can be named, as they are written.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    columns: Vec<(String, Kind)>,
}

impl Scope {
    /// The columns of a generated table.
    pub(crate) fn table() -> Self {
        let columns = COLUMNS.iter().map(|(name, kind)| (written(name), *kind));
        Self { columns: columns.collect() }
    }

    /// The columns of a generated table under another name: `x.n`.
    pub(crate) fn aliased(alias: &str) -> Self {
        let columns =
            COLUMNS.iter().map(|(name, kind)| (format!("{alias}.{}", written(name)), *kind));
        Self { columns: columns.collect() }
    }

    /// The results of a query inside, under a name: `q.c0`, `q.c1`.
    pub(crate) fn results(alias: &str, kinds: &[Kind]) -> Self {
        let columns = kinds.iter().enumerate();
        Self { columns: columns.map(|(i, kind)| (format!("{alias}.c{i}"), *kind)).collect() }
    }

    /// Both.
    pub(crate) fn with(mut self, other: Self) -> Self {
        self.columns.extend(other.columns);
        self
    }

    /// A column of the type, when there is one.
    pub(crate) fn column(&self, chance: &mut Chance, kind: Kind) -> Option<&str> {
        let fitting: Vec<_> = self.columns.iter().filter(|(_, of)| *of == kind).collect();
        if fitting.is_empty() { None } else { Some(chance.pick(&fitting).0.as_str()) }
    }

    /// Any column.
    pub(crate) fn any(&self, chance: &mut Chance) -> (&str, Kind) {
        let place = chance.number() as usize % self.columns.len();
        let (name, kind) = &self.columns[place];
        (name, *kind)
    }
}

fn written(name: &str) -> String {
    if name == "order" { format!("\"{name}\"") } else { name.to_owned() }
}
