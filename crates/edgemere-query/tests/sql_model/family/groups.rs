//! Aggregates, with and without GROUP BY and HAVING.

use super::{Query, aggregate, filter, ordered, results, table};
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::{condition, literal, of};
use crate::sql_model::scope::{Kind, Scope};

pub(super) fn query(c: &mut Chance) -> Query {
    let scope = Scope::table();
    let condition = c.one_in(2).then(|| condition(c, &scope, 2));
    let from = format!("from {}{}", table(c), filter(condition));
    let keys: Vec<_> = (0..c.between(0, 2)).map(|_| key(c, &scope)).collect();
    let mut expressions = keys.clone();
    expressions.dedup();
    expressions.extend((0..c.between(1, 3)).map(|_| of_aggregates(c, &scope)));
    let mut sql = format!("select {} {from}", results(c, &expressions));
    if !keys.is_empty() {
        sql.push_str(&format!(" group by {}", by(c, &keys)));
    }
    if c.one_in(3) {
        sql.push_str(&format!(" having {}", having(c, &scope)));
    }
    ordered(c, sql, expressions.len())
}

/// A column by which to group, or an expression. A literal would be a place.
fn key(c: &mut Chance, s: &Scope) -> String {
    if c.one_in(2) {
        return c.pick(&["g", "b", "s", "\"order\"", "late_s", "d", "day"]).to_owned();
    }
    match c.between(0, 3) {
        0 => "(n % 3)".to_owned(),
        1 => "coalesce(g, 0)".to_owned(),
        2 => "length(s)".to_owned(),
        _ => format!("(case when {} then 'yes' else 'no' end)", condition(c, s, 1)),
    }
}

/// The keys as expressions, or as the places they have among the results.
fn by(c: &mut Chance, keys: &[String]) -> String {
    let mut unique = keys.to_vec();
    unique.dedup();
    match c.one_in(3) {
        true => (1..=unique.len()).map(|place| place.to_string()).collect::<Vec<_>>().join(", "),
        false => unique.join(", "),
    }
}

/// An aggregate, or arithmetic with some.
fn of_aggregates(c: &mut Chance, s: &Scope) -> String {
    let (one, kind) = aggregate(c, s, 1);
    match (kind, c.between(0, 3)) {
        (Kind::Int, 0) => format!("({one} + {})", c.between(1, 9)),
        (Kind::Int, 1) => format!("({one} - count(*))"),
        (Kind::Real, 0) => format!("({one} / 2.0)"),
        (_, 2) => format!("coalesce({one}, {})", coalesced(c, s, kind)),
        _ => one,
    }
}

fn coalesced(c: &mut Chance, s: &Scope, kind: Kind) -> String {
    match kind {
        Kind::Time | Kind::Date => format!("max({})", of(c, s, kind, 0)),
        _ => literal(c, kind),
    }
}

fn having(c: &mut Chance, s: &Scope) -> String {
    let (one, kind) = aggregate(c, s, 1);
    let operator = c.pick(&["=", "<>", "<", ">="]);
    let first = format!("({one} {operator} {})", literal(c, kind));
    match c.between(0, 2) {
        0 => format!("{first} and count(*) > {}", c.between(0, 4)),
        1 => format!("{first} or max(n) is null"),
        _ => first,
    }
}
