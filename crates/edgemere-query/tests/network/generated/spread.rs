//! How the rows of generated tables are spread over operators: by chance, and in the ways in which
//! chance alone seldom does it.

use edgemere_storage::schema::{Kind, Schema};
use serde_json::{Map, Value, json};

use crate::sql_model::chance::Chance;
use crate::sql_model::databases;
use crate::sql_model::table::{Kept, Table};

/// How many operators there are.
pub(crate) const OPERATORS: usize = 3;

/// A way in which rows are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each row anywhere.
    Evenly,
    /// All rows of a table on one operator, and tables without rows on the others.
    InOnePlace,
    /// One operator has the tables, and no rows.
    OneIsEmpty,
    /// Nearly all rows on one operator.
    Skewed,
    /// The ledger says that an operator has the table, and nobody has ever put a row there.
    NeverMade,
    /// Each operator lacks some of the columns, and has the others in another order.
    OtherColumns,
    /// Columns have another type on one operator.
    OtherTypes,
    /// Each table on some of the operators only.
    Elsewhere,
    /// Two operators have the same rows, the third has others.
    Copies,
}

/// One part of a table.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// Who holds it, all of them the same rows.
    pub(crate) operators: Vec<usize>,
    /// Its rows, and how they are kept.
    pub(crate) table: Table,
    /// The columns that the table has there.
    pub(crate) columns: Schema,
    /// Whether the table is there at all.
    pub(crate) is_made: bool,
    /// How many rows the query node expects.
    pub(crate) told: Option<u64>,
}

/// A table in parts.
#[derive(Clone, Debug)]
pub(crate) struct Spread(pub(crate) Vec<Held>);

impl Spread {
    /// A table in parts, by chance.
    pub(crate) fn new(c: &mut Chance, table: &Table, way: Way) -> Self {
        let mut parts: Vec<_> = places(c, way).into_iter().map(|at| held(c, table, at)).collect();
        let turn = c.number() as usize;
        for row in &table.rows {
            let part = pick(c, way, parts.len(), turn);
            parts[part].table.rows.push(row.clone());
        }
        for (index, part) in parts.iter_mut().enumerate() {
            match way {
                Way::NeverMade => part.is_made = index != (turn + 1) % OPERATORS,
                Way::OtherColumns => lack(c, part),
                Way::OtherTypes if index == 0 => retype(part),
                _ => {}
            }
            part.told = told(c, part.table.rows.len());
        }
        Self(parts)
    }

    /// All rows in one table.
    pub(crate) fn whole(&self, kept: Kept) -> Table {
        let rows = self.0.iter().flat_map(|part| part.table.rows.clone());
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|row| row["id"].as_u64());
        Table { name: self.0[0].table.name, kept, rows }
    }
}

/// Who holds the parts of a table.
fn places(c: &mut Chance, way: Way) -> Vec<Vec<usize>> {
    let mut operators: Vec<_> = (0..OPERATORS).collect();
    operators.rotate_left(c.number() as usize % OPERATORS);
    match way {
        Way::Elsewhere => operators.truncate(c.between(1, 3) as usize),
        Way::Copies => {
            let third = operators.split_off(2);
            return vec![operators, third];
        }
        _ => {}
    }
    operators.into_iter().map(|operator| vec![operator]).collect()
}

fn held(c: &mut Chance, table: &Table, operators: Vec<usize>) -> Held {
    let kept = c.pick(&[Kept::Fresh, Kept::Flushed, Kept::HalfFresh, Kept::Compacted, Kept::Grown]);
    let table = Table { name: table.name, kept, rows: vec![] };
    Held { operators, table, columns: databases::schema(), is_made: true, told: None }
}

/// The part that a row goes to.
fn pick(c: &mut Chance, way: Way, parts: usize, turn: usize) -> usize {
    match way {
        Way::InOnePlace => turn % parts,
        // The operator after the one of the turn gets none.
        Way::OneIsEmpty | Way::NeverMade => (turn + 2 * c.between(0, 1) as usize) % parts,
        Way::Skewed if !c.one_in(15) => turn % parts,
        _ => c.number() as usize % parts,
    }
}

/// What the query node believes: the truth, nothing, or far from the truth. Plans differ by it, and
/// answers must not.
fn told(c: &mut Chance, rows: usize) -> Option<u64> {
    match c.between(0, 3) {
        0 => None,
        1 => Some(5_000_000),
        _ => Some(rows as u64),
    }
}

/// Takes columns away from a part, and turns the order of the others around. `id` tells rows apart.
fn lack(c: &mut Chance, part: &mut Held) {
    let columns = &mut part.columns.columns;
    columns.retain(|column| column.name == "id" || !c.one_in(4));
    columns.reverse();
    for row in &mut part.table.rows {
        without(row, &part.columns);
    }
}

/// The row with nulls where there are no columns.
fn without(row: &mut Map<String, Value>, columns: &Schema) {
    for (name, value) in row.iter_mut() {
        if columns.position(name).is_none() {
            *value = Value::Null;
        }
    }
}

/// Gives columns of a part other types, in which their values are the same.
fn retype(part: &mut Held) {
    for column in &mut part.columns.columns {
        column.kind = match column.name.as_str() {
            "f" => Kind::Int,
            "day" => Kind::Varchar,
            "n" => Kind::HUGE,
            _ => continue,
        };
    }
    for row in &mut part.table.rows {
        if let Some(number) = row["f"].as_f64() {
            // Adding nothing makes a negative zero, which no whole number is, a zero.
            row.insert("f".into(), json!(number.trunc() + 0.0));
        }
    }
}
