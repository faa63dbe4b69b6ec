//! Gathers the cells of an input by column, row after row, and makes columns of them at the end.
//!
//! A column is as long as the last row that has its key; what is missing is filled in later, so
//! that a row costs what it holds and not what the table is wide.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow::array::{ArrayRef, new_null_array};

use super::cell::Cell;
use super::infer::{self, Inferred, Texts};
use super::keys::{Keys, Target};
use super::verdicts::{Verdicts, shorten};
use super::{Decoded, Error, Limits, Note, convert, names, widen};
use crate::schema::{Column, Kind, Schema};

/// In how many ways the keys of an input may be written, for each column that it may have.
const KEYS_PER_COLUMN_MAX: usize = 4;

/// The rows of an input.
pub(super) struct Rows<'a> {
    limits: Limits,
    columns: Vec<Cells<'a>>,
    by_name: HashMap<String, usize>,
    /// How many of the columns the table has already.
    known: usize,
    keys: Keys<'a>,
    rows: usize,
    /// What is wrong with the row at hand.
    fault: Option<String>,
    too_wide: bool,
    verdicts: Verdicts,
    ignored: Vec<String>,
}

/// A column.
struct Cells<'a> {
    name: String,
    kind: Option<Kind>,
    cells: Vec<Cell<'a>>,
    /// The key that the last cell came from.
    key: usize,
}

impl Cells<'_> {
    /// What is to be told of a type.
    fn note(&self, inferred: &Inferred) -> Option<Note> {
        let row = inferred.because?;
        let value = self.cells.get(row).and_then(|cell| cell.kept()).unwrap_or_default();
        Some(Note { column: self.name.clone(), row: row + 1, value: shorten(&value) })
    }

    /// Takes out the words that say that there is no value, where words may and the type is not text.
    fn blank(&mut self, kind: Kind, may_lack: bool) {
        if may_lack && !matches!(kind, Kind::Char(_) | Kind::Varchar) {
            let words = self.cells.iter_mut().filter(|cell| lacks_value(**cell));
            words.for_each(|cell| *cell = Cell::Null);
        }
    }
}

/// Whether a field of a CSV says that there is no value.
fn lacks_value(cell: Cell<'_>) -> bool {
    matches!(cell, Cell::Text(text) if infer::is_no_value(text))
}

impl<'a> Rows<'a> {
    /// No rows yet.
    pub(super) fn new(known: Option<&Schema>, limits: &Limits) -> Self {
        let known = known.map_or(&[][..], |schema| &schema.columns);
        let cells = |column: &Column| Cells {
            name: column.name.clone(),
            kind: Some(column.kind),
            cells: Vec::new(),
            key: 0,
        };
        let place = |(place, column): (usize, &Column)| (column.name.clone(), place);
        Self {
            limits: limits.clone(),
            columns: known.iter().map(cells).collect(),
            by_name: known.iter().enumerate().map(place).collect(),
            known: known.len(),
            keys: Keys::default(),
            rows: 0,
            fault: None,
            too_wide: false,
            verdicts: Verdicts::new(limits),
            ignored: Vec::new(),
        }
    }

    /// Puts the value of a key into the row at hand; `place` is how many keys the row had before.
    pub(super) fn put(&mut self, place: usize, key: Cell<'a>, value: Cell<'a>) {
        let (Cell::Text(raw) | Cell::Escaped(raw)) = key else { return };
        let (number, target) = match self.keys.find(place, raw) {
            Some(found) => found,
            None => self.add_key(place, raw, key.text().unwrap_or_default()),
        };
        match target {
            Target::Column(column) => self.put_cell(column, number, value),
            Target::Ignored => {}
            Target::Refused(reason) => {
                let key = self.keys.name(number);
                self.fault.get_or_insert_with(|| format!("the key \"{key}\": {reason}"));
            }
        }
    }

