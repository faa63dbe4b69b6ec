//! What is left to do with the rows that EdgeLake gives: HAVING, the order of groups, OFFSET and LIMIT,
//! and the names of results.

use std::cmp::Ordering;

use datafusion::sql::sqlparser::ast::Expr;
use serde_json::{Map, Value};

use crate::sql::dialect::edgelake::Refused;
use crate::sql::dialect::edgelake::item::{Item, What};
use crate::sql::dialect::edgelake::logic::{Logic, Reader, Sign, read};
use crate::sql::dialect::edgelake::refused;
use crate::sql::dialect::edgelake::select::Reading;
use crate::sql::dialect::edgelake::value::{Operand, operand};

/// What is left to do.
#[derive(Clone, Debug)]
pub(super) struct Finish {
    /// What was asked for.
    pub(super) sent: Vec<Item>,
    /// The results, as places in it; none for all that comes.
    pub(super) shown: Option<Vec<Shown>>,
    pub(super) having: Having,
    pub(super) order: Vec<Order>,
    pub(super) offset: usize,
    pub(super) limit: Option<usize>,
}

/// A result.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) place: usize,
    /// The name that it was given in the query.
    pub(super) alias: Option<String>,
}

/// A key of the order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) place: usize,
    pub(super) is_descending: bool,
    pub(super) nulls_first: Option<bool>,
}

/// The condition on groups.
pub(super) type Having = Logic<Check>;

/// A comparison of what was asked for with a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Check {
    Compare { place: usize, sign: Sign, value: Value },
    Null { place: usize, is_null: bool },
}

/// The rows of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The names of the results.
    pub columns: Vec<String>,
    /// The values of each row, in that order.
    pub rows: Vec<Vec<Value>>,
}

/// The rows are not those of the query.
#[derive(Debug, thiserror::Error)]
#[error("the node gave other columns than it was asked for")]
pub struct Strange;

/// Reads HAVING.
pub(super) fn having(expr: &Expr, reading: &mut Reading<'_>) -> Result<Having, Refused> {
    read(expr, false, &mut Groups { reading })
}

struct Groups<'a, 'b> {
    reading: &'a mut Reading<'b>,
}

impl Reader for Groups<'_, '_> {
    type One = Check;

    fn compare(&mut self, left: &Expr, sign: Sign, right: &Expr) -> Result<Having, Refused> {
        let (group, sign, value) = match self.value(right)? {
            Some(value) => (left, sign, value),
            None => {
                let value = self.value(left)?.ok_or_else(|| not_checked(left))?;
                (right, sign.flipped(), value)
            }
        };
        Ok(Logic::One(Check::Compare { place: self.reading.of_groups(group)?, sign, value }))
    }

    fn null(&mut self, expr: &Expr, is_null: bool) -> Result<Having, Refused> {
        Ok(Logic::One(Check::Null { place: self.reading.of_groups(expr)?, is_null }))
    }

    fn other(&mut self, expr: &Expr) -> Result<Having, Refused> {
        Err(not_checked(expr))
    }
}

impl Groups<'_, '_> {
    /// The value that an expression is; none when it is about the group.
    fn value(&self, expr: &Expr) -> Result<Option<Value>, Refused> {
        if matches!(expr, Expr::Function(_) | Expr::Cast { .. }) {
            return Ok(None);
        }
        match operand(expr, &self.reading.tables)? {
            Operand::Column(_) => Ok(None),
            Operand::Number(number) => {
                let number = number.parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                number.map(|number| Some(Value::Number(number))).ok_or_else(|| not_checked(expr))
            }
            Operand::Text(text) => Ok(Some(Value::String(text))),
            Operand::Boolean(_) | Operand::Moment(_) => Err(not_checked(expr)),
        }
    }
}

fn not_checked(expr: &Expr) -> Refused {
    refused(
        format!("HAVING with \"{expr}\""),
        "EdgeLake has no HAVING; here aggregates and columns of groups are compared with numbers and texts",
    )
}

