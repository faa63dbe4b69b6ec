//! Conditions and expressions on one table, with DISTINCT, ORDER BY, LIMIT and OFFSET.

use super::{Query, direction, filter, limit, ordered, results, table};
use crate::sql_model::chance::Chance;
use crate::sql_model::expression::{condition, list, of};
use crate::sql_model::scope::Scope;

pub(super) fn query(c: &mut Chance) -> Query {
    let scope = Scope::table();
    let count = c.between(1, 4);
    let (expressions, _) = list(c, &scope, count, 3);
    let condition = (!c.one_in(6)).then(|| condition(c, &scope, 3));
    let rest = format!("from {}{}", table(c), filter(condition));
    if c.one_in(4) {
        let sql = format!("select distinct {} {rest}", results(c, &expressions));
        return ordered(c, sql, expressions.len());
    }
    if c.one_in(3) {
        return by_expression(c, &scope, &expressions, &rest);
    }
    if c.one_in(8) {
        let sql = format!("select * exclude_system {rest}");
        return all_columns(c, sql);
    }
    let sql = format!("select {} {rest}", results(c, &expressions));
    ordered(c, sql, expressions.len())
}

/// Ordered by what is not among the results; the key is unique.
fn by_expression(c: &mut Chance, s: &Scope, expressions: &[String], rest: &str) -> Query {
    let kind = s.any(c).1;
    let key = match c.one_in(2) {
        true => c.pick(expressions),
        false => of(c, s, kind, 2),
    };
    // A literal as a key would be a place among the results.
    let key = if key.parse::<f64>().is_ok() { "n".to_owned() } else { key };
    let keys = format!("{}, {}", direction(c, &key), direction(c, "id"));
    let sql = format!("select {} {rest} order by {keys}{}", results(c, expressions), limit(c));
    Query { sql, is_ordered: true }
}

/// A condition over all columns: the system columns are ours alone, so the others are named.
fn all_columns(c: &mut Chance, sql: String) -> Query {
    let columns = "id, g, n, day, f, s, \"order\", b, ts, d, late_n, late_s";
    let sql = sql.replace("* exclude_system", columns);
    ordered(c, sql, 12)
}
