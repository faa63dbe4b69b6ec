//! Joins: of two or three tables, of one with itself, of all kinds.

use super::{Query, aggregate, filter, ordered, results, table};
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::{condition, list};
use crate::sql_model::scope::Scope;

pub(super) fn query(c: &mut Chance) -> Query {
    let mut scope = Scope::aliased("x").with(Scope::aliased("y"));
    let (left, right) = (table(c), table(c));
    let right = if c.one_in(4) { left } else { right };
    let mut from = format!("{left} x {}", joined(c, right, "y", "x"));
    if c.one_in(5) {
        scope = scope.with(Scope::aliased("z"));
        let third = table(c);
        from.push_str(&format!(" {}", equal(c, third, "z", "y")));
    }
    let condition = c.one_in(2).then(|| condition(c, &scope, 2));
    let rest = format!("from {from}{}", filter(condition));
    if c.one_in(3) {
        return grouped(c, &scope, &rest);
    }
    let count = c.between(1, 4);
    let (expressions, _) = list(c, &scope, count, 2);
    let distinct = c.pick(&["", "", "distinct "]);
    let sql = format!("select {distinct}{} {rest}", results(c, &expressions));
    ordered(c, sql, expressions.len())
}

fn joined(c: &mut Chance, table: &str, alias: &str, other: &str) -> String {
    match c.between(0, 7) {
        0 => format!("cross join {table} {alias}"),
        // Without an equality: every pair of rows is tried.
        1 => format!("{} {table} {alias} on {other}.id < {alias}.n", inner_or_left(c)),
        2 => {
            let scope = Scope::aliased(alias).with(Scope::aliased(other));
            format!("{} {table} {alias} on {}", inner_or_left(c), condition(c, &scope, 1))
        }
        _ => equal(c, table, alias, other),
    }
}

fn inner_or_left(c: &mut Chance) -> &'static str {
    c.pick(&["join", "inner join", "left join"])
}

/// A join on equal columns, and now and then on more.
fn equal(c: &mut Chance, table: &str, alias: &str, other: &str) -> String {
    let join = c.pick(&["join", "left join", "left outer join", "right join", "full join"]);
    let key = c.pick(&["g", "n", "s", "id", "day", "ts", "late_n", "\"order\""]);
    let more = match c.between(0, 4) {
        0 => format!(" and {other}.b = {alias}.b"),
        1 => format!(" and {other}.n > {}", c.between(-5, 5)),
        2 => format!(" and {alias}.f <= {other}.f"),
        _ => String::new(),
    };
    format!("{join} {table} {alias} on {other}.{key} = {alias}.{key}{more}")
}

fn grouped(c: &mut Chance, s: &Scope, rest: &str) -> Query {
    let key = c.pick(&["x.g", "y.s", "x.b", "y.day"]);
    let mut expressions = vec![(*key).to_owned()];
    expressions.extend((0..c.between(1, 2)).map(|_| aggregate(c, s, 1).0));
    let sql = format!("select {} {rest} group by {key}", results(c, &expressions));
    ordered(c, sql, expressions.len())
}
