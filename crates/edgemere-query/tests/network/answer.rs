//! All rows of a query, and how two answers differ.

use edgemere_query::sql::{Error, Query, Times};
use serde_json::Value;

/// How far two numbers may be apart that are sums of the same numbers in another order.
const NEAR: f64 = 1e-9;

/// When two numbers are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// To the last bit.
    Exact,
    /// Those with a fraction when they are near: sums that were made in another order.
    Near,
}

impl Numbers {
    /// What can be asked of a query: one that adds up fractions may do so in any order.
    pub(crate) fn of(sql: &str) -> Self {
        let adds = ["sum(", "avg(", "stddev(", "var_pop(", "corr(", "covar_samp("];
        if adds.iter().any(|function| sql.contains(function)) { Self::Near } else { Self::Exact }
    }

    fn is_same(self, one: &Value, two: &Value) -> bool {
        match (one.as_f64(), two.as_f64()) {
            (Some(a), Some(b)) if self == Self::Near && one.is_f64() && two.is_f64() => {
                (a - b).abs() <= NEAR * a.abs().max(b.abs()).max(1.0)
            }
            _ => one == two,
        }
    }

    /// A row as it is sorted: so that numbers that are the same stand at the same place.
    fn key(self, row: &[Value]) -> String {
        let cell = |value: &Value| match value.as_f64() {
            Some(number) if self == Self::Near => format!("{number:.4e}"),
            _ => value.to_string(),
        };
        row.iter().map(cell).collect::<Vec<_>>().join("|")
    }
}

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
    pub(crate) fn difference(
        &self,
        other: &Self,
        ordered: bool,
        numbers: Numbers,
    ) -> Option<String> {
        if self.columns != other.columns {
            return Some(format!("columns {:?}, not {:?}", other.columns, self.columns));
        }
        if self.rows.len() != other.rows.len() {
            return Some(format!("{} rows, not {}", other.rows.len(), self.rows.len()));
        }
        let (mut expected, mut given) = (self.rows.clone(), other.rows.clone());
        if !ordered {
            expected.sort_by_cached_key(|row| numbers.key(row));
            given.sort_by_cached_key(|row| numbers.key(row));
        }
        let pairs = expected.iter().zip(&given).enumerate();
        let is_same = |one: &[Value], two: &[Value]| {
            one.len() == two.len() && one.iter().zip(two).all(|(a, b)| numbers.is_same(a, b))
        };
        let mut different = pairs.filter(|(_, (one, two))| !is_same(one, two));
        let (row, (one, two)) = different.next()?;
        Some(format!("row {row}: {two:?}, not {one:?}"))
    }
}
