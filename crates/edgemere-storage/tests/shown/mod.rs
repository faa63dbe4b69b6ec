//! What was decoded, as text that a test can compare.

#![allow(dead_code, reason = "not every test uses everything")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use arrow::array::{Array, ArrayRef};
use arrow::util::display::array_value_to_string;
use edgemere_storage::decode::{Decoded, Rejection};
use edgemere_storage::schema::{Column, Kind, Schema};

/// A table's columns.
pub(crate) fn schema(columns: &[(&str, Kind)]) -> Schema {
    let column = |(name, kind): &(&str, Kind)| Column::new(*name, *kind);
    Schema { columns: columns.iter().map(column).collect() }
}

/// The columns as `name type`.
pub(crate) fn types(decoded: &Decoded) -> String {
    let column = |column: &Column| format!("{} {}", column.name, column.kind.sql());
    decoded.schema.columns.iter().map(column).collect::<Vec<_>>().join(", ")
}

/// The rows with `|` between the values.
pub(crate) fn rows(decoded: &Decoded) -> Vec<String> {
    let value = |array: &ArrayRef, row| match array.is_null(row) {
        true => "null".to_owned(),
        false => array_value_to_string(array, row).unwrap(),
    };
    let batch = &decoded.batch;
    assert_eq!(batch.num_rows(), decoded.accepted);
    assert_eq!(batch.schema(), decoded.schema.arrow());
    let row = |row| batch.columns().iter().map(|array| value(array, row)).collect::<Vec<_>>();
    (0..batch.num_rows()).map(|number| row(number).join("|")).collect()
}

/// The rejected rows as `row column value: reason`.
pub(crate) fn rejected(decoded: &Decoded) -> Vec<String> {
    assert!(decoded.rejected.len() <= decoded.rejected_total);
    let line = |rejected: &Rejection| {
        let column = rejected.column.as_deref().unwrap_or("-");
        format!("{} {column} {}: {}", rejected.row, rejected.value, rejected.reason)
    };
    decoded.rejected.iter().map(line).collect()
}
