//! Queries that SQLite does not understand, or in another way: grouping sets, aggregates with an order
//! or a filter, orders with ties, limits without an order, and what plans and functions there are.

use super::scene::Question;
use super::{functions, joins};
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::{condition, of};
use crate::sql_model::scope::{Kind, Scope};

pub(super) fn question(c: &mut Chance) -> Question {
    match c.between(0, 13) {
        0 => grouping_sets(c),
        1 => filtered_aggregates(c),
        2 => ordered_aggregates(c),
        3 => sets_with_repetitions(c),
        4 => counted_limit(c),
        5 => ties(c),
        6 => first_of_each(c),
        7 => unnested(c),
        8 => told_apart(c),
        9 => joins::half_joins(c),
        10 => joins::written_out(c),
        11 => joins::lateral(c),
        12 => functions::question(c),
        _ => windows(c),
    }
}

pub(super) fn any_order(sql: String) -> Question {
    Question { sql, is_ordered: false, is_common: false }
}

fn in_order(sql: String) -> Question {
    Question { sql, is_ordered: true, is_common: false }
}

/// A table; one of seven is empty or has one row.
pub(super) fn table(c: &mut Chance) -> &'static str {
    c.pick(&["fresh", "settled", "half", "merged", "grown", "settled", "half", "single", "bare"])
}

fn filter(c: &mut Chance, scope: &Scope) -> String {
    match c.one_in(2) {
        true => format!(" where {}", condition(c, scope, 1)),
        false => String::new(),
    }
}

fn rows(c: &mut Chance) -> String {
    let table = table(c);
    format!("from {table}{}", filter(c, &Scope::table()))
}

fn key(c: &mut Chance) -> &'static str {
    c.pick(&["g", "b", "s", "day", "d", "late_s", "n % 3", "date_trunc('day', ts)", "f"])
}

/// An aggregate that is the same in whatever order rows come.
fn aggregate(c: &mut Chance) -> String {
    let value = of(c, &Scope::table(), Kind::Int, 1);
    match c.between(0, 11) {
        0 => "count(*)".into(),
        1 => format!("count({value})"),
        2 => format!("sum({value})"),
        3 => "avg(f)".into(),
        4 => format!("count(distinct {})", c.pick(&["s", "n", "f", "ts", "b", "d", "(n, g)"])),
        5 => format!("sum(distinct {})", c.pick(&["n", "f", "day"])),
        6 => format!("min({})", c.pick(&["s", "ts", "d", "f", "\"order\"", "b"])),
        7 => format!("max({})", c.pick(&["s", "ts", "d", "f", "late_s", "b"])),
        8 => format!("median({})", c.pick(&["n", "f", "day"])),
        9 => format!("{}(b)", c.pick(&["bool_and", "bool_or"])),
        10 => format!("{}(n)", c.pick(&["bit_and", "bit_or", "bit_xor"])),
        _ => format!("approx_distinct({})", c.pick(&["n", "s"])),
    }
}

fn grouping_sets(c: &mut Chance) -> Question {
    let (one, two) = (c.pick(&["g", "b", "d"]), c.pick(&["s", "day", "late_n"]));
    let sets = match c.between(0, 3) {
        0 => format!("rollup ({one}, {two})"),
        1 => format!("cube ({one}, {two})"),
        2 => format!("grouping sets (({one}), ({one}, {two}), ())"),
        _ => format!("grouping sets (({two}), ({one}))"),
    };
    let (a, b) = (aggregate(c), aggregate(c));
    any_order(format!(
        "select {one} as k, {two} as l, grouping({one}) as gk, {a} as x, {b} as y {} group by {sets}",
        rows(c)
    ))
}

fn filtered_aggregates(c: &mut Chance) -> Question {
    let mut one = || {
        let (aggregate, scope) = (aggregate(c), Scope::table());
        let plain = aggregate.starts_with("approx");
        match plain {
            true => aggregate,
            false => format!("{aggregate} filter (where {})", condition(c, &scope, 1)),
        }
    };
    let (a, b) = (one(), one());
    let from = rows(c);
    any_order(match c.one_in(2) {
        true => format!("select {a} as x, {b} as y {from}"),
        false => {
            let key = key(c);
            format!("select {key} as k, {a} as x, {b} as y {from} group by {key}")
        }
    })
}

fn ordered_aggregates(c: &mut Chance) -> Question {
    let (key, from) = (key(c), rows(c));
    let order = c.pick(&["id", "id desc", "n nulls first, id", "s desc nulls last, id", "f, id"]);
    let aggregate = match c.between(0, 5) {
        0 => format!("array_agg(n order by {order})"),
        1 => format!("string_agg(s, '/' order by {order})"),
        2 => format!("first_value(n order by {order})"),
        3 => format!("last_value(s order by {order})"),
        4 => format!("nth_value(n, 2 order by {order})"),
        _ => format!("array_agg(s order by {order}), array_agg(n order by {order})"),
    };
    any_order(match c.one_in(3) {
        true => format!("select {aggregate} {from}"),
        false => format!("select {key} as k, {aggregate}, count(*) {from} group by {key}"),
    })
}

