//! Gathers the cells of an input by column, row after row, and makes columns of them at the end.
//!
//! A column is as long as the last row that has its key; what is missing is filled in later, so
//! that a row costs what it holds and not what the table is wide.

use std::borrow::Cow;
use std::collections::HashMap;

use arrow::array::{ArrayRef, new_null_array};

use super::cell::Cell;
use super::column_keys::{Keys, Target};
use super::infer::{self, Inferred, Texts};
use super::rejections::{Rejections, shorten};
use super::{Decoded, Error, Limits, Note, column_names, convert, widen};
use crate::schema::{Column, Kind, Schema};

/// In how many ways the keys of an input may be written, for each column that it may have.
const KEYS_PER_COLUMN_MAX: usize = 4;

/// The rows of an input.
pub(super) struct RowBuilder<'a> {
    limits: Limits,
    columns: Vec<Cells<'a>>,
    by_name: HashMap<String, usize>,
    /// The columns by what they were called where they came from, where that is not their name.
    by_original: HashMap<String, usize>,
    /// How many of the columns the table has already.
    known: usize,
    keys: Keys<'a>,
    rows: usize,
    /// What is wrong with the row at hand.
    fault: Option<String>,
    too_wide: bool,
    verdicts: Rejections,
    ignored: Vec<String>,
}

/// A column.
struct Cells<'a> {
    name: String,
    /// What it was called where it came from, where that is another name.
    original: Option<String>,
    kind: Option<Kind>,
    cells: Vec<Cell<'a>>,
    /// The key that the last cell came from.
    key: usize,
}

/// Which of two keys of one column goes to another column, and to which.
pub(super) enum Apart {
    First(usize),
    Second(usize),
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

impl<'a> RowBuilder<'a> {
    /// No rows yet.
    pub(super) fn new(known: Option<&Schema>, limits: &Limits) -> Self {
        let known = known.map_or(&[][..], |schema| &schema.columns);
        let cells = |column: &Column| Cells {
            name: column.name.clone(),
            original: column.original.clone(),
            kind: Some(column.kind),
            cells: Vec::new(),
            key: 0,
        };
        let place = |(place, column): (usize, &Column)| (column.name.clone(), place);
        let original = |(place, column): (usize, &Column)| Some((column.original.clone()?, place));
        Self {
            limits: limits.clone(),
            columns: known.iter().map(cells).collect(),
            by_name: known.iter().enumerate().map(place).collect(),
            by_original: known.iter().enumerate().filter_map(original).collect(),
            known: known.len(),
            keys: Keys::default(),
            rows: 0,
            fault: None,
            too_wide: false,
            verdicts: Rejections::new(limits),
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
        if let Some(column) = self.by_original.get(key.trim()) {
            return Target::Column(*column);
        }
        let is_known = |name: &str| self.by_name.contains_key(name);
        let name = match column_names::column_name(key, self.limits.name_chars_max, is_known) {
            Ok(name) => name,
            Err(reason) => return Target::Refused(reason),
        };
        if column_names::is_system(&name) {
            if !self.ignored.contains(&name) {
                self.ignored.push(name);
            }
            return Target::Ignored;
        }
        if let Some(column) = self.by_name.get(&name) {
            return Target::Column(*column);
        }
        self.add_column(column_names::original(key, &name), name)
            .map_or(Target::Ignored, Target::Column)
    }

    /// Adds a column; none when there are too many.
    fn add_column(&mut self, original: Option<String>, name: String) -> Option<usize> {
        let column = self.columns.len();
        self.too_wide |= column >= self.limits.columns_max;
        if self.too_wide {
            return None;
        }
        self.by_name.insert(name.clone(), column);
        self.by_original.extend(original.clone().map(|original| (original, column)));
        self.columns.push(Cells { name, original, kind: None, cells: Vec::new(), key: 0 });
        Some(column)
    }

    /// Tells two keys of one row apart that have the name of one column: which of them goes elsewhere from
    /// now on, and where to. None when they are the same key, or when there is no name for another column.
    pub(super) fn apart(&mut self, column: usize, first: &str, second: &str) -> Option<Apart> {
        if first.trim() == second.trim() {
            return None;
        }
        let is_new = column >= self.known;
        let held = self.columns.get_mut(column)?;
        let name = held.name.clone();
        let takes = column_names::is_second(&name, held.original.as_deref(), is_new, second);
        let other = if takes { first } else { second }.trim();
        if takes && is_new {
            held.original = column_names::original(second, &name);
        }
        let to = match self.by_original.get(other) {
            Some(to) if *to != column => *to,
            _ => {
                let is_known = |name: &str| self.by_name.contains_key(name);
                let name = column_names::numbered(&name, self.limits.name_chars_max, is_known)?;
                self.add_column(column_names::original(other, &name), name)?
            }
        };
        Some(if takes { Apart::First(to) } else { Apart::Second(to) })
    }

    /// Puts a value into a column of the row at hand.
    pub(super) fn put_cell(&mut self, column: usize, key: usize, value: Cell<'a>) {
        let Some(cells) = self.columns.get_mut(column) else { return };
        if cells.cells.len() <= self.rows {
            cells.cells.resize(self.rows, Cell::Missing);
            cells.cells.push(value);
            cells.key = key;
            return;
        }
        let before = cells.key;
        let (first, second) = (self.keys.name(before), self.keys.name(key));
        if first == second {
            cells.cells.last_mut().into_iter().for_each(|last| *last = value);
            return;
        }
        let (first, second) = (first.to_owned(), second.to_owned());
        match self.apart(column, &first, &second) {
            Some(Apart::Second(to)) => {
                self.keys.retarget(key, Target::Column(to));
                self.put_cell(to, key, value);
            }
            Some(Apart::First(to)) => {
                self.keys.retarget(before, Target::Column(to));
                let Some(cells) = self.columns.get_mut(column) else { return };
                cells.key = key;
                let Some(last) = cells.cells.last_mut() else { return };
                let moved = std::mem::replace(last, value);
                self.put_cell(to, before, moved);
            }
            None => {
                let fault = || format!("the keys \"{first}\" and \"{second}\" are the same column");
                self.fault.get_or_insert_with(fault);
            }
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
                untyped.extend(has_null.then_some((column.name, column.original)));
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
            schema.push(Column { name: column.name, kind, original: column.original });
        }
        // A table has a column. Rows that are nothing but nulls are kept all the same.
        if schema.is_empty() {
            for (name, original) in untyped {
                arrays.push(new_null_array(&Kind::Varchar.arrow(), self.rows));
                schema.push(Column { name, kind: Kind::Varchar, original });
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
            // Nothing but such words: they may be words after all, and it is reported.
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
