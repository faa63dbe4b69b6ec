//! Tables by chance: the same columns in each, other rows, and other ways in which they are kept.

use serde_json::{Map, Value, json};

use super::chance::Chance;
use super::scope::Kind;

/// The columns of every table, in order. `day` and `order` are words of SQL, and columns all the same.
pub(crate) const COLUMNS: [(&str, Kind); 12] = [
    ("id", Kind::Int),
    ("g", Kind::Int),
    ("n", Kind::Int),
    ("day", Kind::Int),
    ("f", Kind::Real),
    ("s", Kind::Text),
    ("order", Kind::Text),
    ("b", Kind::Bool),
    ("ts", Kind::Time),
    ("d", Kind::Date),
    ("late_n", Kind::Int),
    ("late_s", Kind::Text),
];

/// The columns that a [`Kept::Grown`] table is given only with its later rows.
pub(crate) const LATE: [&str; 2] = ["late_n", "late_s"];

/// Texts that have met bugs before: quotes, wildcards, nothing, blanks, names of values, no ASCII.
pub(crate) const TEXTS: [&str; 14] = [
    "a", "b", "ab", "abc", "Ab", "ABC", "x_y", "50%", "it's", "", " pad ", "日本", "null", "zz top",
];

/// In which way the rows of a table are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// In memory and in the log.
    Fresh,
    /// In Parquet files, several of them.
    Flushed,
    /// The first half in Parquet files.
    HalfFresh,
    /// Most of them in one Parquet file, made of several.
    Compacted,
    /// The first half in Parquet files that do not have the late columns.
    Grown,
}

/// A table: its name, how its rows are kept, and the rows.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) kept: Kept,
    pub(crate) rows: Vec<Map<String, Value>>,
}

/// The tables of a database. One is empty, and has no file.
pub(crate) fn all(chance: &mut Chance) -> Vec<Table> {
    let plan = [
        ("fresh", Kept::Fresh, 25),
        ("settled", Kept::Flushed, 40),
        ("half", Kept::HalfFresh, 30),
        ("merged", Kept::Compacted, 45),
        ("grown", Kept::Grown, 32),
        ("single", Kept::Fresh, 1),
        ("bare", Kept::Fresh, 0),
    ];
    let table = |(name, kept, rows): (&'static str, Kept, usize)| Table {
        name,
        kept,
        rows: (0..rows).map(|id| row(chance, id, kept == Kept::Grown && id < rows / 2)).collect(),
    };
    plan.into_iter().map(table).collect()
}

fn row(chance: &mut Chance, id: usize, is_early: bool) -> Map<String, Value> {
    let mut row = Map::new();
    row.insert("id".into(), json!(id));
    for (name, kind) in COLUMNS.into_iter().skip(1) {
        let is_null = chance.one_in(5) || (is_early && LATE.contains(&name));
        let value = if is_null { Value::Null } else { value(chance, name, kind) };
        row.insert(name.into(), value);
    }
    row
}

/// A value of few, so that rows meet in joins and groups.
fn value(chance: &mut Chance, name: &str, kind: Kind) -> Value {
    match kind {
        Kind::Int if name == "g" => json!(chance.between(1, 4)),
        Kind::Int => json!(chance.between(-12, 12)),
        // Eighths: sums of them are exact, in whatever order they are made.
        Kind::Real => json!(chance.between(-80, 80) as f64 / 8.0),
        Kind::Text => json!(chance.pick(&TEXTS)),
        Kind::Bool => json!(chance.one_in(2)),
        Kind::Time => json!(time(chance)),
        Kind::Date => json!(date(chance)),
    }
}

/// A time, in the one width in which texts compare as times do.
pub(crate) fn time(chance: &mut Chance) -> String {
    let (day, hour, second) = (chance.between(1, 3), chance.between(0, 23), chance.between(0, 59));
    let fraction = chance.pick(&[0, 1, 250_000, 999_999]);
    format!("2026-01-{day:02} {hour:02}:30:{second:02}.{fraction:06}")
}

/// A date.
pub(crate) fn date(chance: &mut Chance) -> String {
    format!("2026-{:02}-{:02}", chance.between(1, 2), chance.between(1, 28))
}
