//! WHERE for EdgeLake: comparisons of columns with values, ANDs of them, and ORs between those, without
//! parentheses. EdgeLake reads times inside of parentheses wrongly and finds nothing.

use std::cmp::Ordering;

use datafusion::sql::sqlparser::ast::Expr;

use crate::sql::dialect::calls::call;
use crate::sql::dialect::edgelake::Refused;
use crate::sql::dialect::edgelake::logic::{Logic, Reader, Sign, clauses, constant, read};
use crate::sql::dialect::edgelake::refused;
use crate::sql::dialect::edgelake::value::{Operand, column, operand, printed, span};

/// A comparison as EdgeLake is asked it.
#[derive(Clone, Debug, PartialEq)]
struct Comparison {
    text: String,
    /// Whether it can only stand among ANDs.
    only_and: Option<&'static str>,
}

/// The text after WHERE; none when every row is meant.
pub(super) fn text(expr: &Expr, tables: &[String]) -> Result<Option<String>, Refused> {
    let logic = read(expr, false, &mut Where { tables })?;
    let clauses = clauses(&logic)?;
    if clauses.iter().any(Vec::is_empty) {
        return Ok(None);
    }
    if clauses.is_empty() {
        return Ok(Some("1 = 0".into()));
    }
    let bound = clauses.iter().flatten().find_map(|one| one.only_and);
    if let (Some(what), true) = (bound, clauses.len() > 1) {
        return Err(refused(
            format!("{what} beside OR"),
            "join it to the other conditions with AND only, or give the time as a text",
        ));
    }
    let periods = clauses.iter().flatten().filter(|one| one.text.starts_with("period("));
    if periods.count() > 1 {
        return Err(refused("more than one period(…)", "ask for one period"));
    }
    let all = |clause: &Vec<Comparison>| {
        clause.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join(" and ")
    };
    Ok(Some(clauses.iter().map(all).collect::<Vec<_>>().join(" or ")))
}

struct Where<'a> {
    tables: &'a [String],
}

impl Reader for Where<'_> {
    type One = Comparison;

    fn compare(
        &mut self,
        left: &Expr,
        sign: Sign,
        right: &Expr,
    ) -> Result<Logic<Comparison>, Refused> {
        let (column, sign, value) =
            match (operand(left, self.tables)?, operand(right, self.tables)?) {
                (Operand::Column(column), value) => (column, sign, value),
                (value, Operand::Column(column)) => (column, sign.flipped(), value),
                (Operand::Number(one), Operand::Number(other)) => {
                    let numbers = one.parse::<f64>().ok().zip(other.parse::<f64>().ok());
                    let ordering = numbers.and_then(|(one, other)| one.partial_cmp(&other));
                    return Ok(constant(sign.holds(ordering.unwrap_or(Ordering::Less))));
                }
                _ => {
                    return Err(refused(
                        format!("the comparison of {left} with {right}"),
                        "compare columns with values",
                    ));
                }
            };
        let only_and = matches!(&value, Operand::Moment(_)).then_some("now()");
        let text = format!("{column} {} {}", sign.text(), printed(&value, sign)?);
        Ok(Logic::One(Comparison { text, only_and }))
    }

    fn null(&mut self, expr: &Expr, is_null: bool) -> Result<Logic<Comparison>, Refused> {
        let Some(column) = column(expr, self.tables)? else { return self.other(expr) };
        let text = format!("{column} is {}", if is_null { "null" } else { "not null" });
        Ok(Logic::One(Comparison { text, only_and: None }))
    }

    fn other(&mut self, expr: &Expr) -> Result<Logic<Comparison>, Refused> {
        match call(expr, "period") {
            Some(call) => self.period(&call.arguments),
            None => Err(refused(
                format!("the condition \"{expr}\""),
                "EdgeLake compares columns with values: =, !=, <, <=, >, >=, IN, BETWEEN, IS NULL, AND, \
                 OR and NOT are asked of it; LIKE, functions, arithmetic and subqueries are not",
            )),
        }
    }
}

impl Where<'_> {
    /// `period(hour, 1, now(), timestamp)`: the last span with rows in it.
    fn period(&self, arguments: &[Expr]) -> Result<Logic<Comparison>, Refused> {
        let [unit, count, end, time] = arguments else {
            return Err(refused(
                "period(…) with a condition in it",
                "write it as period(UNIT, COUNT, END, COLUMN) and join the condition to it with AND",
            ));
        };
        let wrong = || refused("this period(…)", "write it as period(hour, 1, now(), COLUMN)");
        let (unit, count) = span(unit, count).ok_or_else(wrong)?;
        let time = column(time, self.tables)?.ok_or_else(wrong)?;
        let end = match operand(end, self.tables)? {
            end @ (Operand::Moment(_) | Operand::Text(_)) => printed(&end, Sign::LessOrEqual)?,
            _ => return Err(wrong()),
        };
        let text = format!("period({unit}, {count}, {end}, {time})");
        Ok(Logic::One(Comparison { text, only_and: Some("period(…)") }))
    }
}
