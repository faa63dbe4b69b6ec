//! EdgeLake's functions of time on generated rows, against a model of them that is written here from
//! what they mean: a calendar (jiff) and loops over the rows, no SQL.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::indexing_slicing, reason = "a test that cannot go on should stop")]
#![allow(clippy::panic, reason = "a test that cannot go on should stop")]
#![allow(dead_code, reason = "the model has more than is used here")]

mod sql_model;

use std::collections::BTreeMap;

use edgemere_query::Engine;
use edgemere_query::sql::{Limits, Times};
use edgemere_storage::decode::Input;
use edgemere_storage::storage;
use jiff::civil::{DateTime, date};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan, Unit};
use serde_json::{Value, json};
use sql_model::chance::Chance;
use tokio::runtime::Runtime;

/// The units of `increments` and `period`.
const UNITS: [&str; 8] = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];

/// How many of them a span has.
const COUNTS: [i64; 7] = [1, 2, 3, 5, 6, 12, 45];

/// A row: the time may be null.
#[derive(Clone, Debug)]
struct Row {
    id: i64,
    time: Option<DateTime>,
    device: &'static str,
}

/// An engine with the rows in it, some of them settled.
struct Scene {
    runtime: Runtime,
    engine: Engine,
    rows: Vec<Row>,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new(rows: Vec<Row>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let runtime = Runtime::new().unwrap();
        let options = storage::Options { background: false, ..storage::Options::default() };
        let (engine, _) = Engine::open_with(folder.path(), options, Limits::default()).unwrap();
        runtime.block_on(async {
            for half in rows.chunks(rows.len().div_ceil(2)) {
                engine.storage().flush_all().await.unwrap();
                let bytes = serde_json::to_vec(&half.iter().map(object).collect::<Vec<_>>());
                let put = engine.put("d", "t", Input::Json, &bytes.unwrap()).await.unwrap();
                assert_eq!(put.stored, half.len(), "{:?}", put.rejected);
            }
        });
        Self { runtime, engine, rows, _folder: folder }
    }

    /// The rows of an answer.
    fn ask(&self, sql: &str) -> Vec<Vec<Value>> {
        self.runtime.block_on(async {
            let query = self.engine.sql().query("d", sql, None).await;
            let mut query = query.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            let mut rows = Vec::new();
            while let Some(batch) = query.next().await {
                let lines = batch.unwrap().json_lists(Times::Plain).unwrap();
                rows.extend(lines.lines().map(|line| serde_json::from_str(line).unwrap()));
            }
            rows
        })
    }

    /// The only value of an answer.
    fn one(&self, sql: &str) -> Value {
        let rows = self.ask(sql);
        assert_eq!((rows.len(), rows[0].len()), (1, 1), "{sql}: {rows:?}");
        rows[0][0].clone()
    }

    /// The numbers of an answer with one column, sorted.
    fn ids(&self, sql: &str) -> Vec<i64> {
        let mut ids: Vec<_> = self.ask(sql).iter().map(|row| row[0].as_i64().unwrap()).collect();
        ids.sort_unstable();
        ids
    }
}

fn object(row: &Row) -> Value {
    // Two columns have the names of words of SQL, one of them that of a unit.
    let time = row.time.map(shown);
    json!({"id": row.id, "timestamp": time, "day": time, "device": row.device})
}

fn shown(time: DateTime) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string()
}

/// Rows over five years, half of them close to each other, some at the very edges of spans.
fn rows() -> Vec<Row> {
    let mut chance = Chance::new(7);
    let edges = [
        date(2024, 2, 29).at(23, 59, 59, 999_999_000),
        date(2024, 3, 1).at(0, 0, 0, 0),
        date(2026, 1, 1).at(0, 0, 0, 0),
        date(2025, 12, 31).at(23, 59, 59, 0),
        date(2026, 1, 5).at(0, 0, 0, 0),
        date(1969, 12, 31).at(23, 0, 0, 0),
    ];
    let mut rows = Vec::new();
    for id in 0..400 {
        let time = match id % 10 {
            0 => None,
            1 => Some(edges[(id as usize / 10) % edges.len()]),
            2..=5 => Some(date(2025, 6, 3).at(11, 0, 0, 0) + chance.between(0, 50_000).seconds()),
            _ => Some(date(2022, 1, 1).at(0, 0, 0, 0) + chance.between(0, 150_000_000).seconds()),
        };
        rows.push(Row { id, time, device: chance.pick(&["a", "b", "it's"]) });
    }
    rows
}