impl Finish {
    /// Does it.
    pub(super) fn apply(&self, rows: Vec<Map<String, Value>>) -> Result<Rows, Strange> {
        let Some(shown) = &self.shown else { return Ok(self.cut(all_columns(rows))) };
        let rows = rows.into_iter().map(|row| self.values(row)).collect::<Result<Vec<_>, _>>()?;
        let mut rows: Vec<_> = rows.into_iter().filter(|row| holds(&self.having, row)).collect();
        rows.sort_by(|one, other| self.compare(one, other));
        let show = |row: Vec<Value>| {
            let at = |shown: &Shown| row.get(shown.place).cloned().unwrap_or_default();
            shown.iter().map(at).collect::<Vec<_>>()
        };
        let columns = shown.iter().map(|shown| shown.name.clone()).collect();
        Ok(self.cut(Rows { columns, rows: rows.into_iter().map(show).collect() }))
    }

    fn cut(&self, rows: Rows) -> Rows {
        let limit = self.limit.unwrap_or(usize::MAX);
        Rows { rows: rows.rows.into_iter().skip(self.offset).take(limit).collect(), ..rows }
    }

    /// The values of a row in the order in which they were asked for. A span of time has none.
    fn values(&self, mut row: Map<String, Value>) -> Result<Vec<Value>, Strange> {
        let is_given = |item: &&Item| !matches!(item.what, What::Increments(_));
        let given = self.sent.iter().filter(is_given).count();
        // A name may be written otherwise; a row that lacks values has those that it has by name.
        let by_place = row.len() == given;
        let mut values = Vec::with_capacity(self.sent.len());
        let mut in_order = match by_place {
            true => row.iter().map(|(_, value)| value.clone()).collect::<Vec<_>>(),
            false => Vec::new(),
        }
        .into_iter();
        for item in &self.sent {
            let value = match &item.what {
                What::Increments(_) => Some(Value::Null),
                _ if by_place => in_order.next(),
                _ => row
                    .remove(item.text.split("::").next().unwrap_or_default())
                    .or(Some(Value::Null)),
            };
            let value = value.ok_or(Strange)?;
            let is_none = matches!(item.what, What::Aggregate { is_number: true }) && value == "";
            values.push(if is_none { Value::Null } else { value });
        }
        match by_place || row.is_empty() {
            true => Ok(values),
            false => Err(Strange),
        }
    }

    fn compare(&self, one: &[Value], other: &[Value]) -> Ordering {
        let at = |row: &[Value], place: usize| row.get(place).cloned().unwrap_or_default();
        let by = |order: &Order| {
            let (one, other) = (at(one, order.place), at(other, order.place));
            let nulls_first = order.nulls_first.unwrap_or(order.is_descending);
            match (one.is_null(), other.is_null()) {
                (true, true) => Ordering::Equal,
                (true, false) if nulls_first => Ordering::Less,
                (true, false) => Ordering::Greater,
                (false, true) if nulls_first => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) if order.is_descending => compared(&other, &one),
                (false, false) => compared(&one, &other),
            }
        };
        self.order.iter().map(by).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
    }
}

/// All columns, in the order in which they are met: a row may lack some.
fn all_columns(rows: Vec<Map<String, Value>>) -> Rows {
    let mut columns: Vec<String> = Vec::new();
    for row in &rows {
        let is_known = row.len() == columns.len() && row.keys().eq(columns.iter());
        if !is_known {
            let new: Vec<_> = row.keys().filter(|key| !columns.contains(key)).cloned().collect();
            columns.extend(new);
        }
    }
    let list = |mut row: Map<String, Value>| {
        columns.iter().map(|column| row.remove(column).unwrap_or_default()).collect()
    };
    let rows = rows.into_iter().map(list).collect();
    Rows { columns, rows }
}

/// Whether a condition holds; one with an unknown in it does not.
fn holds(having: &Having, row: &[Value]) -> bool {
    match having {
        Logic::All(parts) => parts.iter().all(|part| holds(part, row)),
        Logic::Any(parts) => parts.iter().any(|part| holds(part, row)),
        Logic::One(Check::Null { place, is_null }) => {
            row.get(*place).is_none_or(Value::is_null) == *is_null
        }
        Logic::One(Check::Compare { place, sign, value }) => match row.get(*place) {
            None | Some(Value::Null) => false,
            Some(found) => sign.holds(compared(found, value)),
        },
    }
}

/// Numbers by what they are, texts by their letters; numbers come before texts.
fn compared(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => {
                let number = |value: &serde_json::Number| value.as_f64().unwrap_or_default();
                number(one).total_cmp(&number(other))
            }
        },
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Number(_), _) => Ordering::Less,
        (_, Value::Number(_)) => Ordering::Greater,
        (one, other) => one.to_string().cmp(&other.to_string()),
    }
}
