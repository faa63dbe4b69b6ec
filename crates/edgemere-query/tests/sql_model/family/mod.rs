//! Queries by chance, in families: each is about one part of SQL, and uses the others.

mod filters;
mod groups;
mod inside;
mod joins;
mod sets;
mod subqueries;
mod windows;

use super::chance::Chance;
use super::expression::of;
use super::scope::{Kind, Scope};

/// A query, and whether its ORDER BY leaves no two rows that could change places.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) sql: String,
    pub(crate) is_ordered: bool,
}

/// What queries are about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Family {
    Filters,
    Groups,
    Joins,
    Subqueries,
    Inside,
    Sets,
    Windows,
}

impl Family {
    /// A query of the family.
    pub(crate) fn query(self, chance: &mut Chance) -> Query {
        match self {
            Self::Filters => filters::query(chance),
            Self::Groups => groups::query(chance),
            Self::Joins => joins::query(chance),
            Self::Subqueries => subqueries::query(chance),
            Self::Inside => inside::query(chance),
            Self::Sets => sets::query(chance),
            Self::Windows => windows::query(chance),
        }
    }
}

/// The tables that hold rows, and more seldom the two that hold none or one.
fn table(c: &mut Chance) -> &'static str {
    const FULL: [&str; 5] = ["fresh", "settled", "half", "merged", "grown"];
    if c.one_in(12) { c.pick(&["single", "bare"]) } else { c.pick(&FULL) }
}

/// Expressions as the results of a query: with names, or as they are written.
fn results(c: &mut Chance, expressions: &[String]) -> String {
    // Two results of one name are refused, so that they need other names.
    let is_unique = expressions.iter().enumerate().all(|(i, e)| !expressions[..i].contains(e));
    if is_unique && c.one_in(2) { expressions.join(", ") } else { named(expressions) }
}

/// Expressions as results with the names `c0`, `c1` and so on.
fn named(expressions: &[String]) -> String {
    let one = |(index, expression)| format!("{expression} as c{index}");
    expressions.iter().enumerate().map(one).collect::<Vec<_>>().join(", ")
}

/// A condition, or none.
fn filter(condition: Option<String>) -> String {
    condition.map_or(String::new(), |condition| format!(" where {condition}"))
}

/// The query, with an order of all its results and a limit, or without.
fn ordered(c: &mut Chance, sql: String, results: usize) -> Query {
    if c.one_in(3) {
        return Query { sql, is_ordered: false };
    }
    let mut places: Vec<_> = (1..=results).collect();
    let turn = c.number() as usize % results;
    places.rotate_left(turn);
    let keys: Vec<_> = places.iter().map(|place| direction(c, &place.to_string())).collect();
    Query { sql: format!("{sql} order by {}{}", keys.join(", "), limit(c)), is_ordered: true }
}

/// A key of an ORDER BY. Where nulls go is always said: the databases do not agree on it.
fn direction(c: &mut Chance, key: &str) -> String {
    let (direction, nulls) = (c.pick(&["", " asc", " desc"]), c.pick(&["first", "last"]));
    format!("{key}{direction} nulls {nulls}")
}

fn limit(c: &mut Chance) -> String {
    match c.between(0, 5) {
        0 => format!(" limit {}", c.between(0, 3)),
        1 => format!(" limit {}", c.between(1, 20)),
        2 => format!(" limit {} offset {}", c.between(1, 10), c.between(0, 12)),
        _ => String::new(),
    }
}

/// An aggregate of a column or an expression, and its type.
fn aggregate(c: &mut Chance, s: &Scope, depth: u32) -> (String, Kind) {
    loop {
        let (text, kind) = any_aggregate(c, s, depth);
        // Beside an aggregate of the same without the cast, DataFusion takes the two for one.
        if !text.contains("cast(") {
            return (text, kind);
        }
    }
}

fn any_aggregate(c: &mut Chance, s: &Scope, depth: u32) -> (String, Kind) {
    let numeric = c.pick(&[Kind::Int, Kind::Real]);
    let any = s.any(c).1;
    match c.between(0, 9) {
        0 | 1 => ("count(*)".into(), Kind::Int),
        2 => (format!("count({})", of(c, s, any, depth)), Kind::Int),
        3 => (format!("count(distinct {})", of(c, s, any, depth)), Kind::Int),
        4 | 5 => (format!("sum({})", of(c, s, numeric, depth)), numeric),
        6 => (format!("avg({})", of(c, s, numeric, depth)), Kind::Real),
        7 => (format!("sum(distinct {})", of(c, s, Kind::Int, depth)), Kind::Int),
        8 => (format!("min({})", of(c, s, any, depth)), any),
        _ => (format!("max({})", of(c, s, any, depth)), any),
    }
}
