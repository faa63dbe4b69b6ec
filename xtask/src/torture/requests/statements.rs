//! Statements that are short to send and large to carry out, each through every door that takes SQL.

use serde_json::json;

use super::{Attack, Door, Places, QUERY_TIME};
use crate::torture::{ask::DBMS, wire::request};

/// Statements, each with the name that a report uses.
pub(super) fn statements() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = FIXED
        .iter()
        .map(|(name, statement)| ((*name).to_owned(), (*statement).to_owned()))
        .collect();
    let mut add = |name: &str, statement: String| all.push((name.to_owned(), statement));
    let grown = (0..9)
        .fold("'aaaaaaaaaa'".to_owned(), |inner, _| format!("replace({inner}, 'a', 'aaaaaaaaaa')"));
    add("replace nested", format!("select length({grown}) from w0"));
    let grown = (0..9).fold("s".to_owned(), |inner, _| {
        format!("regexp_replace({inner}, '.', '0123456789', 'g')")
    });
    add("regexp_replace nested", format!("select length({grown}) from w0"));
    let doubled = (0..15).fold("s".to_owned(), |inner, _| format!("concat({inner}, {inner})"));
    add("concat doubled", format!("select length({doubled}) from w0"));
    let joined =
        (0..9).fold("s".to_owned(), |inner, _| format!("concat_ws({inner}, {inner}, {inner})"));
    add("concat_ws tripled", format!("select length({joined}) from w0"));
    for columns in [18, 22, 30] {
        let of = many(columns, &|index| format!("v + {index}"), ", ");
        add(&format!("cube of {columns}"), format!("select count(*) from w0 group by cube({of})"));
    }
    all.extend(long());
    all
}

/// So many pieces of a text, with something between them.
fn many(count: usize, piece: &dyn Fn(usize) -> String, between: &str) -> String {
    (0..count).map(piece).collect::<Vec<_>>().join(between)
}

/// Statements that have much of one thing.
#[allow(clippy::too_many_lines, reason = "a list, which is read line by line")]
fn long() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut add = |name: &str, statement: String| all.push((name.to_owned(), statement));
    let of = many(2000, &|index| format!("v + {index}"), ", ");
    add("rollup of 2000", format!("select count(*) from w0 group by rollup({of})"));
    let sets = many(12, &|index| format!("grouping sets((v + {index}), (id), (batch), ())"), ", ");
    add("grouping sets multiplied", format!("select count(*) from w0 group by {sets}"));
    let doubled = many(
        40,
        &|index| {
            format!("c{} as (select * from c{index} union all select * from c{index})", index + 1)
        },
        ", ",
    );
    add(
        "CTEs that double",
        format!("with c0 as (select id from w0), {doubled} select count(*) from c40"),
    );
    let doubled = many(
        24,
        &|index| format!("c{} as (select a.id from c{index} a, c{index} b)", index + 1),
        ", ",
    );
    add(
        "CTEs that multiply",
        format!("with c0 as (select id from w0), {doubled} select count(*) from c24"),
    );
    add("a million columns", format!("select {} from w0", many(1_000_000, &|_| "1".into(), ",")));
    add(
        "100,000 columns",
        format!("select {} from w0", many(100_000, &|index| format!("v+{index}"), ",")),
    );
    add(
        "a list of 200,000",
        format!(
            "select count(*) from w0 where id in ({})",
            many(200_000, &|index| index.to_string(), ",")
        ),
    );
    add("50,000 parentheses", format!("select {}1{}", "(".repeat(50_000), ")".repeat(50_000)));
    add("100,000 NOT", format!("select count(*) from w0 where {} true", "not ".repeat(100_000)));
    add(
        "200,000 AND",
        format!("select count(*) from w0 where {}", many(200_000, &|_| "true".into(), " and ")),
    );
    add("5,000 unions", many(5_000, &|index| format!("select {index}"), " union all "));
    let nested =
        (0..800).fold("select 1 as x".to_owned(), |inner, _| format!("select x from ({inner}) a"));
    add("800 subqueries", nested);
    let nested = (0..400)
        .fold("1".to_owned(), |inner, _| format!("case when id > 0 then {inner} else 2 end"));
    add("400 CASE", format!("select {nested} from w0"));
    let tables = many(14, &|index| format!("w0 t{index}"), ", ");
    add("14 tables multiplied", format!("select count(*) from {tables}"));
    let joins = many(60, &|index| format!("join w0 t{index} on a.id = t{index}.id"), " ");
    add("60 joins", format!("select count(*) from w0 a {joins}"));
    add("a long name", format!("select {} from w0", "x".repeat(1 << 20)));
    add("a long text", format!("select length('{}')", "x".repeat(3 << 20)));
    add("a long number", format!("select {}", "9".repeat(100_000)));
    add("a long decimal", format!("select 1.5 > decimal '{}'", "9".repeat(3 << 20)));
    let lists = format!("{}Int8{}", "List(".repeat(100_000), ")".repeat(100_000));
    add("a deep type", format!("select arrow_cast(null, '{lists}')"));
    add(
        "windows",
        format!(
            "select {} from w0",
            many(500, &|index| format!("sum(v) over (order by id rows {index} preceding)"), ",")
        ),
    );
    all
}

