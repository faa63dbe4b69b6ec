//! What the planner takes for less than SQL means by it, written so that it does not.
//!
//! | written | the planner's | here |
//! |---|---|---|
//! | `18446744073709551617` | a float, with 16 of its digits | a decimal, up to 38 digits |
//! | `CAST(x AS VARCHAR(3))` | the whole text | its first 3 letters |
//! | `CAST(x AS FLOAT)` | 32 bits, 7 digits | `DOUBLE PRECISION` |
//! | `FETCH FIRST 5 ROWS ONLY` | refused | `LIMIT 5` |

use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CharacterLength, DataType, ExactNumberInfo, Expr, Fetch, LimitClause, Query, Value, VisitMut,
    VisitorMut,
};

use crate::sql::dialect::build;

/// How many digits a decimal has at most.
const DIGITS_MAX: usize = 38;

/// Up to how many binary digits `FLOAT(p)` is one of 32 bits.
const REAL_BITS_MAX: u64 = 24;

/// Writes a query so that nothing of it is taken for less.
pub(super) fn expand(query: &mut Query) {
    let ControlFlow::Continue(()) = query.visit(&mut Replace);
}

struct Replace;

impl VisitorMut for Replace {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        fetch_as_limit(query);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Value(value) => {
                if let Value::Number(digits, _) = &value.value
                    && is_long(digits)
                {
                    *expr = build::cast(build::text(digits.clone()), decimal());
                }
            }
            Expr::Cast { data_type, .. } => {
                widen(data_type);
                if let Some(length) = take_length(data_type) {
                    *expr = build::call("left", vec![expr.clone(), build::number(length)]);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether digits are a whole number for which 64 bits have no room, and a decimal has.
fn is_long(digits: &str) -> bool {
    let is_whole = digits.bytes().all(|digit| digit.is_ascii_digit());
    is_whole && digits.trim_start_matches('0').len() <= DIGITS_MAX && digits.parse::<u64>().is_err()
}

fn decimal() -> DataType {
    DataType::Decimal(ExactNumberInfo::PrecisionAndScale(DIGITS_MAX as u64, 0))
}

/// `FLOAT` has 64 bits, unless few digits are asked for.
fn widen(data_type: &mut DataType) {
    let is_double = match data_type {
        DataType::Float(ExactNumberInfo::None) => true,
        DataType::Float(ExactNumberInfo::Precision(bits)) => *bits > REAL_BITS_MAX,
        _ => false,
    };
    if is_double {
        *data_type = DataType::Double(ExactNumberInfo::None);
    }
}

/// Takes the length out of a type of texts.
fn take_length(data_type: &mut DataType) -> Option<u64> {
    let length = match data_type {
        DataType::Character(length)
        | DataType::Char(length)
        | DataType::CharacterVarying(length)
        | DataType::CharVarying(length)
        | DataType::Varchar(length)
        | DataType::Nvarchar(length) => length.take()?,
        _ => return None,
    };
    *data_type = DataType::Varchar(None);
    match length {
        CharacterLength::IntegerLength { length, .. } => Some(length),
        CharacterLength::Max => None,
    }
}

/// `FETCH FIRST n ROWS ONLY` is LIMIT; with ties, or a percentage, it is something else.
fn fetch_as_limit(query: &mut Query) {
    let Some(Fetch { with_ties: false, percent: false, quantity }) = &query.fetch else { return };
    let rows = quantity.clone().unwrap_or_else(|| build::number(1));
    let (offset, limit_by) = match &query.limit_clause {
        None => (None, vec![]),
        Some(LimitClause::LimitOffset { limit: None, offset, limit_by }) => {
            (offset.clone(), limit_by.clone())
        }
        Some(_) => return,
    };
    query.limit_clause = Some(LimitClause::LimitOffset { limit: Some(rows), offset, limit_by });
    query.fetch = None;
}