    /// Where the values of a key go; a column is added if there is none of that name.
    pub(super) fn target(&mut self, key: &str) -> Target {
        let is_known = |name: &str| self.by_name.contains_key(name);
        let name = match names::column_name(key, self.limits.name_chars_max, is_known) {
            Ok(name) => name,
            Err(reason) => return Target::Refused(reason),
        };
        if names::is_system(&name) {
            if !self.ignored.contains(&name) {
                self.ignored.push(name);
            }
            return Target::Ignored;
        }
        if let Some(column) = self.by_name.get(&name) {
            return Target::Column(*column);
        }
        let column = self.columns.len();
        self.too_wide |= column >= self.limits.columns_max;
        if self.too_wide {
            return Target::Ignored;
        }
        self.by_name.insert(name.clone(), column);
        self.columns.push(Cells { name, kind: None, cells: Vec::new(), key: 0 });
        Target::Column(column)
    }

    /// Puts a value into a column of the row at hand.
    pub(super) fn put_cell(&mut self, column: usize, key: usize, value: Cell<'a>) {
        let Some(column) = self.columns.get_mut(column) else { return };
        if column.cells.len() <= self.rows {
            column.cells.resize(self.rows, Cell::Missing);
            column.cells.push(value);
            column.key = key;
            return;
        }
        let (first, second) = (self.keys.name(column.key), self.keys.name(key));
        if first != second {
            let fault = || format!("the keys \"{first}\" and \"{second}\" are the same column");
            self.fault.get_or_insert_with(fault);
        } else if let Some(last) = column.cells.last_mut() {
            *last = value;
        }
    }

    /// Ends the row at hand, whose text is given.
    pub(super) fn end_row(&mut self, text: &str) -> Result<(), Error> {
        self.verdicts.add_rows(1);
        if let Some(reason) = self.fault.take() {
            self.verdicts.refuse(self.rows, None, text, &reason);
        }
        self.rows += 1;
        self.check_width()?;
        if self.rows > self.limits.rows_max {
            return Err(Error::too_large("rows", self.limits.rows_max));
        }
        if self.rows.saturating_mul(self.columns.len()) > self.limits.cells_max {
            return Err(Error::too_large("values (rows times columns)", self.limits.cells_max));
        }
        Ok(())
    }

    /// Makes sure that there are not too many columns.
    pub(super) fn check_width(&self) -> Result<(), Error> {
        match self.too_wide {
            true => Err(Error::too_large("columns", self.limits.columns_max)),
            false => Ok(()),
        }
    }

    /// Ends the row at hand and rejects it as a whole.
    pub(super) fn reject_row(&mut self, text: &str, reason: String) -> Result<(), Error> {
        self.fault = Some(reason);
        self.end_row(text)
    }

    /// Makes columns of the rows.
    ///
    /// The known columns come first, so that rows they reject say nothing about new ones, nor about
    /// those that become wider.
    pub(super) fn decoded(mut self, texts: Texts) -> Result<Decoded, Error> {
        let may_lack = matches!(texts, Texts::Fields(_));
        let mut columns = std::mem::take(&mut self.columns);
        let mut made: Vec<Option<ArrayRef>> = Vec::with_capacity(columns.len());
        for column in &mut columns {
            column.cells.resize(self.rows, Cell::Missing);
            let array = column.kind.and_then(|kind| {
                column.blank(kind, may_lack);
                self.known_array(column, kind)
            });
            made.push(array);
        }
        let (mut schema, mut arrays) = (Vec::new(), Vec::new());
        let (mut notes, mut untyped) = (Vec::new(), Vec::new());
        for (mut column, array) in columns.into_iter().zip(made) {
            let has_null = column.cells.contains(&Cell::Null);
            let inferred = match column.kind {
                None => self.infer(&column.cells, texts, may_lack),
                Some(_) => None,
            };
            notes.extend(inferred.and_then(|inferred| column.note(&inferred)));
            let kind = column.kind.or(inferred.map(|inferred| inferred.kind));
            // A null of JSON is text, as EdgeLake has it; a CSV has all of its columns in every row.
            let Some(kind) = kind.or((has_null && !may_lack).then_some(Kind::Varchar)) else {
                untyped.extend(has_null.then_some(column.name));
                continue;
            };
            let (kind, array) = match array {
                Some(array) => (kind, array),
                None => {
                    column.blank(kind, may_lack);
                    self.wider_array(&column, kind)
                }
            };
            arrays.push(array);
            schema.push(Column { name: column.name, kind });
        }
        // A table has a column. Rows that are nothing but nulls are kept all the same.
        if schema.is_empty() {
            for name in untyped {
                arrays.push(new_null_array(&Kind::Varchar.arrow(), self.rows));
                schema.push(Column { name, kind: Kind::Varchar });
            }
        }
        let decoded = self.verdicts.decoded(self.known, schema, arrays, self.ignored)?;
        Ok(Decoded { notes, ..decoded })
    }

