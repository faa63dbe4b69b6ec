//! Joins and queries in queries that SQLite does not understand, and joins with rows that are in the
//! query itself.

use super::more::{any_order, table};
use super::scene::Question;
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::condition;
use crate::sql_model::scope::Scope;

/// Joins that DataFusion has and SQLite has not, and such with other names for the same.
pub(super) fn half_joins(c: &mut Chance) -> Question {
    let (one, two) = (table(c), table(c));
    let key = c.pick(&["g", "n", "s", "d", "day"]);
    let scope = Scope::aliased("x");
    let condition = condition(c, &scope, 1);
    any_order(match c.between(0, 5) {
        0 => format!("select x.id, x.s from {one} x left semi join {two} y on x.{key} = y.{key}"),
        1 => format!(
            "select x.id from {one} x left anti join {two} y on x.{key} = y.{key} where {condition}"
        ),
        2 => format!(
            "select y.id from {one} x right semi join {two} y on x.{key} = y.{key} and x.id > y.id"
        ),
        3 => format!("select y.id, y.n from {one} x right anti join {two} y on x.{key} = y.{key}"),
        4 => format!(
            "select {key}, count(*), count(x.id) from {one} x full join {two} y using ({key}) group by {key}"
        ),
        _ => format!(
            "select x.id, y.id as other from {one} x full join {two} y \
             on (x.{key} is not distinct from y.{key}) and x.b = y.b where {condition} or x.id is null"
        ),
    })
}

/// Joins with rows that are in the query itself, and so go to operators.
pub(super) fn written_out(c: &mut Chance) -> Question {
    let values = "(values (1, 'a', true), (2, 'b', false), (3, 'ab', null), (3, null, true), (null, 'x', false)) v(k, w, t)";
    let rows = format!("{} x", table(c));
    let scope = Scope::aliased("x");
    let on = c.pick(&["x.g = v.k", "x.s = v.w", "x.g = v.k and x.b = v.t", "x.n > v.k"]);
    let condition = condition(c, &scope, 1);
    let join = c.pick(&[
        "join",
        "left join",
        "right join",
        "full join",
        "left semi join",
        "left anti join",
    ]);
    let shown = match join.contains("semi") || join.contains("anti") {
        true => "x.id, x.s",
        false => "x.id, x.s, v.k, v.w",
    };
    any_order(match c.between(0, 4) {
        0 => format!("select x.id, v.w from {rows} cross join {values} where {condition}"),
        1 => format!("select v.* from {values} left join {rows} on {on} and {condition}"),
        2 => format!(
            "select v.k, v.w, count(x.id) from {values} left join {rows} on {on} group by v.k, v.w"
        ),
        3 => {
            format!("select x.id from {rows} where x.s in (select w from {values}) or {condition}")
        }
        _ => format!("select {shown} from {rows} {join} {values} on {on}"),
    })
}

/// A query inside for each row, and queries in queries.
pub(super) fn lateral(c: &mut Chance) -> Question {
    let (one, two, three) = (table(c), table(c), table(c));
    let scope = Scope::aliased("x");
    let condition = condition(c, &scope, 1);
    any_order(match c.between(0, 6) {
        0 => format!(
            "select x.id, l.m from {one} x cross join lateral \
             (select max(y.n) as m from {two} y where y.g = x.g) l where {condition}"
        ),
        1 => format!(
            "select g, count(*) from {one} group by g having count(*) > (select count(*) / 8 from {two})"
        ),
        2 => format!(
            "select x.id, (select max(u.n) from {two} u where u.g = x.g), \
             (select min(s) from {three}) from {one} x where x.n > (select min(n) from {three} \
             where f < (select max(f) from {two}))"
        ),
        3 => format!(
            "select id, n - (select avg(n) from {two}) as off from {one} x \
             where {condition} and f >= coalesce((select min(f) from {three}), 0.0)"
        ),
        4 => format!(
            "select count(*) from {one} x where x.n >= all (select u.n from {two} u where u.n is not null)"
        ),
        5 => format!(
            "select case when (select count(*) from {two} where n > 5) > 0 then 'some' else 'none' end as c, count(*) from {one}"
        ),
        _ => format!(
            "with p as (select g, sum(n) as t from {one} group by g), m as (select max(t) as t from p) \
             select p.g, p.t from p join m on p.t = m.t union all select g, n from {two} x where {condition} "
        ),
    })
}
