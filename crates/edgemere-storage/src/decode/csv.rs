//! Rows from lines of values with commas between them (RFC 4180), after a line of names.
//!
//! An empty field is a null, quoted or not, and so is a word that says so, as `NULL` or `n/a`, in a
//! column that is not text. A field may be in quotes and then hold commas, lines and
//! doubled quotes. Lines without anything are not rows.

use super::cell::Cell;
use super::column_keys::Target;
use super::infer::{self, Mixed, Texts};
use super::row_builder::{Apart, RowBuilder};
use super::{Decoded, Error, Limits};
use crate::schema::Schema;

/// Reads the rows of a text.
pub(super) fn decode(
    text: &str,
    known: Option<&Schema>,
    limits: &Limits,
    mixed: Mixed,
) -> Result<Decoded, Error> {
    let mut reader = Reader { text, at: 0 };
    let mut rows = RowBuilder::new(known, limits);
    let mut fields = Vec::new();
    let header = reader.record(&mut fields)?.ok_or(Error::Empty)?;
    if let Some(reason) = header.fault {
        return Err(Error::Name { position: fields.len(), name: header.text.into(), reason });
    }
    let targets = targets(&fields, &mut rows)?;
    while let Some(record) = reader.record(&mut fields)? {
        if let Some(reason) = record.fault {
            rows.reject_row(record.text, reason.to_owned())?;
            continue;
        }
        if fields.len() != targets.len() {
            let reason = format!("has {} fields and not {}", fields.len(), targets.len());
            rows.reject_row(record.text, reason)?;
            continue;
        }
        for (target, field) in targets.iter().zip(&fields) {
            if let Target::Column(column) = target {
                rows.put_cell(*column, 0, *field);
            }
        }
        rows.end_row(record.text)?;
    }
    rows.decoded(Texts::Fields(mixed))
}

/// The columns of the names in the header.
fn targets(fields: &[Cell<'_>], rows: &mut RowBuilder<'_>) -> Result<Vec<Target>, Error> {
    let names: Vec<_> = fields.iter().map(|field| field.text().unwrap_or_default()).collect();
    let mut targets = Vec::with_capacity(names.len());
    for (place, name) in names.iter().enumerate() {
        let refused = |reason| Error::Name { position: place + 1, name: name.to_string(), reason };
        if infer::is_value(name) {
            return Err(refused("the first line must be the names of the columns"));
        }
        let mut target = match rows.target(name) {
            Target::Refused(reason) => return Err(refused(reason)),
            target => target,
        };
        rows.check_width()?;
        let same = targets.iter().position(|other| *other == target);
        if let (Target::Column(column), Some(first)) = (target, same) {
            let first_name = names.get(first).map(ToString::to_string).unwrap_or_default();
            let apart = rows.apart(column, &first_name, name);
            rows.check_width()?;
            match apart {
                Some(Apart::Second(to)) => target = Target::Column(to),
                Some(Apart::First(to)) => {
                    targets.get_mut(first).into_iter().for_each(|one| *one = Target::Column(to));
                }
                None => {
                    let second = name.to_string();
                    return Err(Error::SameName { first: first_name, second });
                }
            }
        }
        targets.push(target);
    }
    Ok(targets)
}

/// A line, or several if a field has lines in it.
struct Record<'a> {
    text: &'a str,
    fault: Option<&'static str>,
}

/// A position in the text.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

/// What a field ends with.
#[derive(PartialEq, Eq)]
enum End {
    Comma,
    Line,
    Fault,
}

