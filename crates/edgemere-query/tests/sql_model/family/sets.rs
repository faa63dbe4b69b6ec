//! UNION, INTERSECT and EXCEPT.

use super::{Query, filter, named, ordered, table};
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::{condition, of};
use crate::sql_model::scope::{KINDS, Kind, Scope};

pub(super) fn query(c: &mut Chance) -> Query {
    let kinds: Vec<_> = (0..c.between(1, 3)).map(|_| c.pick(&KINDS)).collect();
    let operator = c.pick(&["union", "union all", "intersect", "except"]);
    let parts: Vec<_> = (0..parts(c, operator)).map(|_| part(c, &kinds)).collect();
    let sql = parts.join(&format!(" {operator} "));
    if c.one_in(4) {
        let sql = format!("select count(*), min(q.c0), max(q.c0) from ({sql}) as q");
        return ordered(c, sql, 3);
    }
    ordered(c, sql, kinds.len())
}

/// How many queries are joined: the order of different operators differs, that of one does not.
fn parts(c: &mut Chance, operator: &str) -> i64 {
    if operator == "except" { 2 } else { c.between(2, 3) }
}

fn part(c: &mut Chance, kinds: &[Kind]) -> String {
    let scope = Scope::table();
    let expressions: Vec<_> = kinds.iter().map(|kind| of(c, &scope, *kind, 1)).collect();
    let condition = c.one_in(2).then(|| condition(c, &scope, 2));
    format!("select {} from {}{}", named(&expressions), table(c), filter(condition))
}