/// So much time, as the calendar counts it.
fn span(unit: &str, count: i64) -> Span {
    match unit {
        "second" => count.seconds(),
        "minute" => count.minutes(),
        "hour" => count.hours(),
        "day" => count.days(),
        "week" => count.weeks(),
        "month" => count.months(),
        "quarter" => (3 * count).months(),
        _ => count.years(),
    }
}

/// The beginning of the span that a time is in: a whole number of spans after a Monday, or after the
/// year 0 when it is counted in months.
fn begin(time: DateTime, unit: &str, count: i64) -> DateTime {
    let months = match unit {
        "month" => count,
        "quarter" => 3 * count,
        "year" => 12 * count,
        _ => {
            let monday = date(1970, 1, 5).at(0, 0, 0, 0);
            let length = span(unit, count).total((Unit::Second, monday)).unwrap() as i64;
            let after = (time - monday).total((Unit::Microsecond, monday)).unwrap() as i64;
            let spans = after.div_euclid(length * 1_000_000);
            return monday + (spans * length).seconds();
        }
    };
    let month = i64::from(time.year()) * 12 + i64::from(time.month()) - 1;
    let first = month - month.rem_euclid(months);
    date((first / 12) as i16, (first % 12 + 1) as i8, 1).at(0, 0, 0, 0)
}

/// The groups that `increments` makes: the beginning, then how many rows and which is the first.
/// Rows without a time are in the last.
fn groups(rows: &[Row], unit: &str, count: i64, device: Option<&str>) -> Vec<Vec<Value>> {
    let mut groups: BTreeMap<(bool, Option<DateTime>), (i64, i64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| device.is_none_or(|device| row.device == device)) {
        let begin = row.time.map(|time| begin(time, unit, count));
        let group = groups.entry((begin.is_none(), begin)).or_insert((0, i64::MAX));
        *group = (group.0 + 1, group.1.min(row.id));
    }
    let shown = |((_, begin), (count, first)): ((bool, Option<DateTime>), (i64, i64))| {
        vec![json!(begin.map(shown)), json!(count), json!(first)]
    };
    groups.into_iter().map(shown).collect()
}

#[test]
fn increments_make_the_groups_of_the_calendar() {
    let scene = Scene::new(rows());
    for unit in UNITS {
        for count in COUNTS {
            let expected = groups(&scene.rows, unit, count, None);
            let call = format!("increments({unit}, {count}, timestamp)");
            let named = format!("select {call} as begin, count(*), min(id) from t");
            assert_eq!(scene.ask(&named), expected, "{named}");
            // Without a name the beginning is not shown, and orders the rows all the same.
            let hidden = format!("select {call}, count(*), min(id) from t");
            let shown: Vec<_> = expected.iter().map(|row| row[1..].to_vec()).collect();
            assert_eq!(scene.ask(&hidden), shown, "{hidden}");
        }
    }
}