fn sets_with_repetitions(c: &mut Chance) -> Question {
    let columns = c.pick(&["n", "s", "g, b", "f, ts", "late_s, d"]);
    let mut part = || format!("select {columns} {}", rows(c));
    let (one, two, three) = (part(), part(), part());
    let operators = ["union all", "union", "intersect", "except", "intersect all", "except all"];
    let (first, second) = (c.pick(&operators), c.pick(&operators));
    any_order(format!("({one} {first} {two}) {second} {three}"))
}

/// How many rows a limit leaves is known, and not which.
fn counted_limit(c: &mut Chance) -> Question {
    let (limit, offset) = (c.between(0, 30), c.between(0, 20));
    let from = rows(c);
    let inner = match c.between(0, 3) {
        0 => format!("select id {from} limit {limit}"),
        1 => format!("select id {from} limit {limit} offset {offset}"),
        2 => format!("select distinct s {from} limit {limit}"),
        _ => format!("select n {from} union all select n {} limit {limit}", rows(c)),
    };
    any_order(match c.one_in(4) {
        true => format!("select 7 as seven from {} limit {limit} offset {offset}", table(c)),
        false => format!("select count(*) from ({inner}) as q"),
    })
}

/// Rows that are equal in what they are ordered by are equal in all.
fn ties(c: &mut Chance) -> Question {
    let direction = c.pick(&["", " desc", " nulls first", " desc nulls last"]);
    let (limit, offset) = (c.between(0, 20), c.between(0, 9));
    let end = c.pick(&[String::new(), format!(" limit {limit}"), format!(" offset {offset}")]);
    let end = if c.one_in(3) { format!(" limit {limit} offset {offset}") } else { end };
    let key = key(c);
    let from = rows(c);
    in_order(match c.between(0, 3) {
        0 => format!("select {key} as k {from} order by k{direction}{end}"),
        1 => format!("select distinct {key} as k {from} order by k{direction}{end}"),
        2 => format!(
            "select k, count(*) as x from (select {key} as k {from}) q group by k order by k{direction}{end}"
        ),
        _ => format!(
            "select k, m from (select {key} as k, max(id) as m {from} group by {key}) q \
             order by m{direction}, k{end}"
        ),
    })
}

fn first_of_each(c: &mut Chance) -> Question {
    let (key, from) = (c.pick(&["g", "b", "s", "day"]), rows(c));
    let order = c.pick(&["id", "n desc nulls last, id", "f nulls first, id desc", "ts, id"]);
    in_order(format!(
        "select distinct on ({key}) {key} as k, id, n {from} order by {key} nulls first, {order}"
    ))
}

fn unnested(c: &mut Chance) -> Question {
    let from = rows(c);
    any_order(match c.between(0, 2) {
        0 => format!("select id, unnest(make_array(n, g, id)) as u {from}"),
        1 => format!(
            "select k, unnest(a) as u from (select g as k, array_agg(n order by id) as a {from} group by g) q"
        ),
        _ => format!(
            "select u, count(*) from (select unnest(make_array(s, \"order\")) as u {from}) q group by u"
        ),
    })
}

/// Tables put together, with a word that says which it was: the same in all rows of each.
fn told_apart(c: &mut Chance) -> Question {
    let (one, two, three) = (rows(c), rows(c), rows(c));
    let all = format!(
        "select 'b' as t, id, n, g {one} union all select 'a', id, n, g {two} \
         union all select s, id, n, g {three}"
    );
    let two = format!("select 'b' as t, id, n, g {one} union all select 'a', id, n, g {two}");
    let inner = c.pick(&[all, two]);
    let limit = c.between(1, 40);
    match c.between(0, 5) {
        0 => in_order(format!("select t, id, n from ({inner}) q order by t, id, n limit {limit}")),
        1 => in_order(format!("select t, id, n from ({inner}) q order by t desc, n, id")),
        2 => in_order(format!("select t, count(*), sum(n) from ({inner}) q group by t order by t")),
        3 => any_order(format!("select t, g, count(*) from ({inner}) q group by t, g")),
        4 => any_order(format!(
            "select t, id, row_number() over (partition by t order by id, n, g) as k from ({inner}) q"
        )),
        _ => any_order(format!(
            "select x.t, count(*) from ({inner}) x join ({inner}) y \
             on x.t = y.t and x.n = y.n group by x.t"
        )),
    }
}

fn windows(c: &mut Chance) -> Question {
    let from = rows(c);
    let key = c.pick(&["g", "b", "s"]);
    any_order(match c.between(0, 4) {
        0 => format!(
            "select id {from} qualify row_number() over (partition by {key} order by n desc nulls last, id) <= 2"
        ),
        1 => format!(
            "select id, sum(n) over (order by id range between 3 preceding and 2 following) as t {from}"
        ),
        2 => format!(
            "select {key} as k, sum(n) as t, rank() over (order by sum(n) desc, {key}) as r {from} group by {key}"
        ),
        3 => format!(
            "select x.id, x.k from (select id, n, count(*) over (partition by {key}) as k {from}) x \
             join {} y on x.k = y.id",
            table(c)
        ),
        _ => format!(
            "select id, max(s) over w as m, lag(n) over w as l {from} window w as (partition by {key} order by ts, id)"
        ),
    })
}