    /// The type of a new column, from the rows that are left; `may_lack` says whether words may stand
    /// for no value. A column of nothing but such words is text.
    fn infer(&self, cells: &[Cell<'a>], texts: Texts, may_lack: bool) -> Option<Inferred> {
        let refused = self.verdicts.refused().iter();
        let left = cells.iter().zip(refused).enumerate().filter(|(_, (_, refused))| !**refused);
        let left = left.map(|(row, (cell, _))| (row, *cell));
        let said = left.clone().filter(|(_, cell)| !(may_lack && lacks_value(*cell)));
        let inferred = infer::infer(said, texts);
        match inferred.map(|inferred| inferred.kind) {
            // In a text column every word stands for itself.
            Some(Kind::Char(_)) => infer::infer(left, texts),
            // Nothing but such words: they may be words after all, and it is told.
            None => {
                let because = left.clone().find(|(_, cell)| cell.kept().is_some());
                let because = because.map(|(row, _)| row);
                infer::infer(left, texts).map(|inferred| Inferred { because, ..inferred })
            }
            Some(_) => inferred,
        }
    }

    /// The values of a known column; none when it may have to be wider.
    fn known_array(&mut self, column: &Cells<'a>, kind: Kind) -> Option<ArrayRef> {
        let may_widen = !self.limits.fixed.contains(&column.name);
        if may_widen
            && kind.with_nanoseconds() != kind
            && column.cells.iter().any(|cell| widen::is_fine(*cell))
        {
            return None;
        }
        let mut has_other_numbers = false;
        let mut refused = Vec::new();
        let array = convert::array(kind, &column.cells, &mut |row, reason| {
            let cell = column.cells.get(row).copied().unwrap_or(Cell::Missing);
            has_other_numbers |= kind.is_whole() && widen::is_number(cell);
            refused.push((row, reason));
        });
        if may_widen && kind.is_whole() && has_other_numbers {
            return None;
        }
        for (row, reason) in refused {
            self.refuse(column, row, reason);
        }
        Some(array)
    }

    /// The values of a column in the type that they need: its own, unless it is known and they do not
    /// fit.
    fn wider_array(&mut self, column: &Cells<'a>, kind: Kind) -> (Kind, ArrayRef) {
        let wider = column.kind.and_then(|kind| widen::kind(kind, self.left(&column.cells)));
        let kind = wider.unwrap_or(kind);
        let mut refused = Vec::new();
        let mut refuse = |row, reason| refused.push((row, reason));
        let array = convert::array(kind, &column.cells, &mut refuse);
        for (row, reason) in refused {
            self.refuse(column, row, reason);
        }
        (kind, array)
    }

    fn refuse(&mut self, column: &Cells<'a>, row: usize, reason: &str) {
        let value = column.cells.get(row).and_then(|cell| cell.kept()).unwrap_or_default();
        self.verdicts.refuse(row, Some(&column.name), &value, reason);
    }

    /// The cells of the rows that are not refused so far.
    fn left(&self, cells: &[Cell<'a>]) -> impl Iterator<Item = Cell<'a>> {
        let refused = self.verdicts.refused().iter();
        cells.iter().zip(refused).filter(|(_, refused)| !**refused).map(|(cell, _)| *cell)
    }

    fn add_key(&mut self, place: usize, raw: &'a str, name: Cow<'a, str>) -> (usize, Target) {
        self.too_wide |= self.keys.len() / KEYS_PER_COLUMN_MAX >= self.limits.columns_max;
        if self.too_wide {
            return (0, Target::Ignored);
        }
        let target = self.target(&name);
        (self.keys.add(place, raw, name, target), target)
    }
}
