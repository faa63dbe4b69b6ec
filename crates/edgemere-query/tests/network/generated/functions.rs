//! Functions and operators in filters, groups, orders and results: all of them have to cross the wire.

use super::more::{any_order, table};
use super::scene::Question;
use crate::sql_model::chance::Chance;

/// Values of a row.
const VALUES: &[&str] = &[
    "regexp_replace(s, '[ab]', 'z')",
    "split_part(s, '_', 1)",
    "strpos(s, 'b')",
    "initcap(s)",
    "concat_ws('-', s, \"order\")",
    "left(s, 2)",
    "right(s, 1)",
    "lpad(s, 6, '*')",
    "reverse(s)",
    "ascii(s)",
    "greatest(n, g)",
    "least(n, day)",
    "n % 4",
    "n & 3",
    "n | g",
    "abs(n)",
    "signum(f)",
    "floor(f)",
    "ceil(f)",
    "round(f, 1)",
    "trunc(f)",
    "power(g, 2)",
    "sqrt(abs(f))",
    "ln(abs(f) + 1)",
    "date_trunc('hour', ts)",
    "date_part('hour', ts)",
    "extract(day from d)",
    "date_bin(interval '6 hours', ts)",
    "to_char(ts, '%Y/%m/%d')",
    "ts + interval '1 month'",
    "ts - 1 day",
    "ts::date",
    "d + interval '3 days'",
    "cast(n as smallint)",
    "cast(f as decimal(10, 3))",
    "try_cast(s as int)",
    "n::varchar",
    "ts::varchar",
    "b::int",
    "arrow_cast(s, 'Dictionary(Int32, Utf8)')",
    "arrow_typeof(s)",
    "make_array(n, g)",
    "array_length(make_array(n, g, id))",
    "array_to_string(make_array(n, g), ',')",
    "named_struct('n', n, 's', s)['s']",
    "coalesce(s, \"order\", 'none')",
    "nvl(n, 0)",
    "encode(s, 'hex')",
    "to_timestamp('2026-01-02') - ts",
    "case b when true then s else late_s end",
    "n::float(1)",
    "f::float(%2)",
    "f::format(':08.3f')",
    "s::ljust(4)",
    "s::rjust(4)",
    "s::rstrip",
    "s::replace(a by b)",
    "ts::datetime('%d-%b')",
    "ts::timezone('Europe/Rome')",
    "ts::timezone(pt)::datetime('%H:%M')",
    "ts::timediff('2026-01-02 00:00:00')",
    "concat('{\"a\": [', n, ', ', g, '], \"s\": \"', s, '\"}') -> 'a' ->> -1",
    "concat('{\"s\": \"', s, '\"}') ->> 's'",
    "json_get_int(concat('[', n, ']'), 0)",
    "json_get_float(concat('[', f, ']'), 0)",
    "json_array_length(concat('[', n, ', ', g, ']'))",
    "json_extract(concat('{\"a\": [', n, ', ', g, ']}'), '$.a[1]')",
    "json_contains(concat('{\"', s, '\": 1}'), \"order\")",
    "array_to_string(json_keys(concat('{\"', s, '\": 1, \"b\": 2}')), ',')",
    "array_to_string(json_array_elements_text(concat('[', n, ', ', g, ']')), ',')",
    "time_bucket('6 hours', ts)",
    "time_bucket('1 month', d)",
    "time_bucket('1 day', ts, 'America/New_York')",
    "time_bucket('5 hours', ts, timestamp '2026-01-01 01:00:00')",
];

/// Conditions on a row.
const TESTS: &[&str] = &[
    "s ~ '^a'",
    "s !~* 'B$'",
    "s ilike 'A%'",
    "s like 'x\\_%' escape '\\'",
    "s similar to 'a%|b'",
    "starts_with(s, 'a')",
    "regexp_like(s, '[xyz]')",
    "n in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)",
    "ts > '2026-01-02'",
    "ts between '2026-01-01 06:00:00' and '2026-01-02 18:00:00'",
    "d = '2026-01-15'",
    "d > date '2026-02-01'",
    "date_part('hour', ts) < 12",
    "b is unknown",
    "n::varchar = '3'",
    "f in (0.5, 1.0, null)",
    "array_has(make_array(n, g), 2)",
    "s = any(make_array('a', 'b'))",
    "(n, g) = (3, 1)",
    "ts < now() - 1 day",
    "n / 2 = 3",
    "s || 'x' = 'ax'",
    "late_n is null and late_s is not null",
    "abs(f) > 5.5",
    "time_bucket('1 day', ts) = '2026-01-02'",
    "concat('{\"n\": ', n, '}') ->> 'n' = '3'",
];

/// A question with some of them.
pub(super) fn question(c: &mut Chance) -> Question {
    let (one, two, test) = (c.pick(VALUES), c.pick(VALUES), c.pick(TESTS));
    let table = table(c);
    any_order(match c.between(0, 4) {
        0 => format!("select count(*), count({one}) from {table} where {test}"),
        1 => format!("select {one} as x, count(*) from {table} group by {one}"),
        2 => format!("select min({one}) as x, max({two}) as y from {table} where not ({test})"),
        3 => format!(
            "select {one} as x, id from {table} where {test} or n > 3 order by {two}, id limit 9"
        ),
        _ => format!("select id, {one} as x, {two} as y from {table} where {test}"),
    })
}

/// All of them, each as a result, in an aggregate and as a condition.
pub(super) fn all() -> Vec<Question> {
    let values = VALUES.iter().map(|value| format!("select id, {value} as x from half"));
    let tests = TESTS.iter().map(|test| format!("select id, {test} as x from half where {test}"));
    let ends =
        VALUES.iter().map(|value| format!("select min({value}), max({value}) as y from half"));
    values.chain(ends).chain(tests).map(any_order).collect()
}