const FIXED: &[(&str, &str)] = &[
    ("lpad to 2^31", "select length(lpad(arrow_cast(s, 'LargeUtf8'), 2147483647)) from w0"),
    ("lpad to 2^63", "select lpad(s, 9223372036854775807) from w0"),
    ("ten million digits", "select cast(lpad('9', 10000000, '9') as decimal(38, 10))"),
    ("digits of a column", "select try_cast(lpad(s, 1000000, '9') as decimal(76, 10)) from w0"),
    (
        "lpad four times",
        "select lpad(s,260000), lpad(s,260001), lpad(s,260002), lpad(s,260003) from w0",
    ),
    ("lpad in sums", "select sum(length(lpad(s,2600000))) + sum(length(lpad(s,2600001))) from w0"),
    ("rpad to 2^31", "select length(rpad(arrow_cast(s, 'LargeUtf8'), 2147483647)) from w0"),
    ("rpad of a constant", "select rpad('x', 2000000000)"),
    ("lpad of lpad", "select length(lpad(lpad(s, 1000000), 100000000)) from w0"),
    ("lpad in a filter", "select count(*) from w0 where lpad(s, 50000000) > 'a'"),
    (
        "lpad in a join",
        "select count(*) from w0 a join w0 b on lpad(a.s, 9000000) = lpad(b.s, 9000000)",
    ),
    ("lpad in an order", "select id from w0 order by lpad(s, 20000000)"),
    ("lpad in a group", "select count(*) from w0 group by lpad(s, 20000000)"),
    ("lpad aggregated", "select max(lpad(s, 100000000)) from w0"),
    ("repeat", "select repeat(s, 100000000) from w0"),
    (
        "replace",
        "select length(replace(lpad('a', 1000000, 'a'), 'a', lpad('b', 100000, 'b'))) from w0",
    ),
    ("translate", "select length(translate(lpad(s, 100000000), 'a', 'bb')) from w0"),
    ("levenshtein", "select sum(levenshtein(lpad(s,16000,'a'), lpad(s,16000,'b'))) from w0"),
    ("levenshtein of a constant", "select levenshtein(lpad('a',60000,'a'), lpad('b',60000,'b'))"),
    ("a costly regex", "select count(*) from w0 where regexp_like(lpad(s,100000,'a'), '(a|aa)+$')"),
    ("a large regex", "select count(*) from w0 where s ~ '((((a{1,100}){1,100}){1,100}){1,100})'"),
    (
        "a costly LIKE",
        "select count(*) from w0 where lpad(s,200000,s) like '%t__________________________Z'",
    ),
    (
        "a costly NOT ILIKE",
        "select id from w0 where lpad(s,200000,s) not ilike '%t_______________________Z'",
    ),
    ("a costly ~", "select lpad(s,200000,s) ~ '(t|e)*t.{900}Z' as m, count(*) from w0 group by m"),
    ("a costly SIMILAR TO", "select max(lpad(s,200000,s) similar to '(t|e)*t.{900}Z') from w0"),
    (
        "a costly regexp_count",
        "select sum(regexp_count(lpad(s,60000,'A'), '.*[^A-Z]|[A-Z]')) from w0",
    ),
    (
        "an endless recursion",
        "with recursive r as (select 1 as n union all select n + 1 from r) select count(*) from r",
    ),
    (
        "a recursion that doubles",
        "with recursive r as (select 1 as n union all select r.n from r, (values (1),(2)) x) select count(*) from r",
    ),
    (
        "a recursion of text",
        "with recursive r as (select 'x' as t union all select concat(t, t) from r) select max(length(t)) from r",
    ),
    ("cross join", "select count(*) from w0 a, w0 b, w0 c, w0 d, w0 e"),
    ("cross join in order", "select a.s from w0 a, w0 b, w0 c order by concat(a.s, b.s, c.s)"),
    ("string_agg", "select length(string_agg(a.s, ',')) from w0 a, w0 b, w0 c"),
    ("array_agg", "select cardinality(array_agg(a.s)) from w0 a, w0 b, w0 c"),
    ("count distinct", "select count(distinct concat(a.s, b.s, c.s)) from w0 a, w0 b, w0 c"),
    ("array_resize", "select array_resize(make_array(1), 4611686018427387904, 0)"),
    ("array_repeat", "select array_repeat(array_repeat(1, 100000), 100000)"),
    ("range", "select count(*) from unnest(range(0, 9223372036854775807))"),
    ("generate_series", "select * from generate_series(1, 9223372036854775807)"),
    (
        "array_concat",
        "select cardinality(array_concat(array_agg(a.id), array_agg(b.id))) from w0 a, w0 b, w0 c",
    ),
    ("a limit beyond all", "select id from w0 limit 18446744073709551615"),
    ("an offset beyond all", "select id from w0 offset 18446744073709551615"),
    ("a division by zero", "select id / 0 from w0"),
    ("a modulo by zero", "select id % 0 from w0"),
    ("an overflow", "select id * 9223372036854775807 * 9223372036854775807 from w0"),
    ("the least number", "select abs(-9223372036854775808), -9223372036854775808 / -1"),
    ("power", "select power(1e308, 1e308), exp(1e308), factorial(10000)"),
    (
        "a decimal",
        "select arrow_cast(1, 'Decimal256(76, 76)') * arrow_cast(9, 'Decimal256(76, 0)')",
    ),
    ("an interval", "select timestamp + interval '9223372036854775807 years' from w0"),
    ("a time far away", "select to_timestamp(9223372036854775807), to_timestamp('262143-12-31')"),
    ("a bin of nothing", "select date_bin(interval '0 seconds', timestamp) from w0"),
    ("a bin of months", "select date_bin(interval '1 month', timestamp, timestamp) from w0"),
    ("increments of nothing", "select increments(second, 0, timestamp), count(*) from w0"),
    (
        "increments without end",
        "select increments(second, 9223372036854775807, timestamp), count(*) from w0",
    ),
    ("period", "select period(day, 9223372036854775807, now(), timestamp), count(*) from w0"),
    ("substr", "select substr(s, -9223372036854775808, 9223372036854775807) from w0"),
    ("split_part", "select split_part(s, '', -9223372036854775808) from w0"),
    ("chr", "select chr(-1), chr(1114112), chr(55296)"),
    ("nothing selected", "select from w0"),
    ("two statements", "select 1; drop table w0"),
    ("a write", "insert into w0 select * from w0"),
    ("a copy", "copy w0 to '/tmp/torture-copy.csv'"),
    ("a file", "select * from '/etc/passwd'"),
    ("settings", "set datafusion.execution.batch_size = 1"),
    ("explain analyze", "explain analyze select count(*) from w0 a, w0 b, w0 c, w0 d"),
    ("an unknown table", "select * from no_such_table"),
    ("nulls", "select \u{0}"),
    ("a comment without end", "select 1 /* and more"),
    ("a text without end", "select 'and more"),
    ("a file's name", "select input_file_name() from w0"),
    ("a cast", "select cast(lpad('9', 1000000, '9') as decimal(38, 10))"),
    ("json", "select '{}'::json, '[1]'::jsonb"),
    (
        "a window of all",
        "select sum(v) over (order by s rows between unbounded preceding and unbounded following) from w0 a",
    ),
    ("lag", "select lag(s, -9223372036854775808) over (order by id) from w0"),
    ("ntile", "select ntile(0) over (order by id), nth_value(s, 0) over (order by id) from w0"),
    ("percentile", "select approx_percentile_cont(v, 7) from w0"),
    ("unnest", "select unnest(array_agg(a.s)) from w0 a, w0 b, w0 c"),
    ("to_hex", "select to_hex(-1), to_char(timestamp, lpad('%', 1000000, '%Y')) from w0"),
    (
        "overlay",
        "select length(overlay(lpad(s, 1000000) placing lpad(s, 100000000) from 1 for 0)) from w0",
    ),
    ("md5", "select md5(lpad(s, 100000000)), sha512(lpad(s, 100000000)) from w0"),
    ("reverse", "select length(reverse(lpad(s, 200000000))) from w0"),
    ("upper", "select length(upper(lpad(s, 200000000, 'ß'))) from w0"),
];

