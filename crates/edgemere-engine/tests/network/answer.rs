//! All rows of a query, and how two answers differ.

use edgemere_engine::sql::{Error, Query, Times};
use serde_json::Value;

/// How far two numbers may be apart that are sums of the same numbers in another order.
const NEAR: f64 = 1e-9;

/// All rows of a query.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Value>>,
}

impl Answer {
    pub(crate) async fn of(mut query: Query) -> Result<Self, Error> {
        let columns = query.columns();
        let mut rows = Vec::new();
        while let Some(batch) = query.next().await.transpose()? {
            let lines = batch.json_lists(Times::Plain)?;
            rows.extend(lines.lines().map(|line| serde_json::from_str(line).unwrap()));
        }
        Ok(Self { columns, rows })
    }

    /// What is different in another answer. The order counts only where the query says it.
    pub(crate) fn difference(&self, other: &Self, ordered: bool) -> Option<String> {
        if self.columns != other.columns {
            return Some(format!("columns {:?}, not {:?}", other.columns, self.columns));
        }
        if self.rows.len() != other.rows.len() {
            return Some(format!("{} rows, not {}", other.rows.len(), self.rows.len()));
        }
        let (mut expected, mut given) = (self.rows.clone(), other.rows.clone());
        if !ordered {
            expected.sort_by_cached_key(|row| key(row));
            given.sort_by_cached_key(|row| key(row));
        }
        let pairs = expected.iter().zip(&given).enumerate();
        let mut different = pairs.filter(|(_, (one, two))| !is_same(one, two));
        let (row, (one, two)) = different.next()?;
        Some(format!("row {row}: {two:?}, not {one:?}"))
    }
}

/// A row as it is sorted: numbers less exact, so that those that are near stand at the same place.
fn key(row: &[Value]) -> String {
    let cell = |value: &Value| match value.as_f64() {
        Some(number) => format!("{number:.4e}"),
        None => value.to_string(),
    };
    row.iter().map(cell).collect::<Vec<_>>().join("|")
}

fn is_same(one: &[Value], two: &[Value]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(a, b)| is_near(a, b))
}

fn is_near(one: &Value, two: &Value) -> bool {
    match (one.as_f64(), two.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= NEAR * a.abs().max(b.abs()).max(1.0),
        _ => one == two,
    }
}