#[test]
fn increments_work_with_conditions_and_inside_of_queries() {
    let scene = Scene::new(rows());
    for (unit, count) in [("hour", 6), ("day", 1), ("month", 1), ("week", 2)] {
        let expected = groups(&scene.rows, unit, count, Some("it's"));
        let call = format!("increments('{unit}s', {count}, timestamp)");
        let inner = format!(
            "select {call} as begin, count(*) as k, min(id) as first from t where device = 'it''s'"
        );
        assert_eq!(scene.ask(&inner), expected, "{inner}");
        let in_from = format!("select * from ({inner}) q order by begin nulls last");
        assert_eq!(scene.ask(&in_from), expected, "{in_from}");
        let in_with = format!("with q as ({inner}) select sum(k), count(*) from q");
        let total: i64 = expected.iter().map(|row| row[1].as_i64().unwrap()).sum();
        assert_eq!(scene.ask(&in_with), [[json!(total), json!(expected.len())]], "{in_with}");
        let union = format!("select count(*) from ({inner} union all {inner}) q");
        assert_eq!(scene.one(&union), json!(2 * expected.len()), "{union}");
        let limited = format!("{inner} order by 1 desc nulls last limit 3");
        let mut newest: Vec<_> = expected.iter().filter(|row| !row[0].is_null()).collect();
        newest.reverse();
        newest.truncate(3);
        assert_eq!(scene.ask(&limited), newest.into_iter().cloned().collect::<Vec<_>>());
    }
}

/// The rows of the last span up to an end, of those that fit.
fn period(rows: &[Row], span: Span, end: DateTime, fits: impl Fn(&Row) -> bool) -> Vec<i64> {
    let of = |row: &&Row| row.time.is_some_and(|time| time <= end) && fits(row);
    let Some(last) = rows.iter().filter(of).filter_map(|row| row.time).max() else {
        return Vec::new();
    };
    let first = last.checked_sub(span).unwrap();
    let is_in = |row: &&Row| row.time.is_some_and(|time| first < time && time <= last) && fits(row);
    rows.iter().filter(is_in).map(|row| row.id).collect()
}

/// Ends after, between and before all rows.
fn ends() -> [DateTime; 5] {
    [
        date(2099, 1, 1).at(0, 0, 0, 0),
        date(2026, 1, 1).at(0, 0, 0, 0),
        date(2025, 6, 3).at(12, 34, 56, 0),
        date(2024, 2, 29).at(23, 59, 59, 999_999_000),
        date(1900, 1, 1).at(0, 0, 0, 0),
    ]
}

#[test]
fn period_is_the_last_span_with_rows() {
    let scene = Scene::new(rows());
    for unit in UNITS {
        for (count, end) in ends().into_iter().zip([1, 3, 20, 7, 2]).map(|(end, n)| (n, end)) {
            let arguments = format!("{unit}, {count}, '{}', timestamp", shown(end));
            let all = format!("select id from t where period({arguments})");
            let length = span(unit, count);
            assert_eq!(scene.ids(&all), period(&scene.rows, length, end, |_| true), "{all}");
            let of_device = format!("select id from t where period({arguments}, and device = 'b')");
            let expected = period(&scene.rows, length, end, |row| row.device == "b");
            assert_eq!(scene.ids(&of_device), expected, "{of_device}");
            let beside =
                format!("select id from t where id % 2 = 0 and period({arguments}) and id > 10");
            let mut expected = period(&scene.rows, length, end, |_| true);
            expected.retain(|id| id % 2 == 0 && *id > 10);
            assert_eq!(scene.ids(&beside), expected, "{beside}");
        }
    }
}

#[test]
fn period_is_of_the_tables_of_its_own_query() {
    let scene = Scene::new(rows());
    let end = date(2025, 6, 3).at(12, 34, 56, 0);
    let call = format!("period(hour, 2, '{}', timestamp)", shown(end));
    let expected = period(&scene.rows, 2.hours(), end, |_| true);
    assert!(!expected.is_empty());
    let count = json!(expected.len());
    for sql in [
        format!("with q as (select * from t where {call}) select count(*) from q"),
        format!("select count(*) from (select * from t where {call}) q"),
        format!(
            "select max(k) from (select count(*) as k from t where {call} union all select 0 as k) q"
        ),
        format!("select count(*) from t x where x.id in (select id from t where {call})"),
        format!("select (select count(*) from t where {call})"),
        format!("select count(*) from t as x where {}", call.replace("timestamp)", "x.timestamp)")),
    ] {
        assert_eq!(scene.one(&sql), count, "{sql}");
    }
    // The query inside has rows of its own: not those of the query around it.
    let other = format!(
        "with few as (select id, timestamp from t where id = {}) \
         select count(*) from t where exists (select 1 from few where {call})",
        expected[0]
    );
    assert_eq!(scene.one(&other), json!(scene.rows.len()), "{other}");
}