pub(super) fn attacks(places: &Places) -> Vec<Attack> {
    let statements = statements();
    let attacks = statements.iter().flat_map(|(name, statement)| doors(name, statement, places));
    attacks.map(Attack::timed).collect()
}

/// A statement through each door that takes SQL.
fn doors(name: &str, statement: &str, places: &Places) -> Vec<Attack> {
    let json = [("content-type", "application/json")];
    let post = |door: Door, path: &str, headers: &[(&str, &str)], body: serde_json::Value| {
        let host = places.of(door).to_string();
        request(&format!("POST {path}"), &host, headers, body.to_string().as_bytes())
    };
    let call = |tool: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": { "database": DBMS, "sql": statement } } })
    };
    let agent = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let command = format!("sql {DBMS} {statement}");
    let network = json!({
        "command": command, "destination": "network", "rows": 10, "timeout_s": QUERY_TIME.as_secs(),
    });
    let api = json!({ "dbms": DBMS, "sql": statement, "max_time": QUERY_TIME.as_secs() });
    vec![
        Attack::new(
            format!("{name}, over REST"),
            Door::Operator,
            post(Door::Operator, "/", &json, json!({ "command": command })),
        ),
        Attack::new(
            format!("{name}, of the network"),
            Door::Query,
            post(Door::Query, "/api/v1/answers", &json, network),
        ),
        Attack::new(
            format!("{name}, over /api/v1/sql"),
            Door::Operator,
            post(Door::Operator, "/api/v1/sql", &json, api.clone()),
        ),
        Attack::new(
            format!("{name}, as a job"),
            Door::Operator,
            post(Door::Operator, "/api/v1/jobs", &json, api),
        ),
        Attack::new(
            format!("{name}, by an agent"),
            Door::Query,
            post(Door::Query, "/mcp", &agent, call("sql")),
        ),
        Attack::new(
            format!("{name}, explained to an agent"),
            Door::Query,
            post(Door::Query, "/mcp", &agent, call("explain")),
        ),
    ]
}