impl<'a> Reader<'a> {
    /// Reads the fields of the next record, if there is one.
    fn record(&mut self, fields: &mut Vec<Cell<'a>>) -> Result<Option<Record<'a>>, Error> {
        fields.clear();
        self.skip_empty_lines();
        if self.at >= self.text.len() {
            return Ok(None);
        }
        let start = self.at;
        let end = loop {
            let (field, end) = match self.byte() {
                Some(b'"') => self.quoted()?,
                _ => self.plain(),
            };
            fields.push(field);
            if end != End::Comma {
                break end;
            }
        };
        let fault = (end == End::Fault).then_some("has text after a closing quote");
        let text = self.text.get(start..self.at).unwrap_or_default().trim_ascii_end();
        Ok(Some(Record { text, fault }))
    }

    fn skip_empty_lines(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut after = rest;
        while let Some(next) = after.strip_prefix('\n').or_else(|| after.strip_prefix("\r\n")) {
            after = next;
        }
        self.at += rest.len() - after.len();
    }

    fn plain(&mut self) -> (Cell<'a>, End) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let length = rest.bytes().position(|byte| byte == b',' || byte == b'\n');
        let (field, end) = match length.and_then(|length| rest.split_at_checked(length)) {
            Some((field, tail)) if tail.starts_with(',') => (field, End::Comma),
            Some((field, _)) => (field, End::Line),
            None => (rest, End::Line),
        };
        self.at += field.len() + usize::from(length.is_some());
        let field = match end {
            End::Line => field.strip_suffix('\r').unwrap_or(field),
            _ => field,
        };
        (if field.is_empty() { Cell::Null } else { Cell::Text(field) }, end)
    }

    fn quoted(&mut self) -> Result<(Cell<'a>, End), Error> {
        let opening = self.at;
        self.at += 1;
        let mut doubled = false;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let length = rest.find('"').ok_or_else(|| Error::open_quote(self.text, opening))?;
            self.at += length + 1;
            if self.byte() != Some(b'"') {
                break;
            }
            doubled = true;
            self.at += 1;
        }
        let field = self.text.get(opening + 1..self.at - 1).unwrap_or_default();
        let cell = match field {
            "" => Cell::Null,
            _ if doubled => Cell::Doubled(field),
            _ => Cell::Text(field),
        };
        Ok((cell, self.end()))
    }

    /// What comes after a closing quote. After a fault the next line is read again.
    fn end(&mut self) -> End {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let (length, end) = match rest.as_bytes() {
            [] => (0, End::Line),
            [b',', ..] => (1, End::Comma),
            [b'\n', ..] => (1, End::Line),
            [b'\r', b'\n', ..] | [b'\r'] => (rest.len().min(2), End::Line),
            _ => (rest.find('\n').map_or(rest.len(), |length| length + 1), End::Fault),
        };
        self.at += length;
        end
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(text: &str) -> Result<Vec<Vec<String>>, Error> {
        let mut reader = Reader { text, at: 0 };
        let (mut records, mut fields) = (Vec::new(), Vec::new());
        while let Some(record) = reader.record(&mut fields)? {
            let text = |field: &Cell<'_>| field.kept().unwrap_or_default().into_owned();
            records.push(fields.iter().map(text).collect());
            assert!(!record.text.is_empty() || fields.len() < 2);
        }
        Ok(records)
    }

    #[test]
    fn fields() {
        assert_eq!(
            records("a,b\r\n1,\n\n\"x,\"\"y\"\"\n\",\"\"").unwrap(),
            [vec!["a", "b"], vec!["1", ""], vec!["x,\"y\"\n", ""],]
        );
        assert_eq!(records("a,").unwrap(), [["a", ""]]);
        assert_eq!(records("5\" pipe,it's").unwrap(), [["5\" pipe", "it's"]]);
    }

    #[test]
    fn quotes() {
        let error = records("a,b\n1,\"2\n3,4").unwrap_err();
        assert_eq!(error.to_string(), "the quote at line 2, column 3 is never closed");
        let mut reader = Reader { text: "\"a\"b,c\nd", at: 0 };
        let mut fields = Vec::new();
        assert!(reader.record(&mut fields).unwrap().unwrap().fault.is_some());
        assert!(reader.record(&mut fields).unwrap().unwrap().fault.is_none());
    }

    proptest! {
        /// What the csv crate writes is read as it was.
        #[test]
        fn agrees_with_csv(rows in prop::collection::vec(prop::collection::vec("[a,\"\n\ré ]{0,4}", 3), 1..5)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            for row in &rows {
                writer.write_record(row).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            prop_assert_eq!(records(&text).unwrap(), rows);
        }
    }
}