#[test]
fn spans_before_now_are_counted_from_now() {
    let now = Timestamp::now().to_zoned(TimeZone::UTC).datetime();
    // The unit, its letter, how many, and by how much the rows miss it.
    let spans = [
        ("second", "s", 500, 100.seconds()),
        ("minute", "t", 90, 10.minutes()),
        ("hour", "h", 30, 2.hours()),
        ("day", "d", 3, 2.hours()),
        ("week", "w", 2, 2.hours()),
        ("month", "m", 5, 2.hours()),
        ("year", "y", 2, 2.hours()),
    ];
    for (unit, letter, count, margin) in spans {
        let first = now.checked_sub(span(unit, count)).unwrap();
        let times = [first - margin, first + margin, now - 1.second()];
        let rows =
            times.into_iter().zip(0..).map(|(time, id)| Row { id, time: Some(time), device: "a" });
        let scene = Scene::new(rows.collect());
        for sql in [
            format!("timestamp > now() - {count} {unit}"),
            format!("timestamp > now() - {count} {unit}s"),
            format!("timestamp > NOW()-{count}{letter}"),
            format!("timestamp > -{count}{letter}"),
            format!("timestamp >= -{count}{letter} and timestamp <= now()"),
            format!("timestamp between -{count}{letter} and now()"),
            format!("timestamp + {count} {unit} > now()"),
            format!("now() - {count} {unit} < timestamp"),
            format!("(timestamp) > (now() - {count} {unit})"),
        ] {
            let ids = scene.ids(&format!("select id from t where {sql}"));
            // A month forward and a month back are not always the same day.
            let is_exact = !sql.starts_with("timestamp +") || !["month", "year"].contains(&unit);
            assert!(!is_exact || ids == [1, 2], "{sql}: {ids:?}, now {now}");
        }
    }
}

#[test]
fn a_span_follows_whatever_a_value_can_end_with() {
    let time = date(2026, 3, 31).at(12, 0, 0, 0);
    let scene = Scene::new(vec![Row { id: 5, time: Some(time), device: "a" }]);
    let day_before = json!(shown(date(2026, 3, 30).at(12, 0, 0, 0)));
    for value in [
        "timestamp",
        "t.timestamp",
        "\"timestamp\"",
        "day",
        "max(timestamp)",
        "(timestamp)",
        "case when true then timestamp end",
        "coalesce(timestamp, day)",
        "(select max(day) from t)",
    ] {
        let sql = format!("select {value} - 1 day from t");
        assert_eq!(scene.one(&sql), day_before, "{sql}");
    }
    let month_before = json!(shown(date(2026, 2, 28).at(12, 0, 0, 0)));
    assert_eq!(scene.one("select timestamp - 1 month from t"), month_before);
    let later = json!(shown(date(2026, 4, 1).at(12, 0, 0, 0)));
    assert_eq!(scene.one("select timestamp + 1 day from t"), later);
    assert_eq!(scene.one("select timestamp - 1 day + 2 days from t"), later);
    // Numbers stay numbers, and a column named as a unit stays a column.
    assert_eq!(scene.one("select id - 1 from t"), json!(4));
    assert_eq!(scene.one("select id - 1 as day from t"), json!(4));
    assert_eq!(scene.one("select count(*) from t where day > '2026-03-31 11:00:00'"), json!(1));
    assert_eq!(scene.one("select day from t"), json!(shown(time)));
}

