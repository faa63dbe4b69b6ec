//! Series of measurements: buckets of time and their gaps, the first and the last value, counters, and
//! series that are made. Times and values have ties and NULLs.

use super::more::{any_order, table};
use super::scene::Question;
use crate::sql_model::chance::Chance;

/// Aggregates that go by time.
const AGGREGATES: &[&str] = &[
    "first(n, ts)",
    "last(s, ts)",
    "first(f, d)",
    "last(late_s, ts)",
    "last(b, id)",
    "first(ts, n)",
    "increase(n, ts)",
    "increase(f, ts)",
    "increase(late_n, d)",
    "increase(n order by ts)",
    "increase(abs(n), ts) filter (where b)",
    "rate(n, ts)",
    "rate(f, d)",
    "time_bucket('1 day', max(ts))",
];

/// Widths of buckets.
const WIDTHS: &[&str] = &["3 hours", "1 day", "90 minutes", "1 month", "1 week"];

/// What is between 1 and 3 January, which all times are.
const RANGES: &[&str] = &[
    "ts >= '2026-01-01' and ts < '2026-01-04'",
    "ts between '2026-01-01 12:00:00' and '2026-01-02 12:00:00'",
    "ts > '2026-01-02' and '2026-01-02 18:00:00' >= ts and n > -5",
    "ts >= '2027-01-01' and ts < '2027-01-02'",
];

/// A question with some of them.
pub(super) fn question(c: &mut Chance) -> Question {
    let (one, two) = (c.pick(AGGREGATES), c.pick(AGGREGATES));
    let (width, range, table) = (c.pick(WIDTHS), c.pick(RANGES), table(c));
    let key = c.pick(&["g", "b", "s", "late_s", "d"]);
    any_order(match c.between(0, 7) {
        0 => format!("select {one} as x, {two} as y, count(*) from {table} where {range}"),
        1 => format!("select {key} as k, {one} as x, {two} as y from {table} group by {key}"),
        2 => format!(
            "select time_bucket('{width}', ts) as t, {key} as k, {one} as x, sum(n) as y from {table} group by 1, 2"
        ),
        3 => filled(&format!("{one} as x, count(*) as y"), width, range, table, ""),
        4 => filled(
            &format!("{key} as k, locf({one}) as x, interpolate(avg(f)) as y, max(n) as z"),
            width,
            range,
            table,
            &format!(", {key}"),
        ),
        5 => format!(
            "select count(*), count(x) from ({}) q where t < '2026-01-03'",
            filled("locf(min(n)) as x", width, range, table, "")
        ),
        6 => format!(
            "select v.value, count(x.id), sum(x.n) from generate_series(-3, 9, 2) v left join {table} x on x.n = v.value group by v.value"
        ),
        _ => format!(
            "select u, count(*), min(id) from (select id, unnest(json_array_elements(concat('[', n, ', ', g, ']'))) as u from {table}) q group by u"
        ),
    })
}

fn filled(results: &str, width: &str, range: &str, table: &str, groups: &str) -> String {
    let bucket = format!("time_bucket_gapfill('{width}', ts)");
    format!("select {bucket} as t, {results} from {table} where {range} group by {bucket}{groups}")
}

/// Every aggregate once over all rows and once over groups, and every range once.
pub(super) fn all() -> Vec<Question> {
    let whole = AGGREGATES.iter().map(|one| format!("select {one} as x from half"));
    let groups = AGGREGATES.iter().map(|one| format!("select g, {one} as x from half group by g"));
    let ranges =
        RANGES.iter().map(|range| filled("count(*) as x", "3 hours", range, "half", ", g"));
    whole.chain(groups).chain(ranges).map(any_order).collect()
}
