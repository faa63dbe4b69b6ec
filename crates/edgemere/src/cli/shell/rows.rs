//! The rows of a query for people: a table, or a block a row, and under it how many there are, how long it took
//! and which nodes answered.

use std::time::Duration;

use edgemere_tools::Given;
use serde_json::value::RawValue;

/// How rows look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Looks {
    /// Each row as a block of lines.
    pub(super) expanded: bool,
    /// Whether the time is shown.
    pub(super) timing: bool,
}

/// A cell as people read it. Numbers keep the digits that they came with.
fn cell(value: &RawValue) -> String {
    match value.get() {
        "null" => "NULL".to_owned(),
        text if text.starts_with('"') => {
            serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
        }
        other => other.to_owned(),
    }
}

/// The cells of the rows.
pub(super) fn cells(given: &Given) -> Vec<Vec<String>> {
    let row = |row: &RawValue| match serde_json::from_str::<Vec<&RawValue>>(row.get()) {
        Ok(values) => values.into_iter().map(cell).collect(),
        Err(_) => vec![row.get().to_owned()],
    };
    given.rows.iter().map(|text| row(text)).collect()
}

/// The rows as blocks: a line for each column.
pub(super) fn blocks(columns: &[String], rows: &[Vec<String>]) -> String {
    let width = columns.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        text.push_str(&format!("-[ row {} ]-\n", number + 1));
        for (name, cell) in columns.iter().zip(row) {
            text.push_str(&format!("{name:width$} | {}\n", cell.replace('\n', " ")));
        }
    }
    text
}

/// What is said under the rows.
pub(super) fn summary(given: &Given, took: Duration, looks: Looks) -> String {
    let count = match given.rows.len() {
        1 => "1 row".to_owned(),
        rows => format!("{} rows", crate::terminal::grouped(rows as u64)),
    };
    let mut said = match given.has_more {
        true => format!("the first {count}, \\more gives the next"),
        false => count,
    };
    if looks.timing {
        said.push_str(&format!(", {}", time(took)));
    }
    if !given.answered.is_empty() {
        said.push_str(&format!(", from {}", names(&given.answered)));
    }
    if !given.missing.is_empty() {
        said.push_str(&format!(", WITHOUT {}", names(&given.missing)));
    }
    format!("({said})")
}

/// How many nodes are named.
const NAMES_MAX: usize = 6;

fn names(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(NAMES_MAX).map(String::as_str).collect();
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn time(time: Duration) -> String {
    match time.as_millis() {
        ms @ 0..1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(rows: &[&str]) -> Given {
        let rows = rows.iter().map(|row| RawValue::from_string((*row).into()));
        let rows = rows.collect::<Result<_, _>>().unwrap();
        let answered = vec!["one".to_owned(), "two".to_owned()];
        Given { columns: vec!["a".into(), "bc".into()], rows, answered, ..Given::default() }
    }

    #[test]
    fn cells_are_what_people_read() {
        let given =
            given(&["[1,\"x\\ny\"]", "[null,12345678901234567890.50]", "[true,{\"k\":[1]}]"]);
        let cells = cells(&given);
        assert_eq!(
            cells,
            [["1", "x\ny"], ["NULL", "12345678901234567890.50"], ["true", "{\"k\":[1]}"]]
        );
        assert_eq!(blocks(&given.columns, &cells[..1]), "-[ row 1 ]-\na  | 1\nbc | x y\n");
    }

    #[test]
    fn the_summary_says_how_many_how_long_and_who() {
        let looks = Looks { expanded: false, timing: true };
        let took = Duration::from_millis(12);
        let mut given = given(&["[1,2]"]);
        assert_eq!(summary(&given, took, looks), "(1 row, 12 ms, from one, two)");
        given.missing = vec!["three".into()];
        given.has_more = true;
        let quiet = Looks { timing: false, ..looks };
        assert_eq!(
            summary(&given, took, quiet),
            "(the first 1 row, \\more gives the next, from one, two, WITHOUT three)"
        );
        assert_eq!(time(Duration::from_millis(2340)), "2.3 s");
        let many: Vec<_> = (0..8).map(|n| n.to_string()).collect();
        assert_eq!(names(&many), "0, 1, 2, 3, 4, 5 and 2 more");
    }
}