#[test]
fn casts_change_how_values_look() {
    let time = date(2026, 3, 31).at(12, 5, 7, 250_000_000);
    let scene = Scene::new(vec![Row { id: 1_234_567, time: Some(time), device: "it's" }]);
    for (sql, expected) in [
        ("(id / 1000.0)::float(2)", json!(1234.57)),
        ("(id / 1000.0)::int", json!(1234)),
        ("id::str", json!("1234567")),
        ("device::ljust(6)", json!("it's  ")),
        ("device::rjust(6)", json!("  it's")),
        ("device::ljust(2)", json!("it")),
        ("id::format(':,')", json!("1,234,567")),
        ("timestamp::datetime('%Y-%m-%d')", json!("2026-03-31")),
        ("timestamp::ljust(19)", json!("2026-03-31T12:05:07")),
        ("max(id)::float(1)", json!(1_234_567.0)),
    ] {
        let sql = format!("select {sql} from t");
        assert_eq!(scene.one(&sql), expected, "{sql}");
    }
    let rows = (0..12).map(|id| Row { id, time: None, device: "a" }).collect();
    let scene = Scene::new(rows);
    // What a result is ordered by is the value, whatever it looks like and is called.
    let expected: Vec<_> = (0..12).map(|id| vec![json!(id.to_string())]).collect();
    for sql in [
        "select id::str as text from t order by id",
        "select id::str from t order by id",
        "select cast(id as varchar) from t order by id + 1",
        "select id::int::str from t as x order by x.id",
        "select id::str from (select id from t) q order by id",
        "select id::str from t group by id order by id",
    ] {
        assert_eq!(scene.ask(sql), expected, "{sql}");
    }
    let distinct = scene.ask("select distinct id::str from t order by id limit 3");
    assert_eq!(distinct, [[json!("0")], [json!("1")], [json!("10")]]);
    // A name that was given is the name of what it was given to.
    let by_text = scene.ask("select id::str as text from t order by text limit 3");
    assert_eq!(by_text, [[json!("0")], [json!("1")], [json!("10")]]);
}

/// However far two times are apart, and wherever they come from.
#[test]
fn the_seconds_between_times_have_fractions() {
    let times = [
        (Some(date(2026, 1, 1).at(0, 0, 10, 250_000_000)), json!(10.25)),
        (Some(date(2025, 12, 31).at(23, 59, 59, 999_999_000)), json!(-0.000_001)),
        (Some(date(2026, 1, 1).at(0, 0, 0, 0)), json!(0.0)),
        (Some(date(1926, 1, 1).at(0, 0, 0, 500_000_000)), json!(-3_155_759_999.5)),
        (None, Value::Null),
    ];
    let rows = times.iter().zip(0..);
    let rows = rows.map(|((time, _), id)| Row { id, time: *time, device: "a" });
    let scene = Scene::new(rows.collect());
    let expected: Vec<_> = times.iter().map(|(_, seconds)| vec![seconds.clone()]).collect();
    let base = "timestamp '2026-01-01 00:00:00'";
    for sql in [
        format!("select extract(epoch from (timestamp - {base})) from t order by id"),
        format!("select date_part('epoch', timestamp - {base}) from t order by id"),
        format!("select datepart('EPOCH', \"timestamp\" - {base}) as x from t order by id"),
    ] {
        assert_eq!(scene.ask(&sql), expected, "{sql}");
    }
    for (sql, expected) in [
        (
            format!("select extract(epoch from ({base} - timestamp '2025-12-31 00:00:00.5'))"),
            86399.5,
        ),
        ("select extract(epoch from interval '1 day 2.5 seconds')".to_owned(), 86402.5),
        ("select date_part('epoch', interval '2 hours 0.125 seconds')".to_owned(), 7200.125),
        (
            format!("select max(extract(epoch from (timestamp - {base}))) from t where id < 2"),
            10.25,
        ),
        (format!("select extract(hour from timestamp) from t where id = {}", 1), 23.0),
    ] {
        assert_eq!(scene.one(&sql).as_f64(), Some(expected), "{sql}");
    }
}
