//! Queries in FROM and in WITH, also several, also recursive.

use super::{Query, aggregate, filter, limit, named, ordered, results, table};
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::{condition, list};
use crate::sql_model::scope::{Kind, Scope};

pub(super) fn query(c: &mut Chance) -> Query {
    match c.between(0, 5) {
        0 => two_with(c),
        1 => recursive(c),
        2 | 3 => {
            let (inner, kinds) = inner(c);
            let from = format!("({inner}) as q");
            outer(c, "", &from, &Scope::results("q", &kinds))
        }
        _ => {
            let (inner, kinds) = inner(c);
            outer(c, &format!("with q as ({inner}) "), "q", &Scope::results("q", &kinds))
        }
    }
}

/// A query whose results are `c0`, `c1` and so on, and their types.
pub(super) fn inner(c: &mut Chance) -> (String, Vec<Kind>) {
    let scope = Scope::table();
    let condition = c.one_in(2).then(|| condition(c, &scope, 2));
    let from = format!("from {}{}", table(c), filter(condition));
    if c.one_in(3) {
        let key = c.pick(&[("g", Kind::Int), ("s", Kind::Text), ("b", Kind::Bool)]);
        let aggregates = (0..c.between(1, 2)).map(|_| aggregate(c, &scope, 1));
        let all = std::iter::once((key.0.to_owned(), key.1)).chain(aggregates);
        let (expressions, kinds): (Vec<_>, Vec<_>) = all.unzip();
        return (format!("select {} {from} group by {}", named(&expressions), key.0), kinds);
    }
    let count = c.between(1, 3);
    let (expressions, kinds) = list(c, &scope, count, 2);
    // Which rows a limit inside leaves is the same only when the order inside is whole.
    let limit = match limit(c) {
        limit if limit.is_empty() => limit,
        limit => format!(" order by id nulls last{limit}"),
    };
    (format!("select {} {from}{limit}", named(&expressions)), kinds)
}

/// A query on what another one gives.
fn outer(c: &mut Chance, with: &str, from: &str, s: &Scope) -> Query {
    let condition = c.one_in(2).then(|| condition(c, s, 2));
    let from = format!("from {from}{}", filter(condition));
    let count = c.between(1, 3);
    let expressions = match c.one_in(3) {
        true => (0..count).map(|_| aggregate(c, s, 1).0).collect(),
        false => list(c, s, count, 2).0,
    };
    let sql = format!("{with}select {} {from}", results(c, &expressions));
    ordered(c, sql, expressions.len())
}

/// Two queries in WITH, the second on the first or beside it, joined.
fn two_with(c: &mut Chance) -> Query {
    let (first, first_kinds) = inner(c);
    let (second, second_kinds) = match c.one_in(2) {
        true => inner(c),
        false => {
            let scope = Scope::results("p", &first_kinds);
            let (expressions, kinds) = list(c, &scope, 2, 1);
            (format!("select {} from p", named(&expressions)), kinds)
        }
    };
    let with = format!("with p as ({first}), q as ({second}) ");
    let scope = Scope::results("p", &first_kinds).with(Scope::results("q", &second_kinds));
    let join = match first_kinds.first() == second_kinds.first() {
        true => format!("p {} q on p.c0 = q.c0", c.pick(&["join", "left join"])),
        false => "p cross join q".to_owned(),
    };
    outer(c, &with, &join, &scope)
}

/// Counting, which needs no table, or a walk along one.
fn recursive(c: &mut Chance) -> Query {
    let last = c.between(1, 12);
    let walk =
        format!("with recursive r(k) as (select 1 union all select k + 1 from r where k < {last})");
    let sql = match c.one_in(2) {
        true => format!("{walk} select count(*), sum(k), max(k) from r"),
        false => {
            let scope = Scope::aliased("x");
            let condition = condition(c, &scope, 1);
            format!(
                "{walk} select r.k, count(x.id), sum(x.f) from r left join {} x on x.n = r.k and {condition} group by r.k",
                table(c)
            )
        }
    };
    ordered(c, sql, 3)
}
