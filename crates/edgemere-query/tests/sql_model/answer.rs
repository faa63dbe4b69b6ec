//! Answers of both databases, and when they are equal.

use std::cmp::Ordering;
use std::fmt;

/// How much two numbers may differ, relative to their size: sums that were made in another order.
const TOLERANCE: f64 = 1e-9;

/// How many rows of a difference are shown.
const SHOWN_MAX: usize = 8;

/// A value of an answer. True and false are 1 and 0, as SQLite has them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Number(f64),
    Text(String),
}

impl Value {
    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Number(_) => 1,
            Self::Text(_) => 2,
        }
    }

    fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => {
                (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1.0)
            }
            _ => self == other,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// The rows of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer(pub(crate) Vec<Vec<Value>>);

impl Answer {
    /// What is different, as text; none when the answers are equal. Rows whose order was not asked
    /// for may come in any.
    pub(crate) fn difference(&self, other: &Self, is_ordered: bool) -> Option<String> {
        let (mut ours, mut theirs) = (self.0.clone(), other.0.clone());
        if !is_ordered {
            ours.sort_by(|a, b| row_order(a, b));
            theirs.sort_by(|a, b| row_order(a, b));
        }
        let is_equal =
            ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(a, b)| same_row(a, b));
        if is_equal { None } else { Some(told(&ours, &theirs)) }
    }
}

fn row_order(a: &[Value], b: &[Value]) -> Ordering {
    let orders = a.iter().zip(b).map(|(a, b)| a.order(b));
    orders.fold(Ordering::Equal, Ordering::then)
}

fn same_row(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_same(b))
}

/// The first rows that differ, and how many rows there are.
fn told(ours: &[Vec<Value>], theirs: &[Vec<Value>]) -> String {
    let first = ours.iter().zip(theirs).take_while(|(a, b)| same_row(a, b)).count();
    let rows = |rows: &[Vec<Value>]| {
        let shown = rows.iter().skip(first).take(SHOWN_MAX).map(|row| {
            let values: Vec<_> = row.iter().map(ToString::to_string).collect();
            format!("  {}", values.join(" | "))
        });
        shown.collect::<Vec<_>>().join("\n")
    };
    format!(
        "after {first} equal rows\nEdgemere, {} rows:\n{}\nSQLite, {} rows:\n{}",
        ours.len(),
        rows(ours),
        theirs.len(),
        rows(theirs)
    )
}
