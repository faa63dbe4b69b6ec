//! Queries inside of conditions and results: scalar, IN, EXISTS, on the outer row or not.

use super::{Query, aggregate, ordered, results, table};
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::{condition, list};
use crate::sql_model::scope::{Kind, Scope};

pub(super) fn query(c: &mut Chance) -> Query {
    let scope = Scope::aliased("x");
    let count = c.between(1, 3);
    let (mut expressions, _) = list(c, &scope, count, 1);
    if c.one_in(3) {
        expressions.push(scalar(c).0);
    }
    let mut conditions = vec![test(c, &scope)];
    if c.one_in(3) {
        conditions.push(test(c, &scope));
    }
    if c.one_in(2) {
        conditions.push(condition(c, &scope, 1));
    }
    let joint = c.pick(&[" and ", " and ", " or "]);
    let sql = format!(
        "select {} from {} x where {}",
        results(c, &expressions),
        table(c),
        conditions.join(joint)
    );
    ordered(c, sql, expressions.len())
}

/// A condition with a query in it.
fn test(c: &mut Chance, outer: &Scope) -> String {
    match c.between(0, 4) {
        0 | 1 => member(c),
        2 | 3 => exists(c),
        _ => {
            let (value, kind) = scalar(c);
            let column = outer.column(c, kind).unwrap_or("x.n").to_owned();
            format!("{column} {} {value}", c.pick(&["=", "<", ">=", "<>"]))
        }
    }
}

/// `x.n in (select …)`, and `not in`, where nulls inside make the answer unknown.
fn member(c: &mut Chance) -> String {
    let inner = Scope::aliased("u");
    let column = c.pick(&["g", "n", "s", "d", "ts", "late_n"]);
    let mut conditions = Vec::new();
    if c.one_in(2) {
        conditions.push(condition(c, &inner, 1));
    }
    if c.one_in(3) {
        conditions.push(correlation(c));
    }
    let not = c.pick(&["", "not "]);
    let table = table(c);
    format!("x.{column} {not}in (select u.{column} from {table} u{})", filters(&conditions))
}

fn exists(c: &mut Chance) -> String {
    let mut conditions = vec![correlation(c)];
    if c.one_in(2) {
        conditions.push(condition(c, &Scope::aliased("u"), 1));
    }
    let not = c.pick(&["", "not "]);
    format!("{not}exists (select 1 from {} u{})", table(c), filters(&conditions))
}

/// What ties the inner row to the outer one.
fn correlation(c: &mut Chance) -> String {
    let key = c.pick(&["g", "n", "s", "b", "day"]);
    match c.between(0, 3) {
        0 => format!("u.{key} = x.{key} and u.id <> x.id"),
        1 => format!("u.{key} = x.{key} and u.n < x.n"),
        _ => format!("u.{key} = x.{key}"),
    }
}

/// A query of one value: an aggregate, of all rows or of those that belong to the outer one.
fn scalar(c: &mut Chance) -> (String, Kind) {
    let inner = Scope::aliased("u");
    let (value, kind) = aggregate(c, &inner, 0);
    let mut conditions = Vec::new();
    if c.one_in(2) {
        let key = c.pick(&["g", "n", "s", "day"]);
        conditions.push(format!("u.{key} = x.{key}"));
    }
    if c.one_in(2) {
        conditions.push(condition(c, &inner, 1));
    }
    (format!("(select {value} from {} u{})", table(c), filters(&conditions)), kind)
}

fn filters(conditions: &[String]) -> String {
    if conditions.is_empty() {
        String::new()
    } else {
        format!(" where {}", conditions.join(" and "))
    }
}
