//! Text tables as EdgeLake prints them: a title, the columns, a line of dashes, the rows.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use edgemere_ledger::Policy;
use serde_json::{Map, Value};

use super::compare;
use crate::language::term::text_of;

/// A table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    title: Option<String>,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
    grouped: usize,
}

impl Table {
    /// A table with these columns and no rows.
    pub(crate) fn new<C: Into<String>>(columns: impl IntoIterator<Item = C>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// With a line above the columns.
    pub(crate) fn titled(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// With the values of the first `columns` columns left out where the row above has the same.
    pub(crate) fn grouped_by(self, columns: usize) -> Self {
        Self { grouped: columns, ..self }
    }

    /// Adds a row.
    pub(crate) fn push<V: Into<Value>>(&mut self, row: impl IntoIterator<Item = V>) {
        self.rows.push(row.into_iter().map(Into::into).collect());
    }

    /// Sorts the rows by these columns, in this order; by all of them when none is given.
    pub(crate) fn sort_by_columns(&mut self, columns: &[usize]) {
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let columns = if columns.is_empty() { &all } else { columns };
        self.rows.sort_by(|a, b| {
            let cell = |row: &Vec<Value>, column| row.get(column).cloned().unwrap_or_default();
            let orders = columns.iter().map(|column| compare(&cell(a, *column), &cell(b, *column)));
            orders.fold(Ordering::Equal, Ordering::then)
        });
    }

    /// The rows as objects with the columns as keys.
    pub(crate) fn to_json(&self) -> Value {
        let row_to_object = |row: &Vec<Value>| -> Map<String, Value> {
            self.columns.iter().cloned().zip(row.iter().cloned()).collect()
        };
        self.rows.iter().map(|row| Value::Object(row_to_object(row))).collect()
    }

    /// The rows as they are shown, with what is grouped left out.
    fn shown_rows(&self) -> Vec<Vec<String>> {
        let mut above: Option<&Vec<Value>> = None;
        let mut shown = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let same = above.map_or(0, |above| {
                row.iter().zip(above).take(self.grouped).take_while(|(a, b)| a == b).count()
            });
            let cell = |(index, value)| if index < same { String::new() } else { cell_text(value) };
            shown.push(row.iter().enumerate().map(cell).collect());
            above = Some(row);
        }
        shown
    }
}

/// A cell's text. Control characters are escaped: a value must neither break the table nor speak
/// to the terminal.
fn cell_text(value: &Value) -> String {
    let text = match value {
        Value::Null => String::new(),
        other => text_of(other),
    };
    if !text.chars().any(char::is_control) {
        return text;
    }
    let escape = |c: char| match c.is_control() {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(escape).collect()
}

/// A table of policies: their types and every attribute with a scalar value that one of them has.
pub(crate) fn of_policies(policies: &[Arc<Policy>]) -> Table {
    let mut attributes: Vec<&str> = Vec::new();
    for policy in policies {
        for (name, value) in policy.attributes() {
            let is_scalar = !value.is_object() && !value.is_array();
            if is_scalar && !attributes.contains(&name.as_str()) {
                attributes.push(name);
            }
        }
    }
    let titles = attributes.iter().map(|name| title_of(name));
    let mut table = Table::new(std::iter::once("Policy".to_string()).chain(titles));
    for policy in policies {
        let values = attributes.iter().map(|name| policy.attribute(name).cloned());
        let row = std::iter::once(Some(policy.kind().into())).chain(values);
        table.push(row.map(Option::unwrap_or_default));
    }
    table
}

/// An attribute's name as a column's title: `rest_port` is `Rest_port`.
pub(crate) fn title_of(attribute: &str) -> String {
    let mut characters = attribute.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.shown_rows();
        let width = |column: usize, title: &String| {
            let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| length(cell));
            cells.max().unwrap_or(0).max(length(title))
        };
        let widths: Vec<_> = self.columns.iter().enumerate().map(|(i, c)| width(i, c)).collect();
        writeln!(f)?;
        if let Some(title) = &self.title {
            writeln!(f, "{title}")?;
        }
        for (title, width) in self.columns.iter().zip(&widths) {
            write!(f, "{title:width$} ")?;
        }
        writeln!(f)?;
        for width in &widths {
            write!(f, "{}|", "-".repeat(*width))?;
        }
        writeln!(f)?;
        for (row, shown) in self.rows.iter().zip(&rows) {
            for ((cell, value), width) in shown.iter().zip(row).zip(&widths) {
                match value.is_number() {
                    true => write!(f, "{cell:>width$}|")?,
                    false => write!(f, "{cell:width$}|")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_table_looks_as_edgelakes_does() {
        let mut table = Table::new(["Database", "Table name", "Rows"]).grouped_by(1);
        table.push([json!("new_company"), json!("rand_data"), json!(100000)]);
        table.push([json!("new_company"), json!("types_t"), json!(2)]);
        let expected = "
Database    Table name Rows   
-----------|----------|------|
new_company|rand_data |100000|
           |types_t   |     2|
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn a_value_neither_breaks_the_table_nor_speaks_to_the_terminal() {
        let mut table = Table::new(["Name"]);
        table.push([json!("a\u{1b}[31m\nb")]);
        assert!(table.to_string().contains(r"a\u{1b}[31m\nb"));
    }
}
