//! What became of the rows of an import: how many are stored, which are not, and how fast it went.

use std::time::Duration;

use edgemere_storage::chunking::Chunk;

use crate::client::{Column, Note, Rejected, Stored};
use crate::terminal::grouped;

/// How many rejected rows are reported one by one.
const REJECTED_SHOWN_MAX: usize = 20;

/// How many characters of a rejected value are reported.
const VALUE_CHARS_MAX: usize = 60;

/// Counts of one import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Rows that this import stored.
    pub(super) stored: u64,
    /// Rows that an earlier import of the same file had stored.
    pub(super) repeated: u64,
    /// Rows that were not stored.
    pub(super) rejected: u64,
    /// Rejected rows that were told one by one.
    shown: usize,
    /// Rejected rows with a value that is not of its column's type, as far as they were listed.
    misfits: usize,
    /// Whether the table was made for these rows.
    is_new: bool,
}

impl Tally {
    /// Counts what became of a piece, and returns what is to be told of rejected rows.
    pub(super) fn add(&mut self, file: &str, piece: &Chunk, stored: &Stored) -> Vec<String> {
        match stored.repeated {
            true => self.repeated += stored.stored,
            false => self.stored += stored.stored,
        }
        self.rejected += stored.rejected;
        self.is_new |= !stored.created.is_empty();
        self.misfits += stored.rows.iter().filter(|row| row.column.is_some()).count();
        let room = REJECTED_SHOWN_MAX.saturating_sub(self.shown);
        let shown = stored.rows.iter().take(room).map(|row| rejected_line(file, piece, row));
        let mut lines: Vec<_> =
            stored.notes.iter().map(|note| note_line(file, piece, note)).collect();
        let notes = lines.len();
        lines.extend(shown);
        self.shown += lines.len() - notes;
        lines
    }

    /// Whether rows do not fit the columns of a table that this import made.
    pub(super) fn could_be_text(&self) -> bool {
        self.is_new && self.misfits > 0
    }

    /// Adds what became of another file.
    pub(super) fn merge(&mut self, other: Self) {
        self.stored += other.stored;
        self.repeated += other.repeated;
        self.rejected += other.rejected;
        self.shown = other.shown;
        self.misfits += other.misfits;
        self.is_new |= other.is_new;
    }

    /// A tally of the next file, which goes on with telling rejected rows where this one stopped.
    pub(super) fn next(self) -> Self {
        Self { shown: self.shown, ..Self::default() }
    }

    /// All rows of which it is known what became of them.
    pub(super) fn rows(&self) -> u64 {
        self.stored + self.repeated + self.rejected
    }

    /// Rejected rows that were not told one by one.
    pub(super) fn untold(&self) -> u64 {
        self.rejected.saturating_sub(self.shown as u64)
    }

    /// In one line.
    pub(super) fn line(&self, time: Duration) -> String {
        let seconds = time.as_secs_f64();
        let mut line = format!("{} rows stored", grouped(self.stored));
        if self.rejected > 0 {
            line.push_str(&format!(", {} rejected", grouped(self.rejected)));
        }
        if self.repeated > 0 {
            line.push_str(&format!(", {} stored before", grouped(self.repeated)));
        }
        line.push_str(&format!(" in {seconds:.1} s ({} rows/s)", grouped(self.rate(time))));
        line
    }

    /// Rows a second.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "it is a rate for people"
    )]
    pub(super) fn rate(&self, time: Duration) -> u64 {
        (self.rows() as f64 / time.as_secs_f64().max(1e-3)) as u64
    }
}

/// Why a column is text, by the place in the file.
fn note_line(file: &str, piece: &Chunk, note: &Note) -> String {
    let (row, line) = piece.place(note.row);
    let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
    let value = shortened(&note.value.replace(['\n', '\r'], " "));
    format!("{} is text because of {file} row {row}{line}: \"{value}\"", note.column)
}

/// The columns of a table that was made.
pub(super) fn created_line(table: &str, stored: &Stored) -> Option<String> {
    let column = |Column { name, type_name, original_name }: &Column| match original_name {
        Some(original) => format!("{name} {type_name} from \"{original}\""),
        None => format!("{name} {type_name}"),
    };
    let columns: Vec<_> = stored.created.iter().map(column).collect();
    (!columns.is_empty()).then(|| format!("created table {table} ({})", columns.join(", ")))
}

/// A rejected row, by its place in the file.
fn rejected_line(file: &str, piece: &Chunk, rejected: &Rejected) -> String {
    let (row, line) = piece.place(rejected.row);
    let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
    let column = rejected.column.as_ref().map(|column| format!(", column \"{column}\""));
    let column = column.unwrap_or_default();
    let value = shortened(&rejected.value.replace(['\n', '\r'], " "));
    format!("rejected: {file} row {row}{line}{column}: \"{value}\": {}", rejected.reason)
}

fn shortened(value: &str) -> String {
    match value.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use edgemere_storage::decode::Input;

    fn piece(first_row: u64, lines: Vec<u64>) -> Chunk {
        let rows = lines.len();
        Chunk { input: Input::Csv, body: vec![], first_row, rows, lines, bytes_read: 0 }
    }

    #[test]
    fn rejected_rows_are_told_by_their_place_in_the_file() {
        let row = |row| Rejected {
            row,
            column: Some("v".into()),
            value: "a\nb".into(),
            reason: "not a number".into(),
        };
        let stored =
            Stored { stored: 1, rejected: 2, rows: vec![row(2), row(3)], ..Stored::default() };
        let mut tally = Tally::default();
        let told = tally.add("x.csv", &piece(11, vec![12, 13, 15]), &stored);
        assert_eq!(
            told,
            [
                "rejected: x.csv row 12 (line 13), column \"v\": \"a b\": not a number",
                "rejected: x.csv row 13 (line 15), column \"v\": \"a b\": not a number",
            ]
        );
        for _ in 0..20 {
            tally.add("x.csv", &piece(11, vec![12, 13, 15]), &stored);
        }
        assert_eq!((tally.shown, tally.untold(), tally.rows()), (20, 22, 63));
        assert_eq!(tally.next().shown, 20);
    }

    #[test]
    fn a_new_table_and_its_texts_are_told() {
        let column = |name: &str, kind: &str| Column {
            name: name.into(),
            type_name: kind.into(),
            original_name: None,
        };
        let stored = Stored {
            stored: 3,
            created: vec![column("ts", "timestamp"), column("rpm", "varchar")],
            notes: vec![Note { column: "rpm".into(), row: 3, value: "x".into() }],
            ..Stored::default()
        };
        let mut tally = Tally::default();
        let told = tally.add("x.csv", &piece(1, vec![2, 3, 5]), &stored);
        assert_eq!(told, ["rpm is text because of x.csv row 3 (line 5): \"x\""]);
        let created = created_line("plant.pumps", &stored).unwrap();
        assert_eq!(created, "created table plant.pumps (ts timestamp, rpm varchar)");
        assert_eq!(created_line("plant.pumps", &Stored::default()), None);
    }

    #[test]
    fn the_line_says_only_what_happened() {
        let tally = Tally { stored: 1_234_567, ..Tally::default() };
        let time = Duration::from_secs(2);
        assert_eq!(tally.line(time), "1,234,567 rows stored in 2.0 s (617,283 rows/s)");
        let tally = Tally { stored: 1, repeated: 1000, rejected: 2, shown: 2, ..Tally::default() };
        assert_eq!(
            tally.line(time),
            "1 rows stored, 2 rejected, 1,000 stored before in 2.0 s (501 rows/s)"
        );
    }
}
