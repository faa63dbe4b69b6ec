//! Window functions: numbers, ranks, neighbours, and sums over frames.

use super::{Query, filter, named, ordered, table};
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::{condition, of};
use crate::sql_model::scope::{Kind, Scope};

pub(super) fn query(c: &mut Chance) -> Query {
    let scope = Scope::table();
    let condition = c.one_in(2).then(|| condition(c, &scope, 2));
    let rest = format!("from {}{}", table(c), filter(condition));
    let mut expressions = vec!["id".to_owned()];
    expressions.extend((0..c.between(1, 3)).map(|_| window(c, &scope)));
    let sql = format!("select {} {rest}", named(&expressions));
    if c.one_in(4) {
        // The first rows of each group: what windows are used for most.
        let sql = format!("select q.c0, q.c1 from ({sql}) as q where q.c1 is not null");
        return ordered(c, sql, 2);
    }
    ordered(c, sql, expressions.len())
}

fn window(c: &mut Chance, s: &Scope) -> String {
    let partition = partition(c);
    let order = whole_order(c);
    match c.between(0, 9) {
        0 => format!("row_number() over ({partition}order by {order})"),
        1 | 2 => neighbour(c, s, &partition, &order),
        3 | 4 => over_peers(c, s, &partition),
        5 => format!("ntile({}) over ({partition}order by {order})", c.between(1, 5)),
        6 => edge(c, s, &partition, &order),
        7 => format!("{} over ({})", total(c, s), partition.trim_end()),
        _ => format!("{} over ({partition}order by {order}{})", total(c, s), frame(c)),
    }
}

fn partition(c: &mut Chance) -> String {
    match c.between(0, 4) {
        0 => String::new(),
        1 => "partition by g, b ".into(),
        _ => format!("partition by {} ", c.pick(&["g", "s", "b", "(n % 3)", "day"])),
    }
}

/// An order in which no two rows are equal.
fn whole_order(c: &mut Chance) -> String {
    let key = c.pick(&["n", "f", "s", "ts", "b", "late_n"]);
    format!("{}, {}", super::direction(c, key), super::direction(c, "id"))
}

fn neighbour(c: &mut Chance, s: &Scope, partition: &str, order: &str) -> String {
    let function = c.pick(&["lag", "lead"]);
    let over = format!("over ({partition}order by {order})");
    match c.between(0, 2) {
        0 => format!("{function}({}) {over}", of(c, s, Kind::Text, 1)),
        1 => format!("{function}({}, {}) {over}", of(c, s, Kind::Int, 1), c.between(1, 4)),
        _ => format!("{function}(n, {}, {}) {over}", c.between(0, 3), c.between(-9, 9)),
    }
}

/// Functions for which equal rows are one: the same in whatever order equal rows come.
fn over_peers(c: &mut Chance, s: &Scope, partition: &str) -> String {
    let key = c.pick(&["g", "n", "s", "d", "b"]);
    let order = super::direction(c, key);
    let function = match c.between(0, 4) {
        0 => "rank()".to_owned(),
        1 => "dense_rank()".to_owned(),
        2 => "percent_rank()".to_owned(),
        3 => "cume_dist()".to_owned(),
        _ => total(c, s),
    };
    format!("{function} over ({partition}order by {order})")
}

fn edge(c: &mut Chance, s: &Scope, partition: &str, order: &str) -> String {
    let value = of(c, s, Kind::Int, 1);
    let frame = frame(c);
    match c.between(0, 2) {
        0 => format!("first_value({value}) over ({partition}order by {order}{frame})"),
        1 => format!("last_value({value}) over ({partition}order by {order}{frame})"),
        _ => {
            let place = c.between(1, 3);
            format!("nth_value({value}, {place}) over ({partition}order by {order}{frame})")
        }
    }
}

fn total(c: &mut Chance, s: &Scope) -> String {
    match c.between(0, 5) {
        0 => "count(*)".to_owned(),
        1 => format!("count({})", of(c, s, Kind::Text, 1)),
        2 => format!("avg({})", of(c, s, Kind::Int, 1)),
        3 => format!("min({})", of(c, s, Kind::Int, 1)),
        4 => format!("max({})", of(c, s, Kind::Real, 1)),
        _ => format!("sum({})", of(c, s, Kind::Real, 1)),
    }
}

fn frame(c: &mut Chance) -> String {
    let (before, after) = (c.between(0, 3), c.between(0, 3));
    match c.between(0, 4) {
        0 => String::new(),
        1 => " rows between unbounded preceding and current row".into(),
        2 => " rows between unbounded preceding and unbounded following".into(),
        3 => " rows between current row and unbounded following".into(),
        _ => format!(" rows between {before} preceding and {after} following"),
    }
}
