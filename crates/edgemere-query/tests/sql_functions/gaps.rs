//! Gaps that are filled.

use serde_json::json;

use crate::Scene;

fn scene() -> Scene {
    let row = |device: Option<&str>, time: &str, value: Option<f64>| json!({"device": device, "ts": time, "value": value, "counter": value.map(|v| v * 2.0)});
    Scene::new(&[
        (
            "m",
            json!([
                row(Some("a"), "2026-01-01 01:10:00", Some(10.0)),
                row(Some("a"), "2026-01-01 01:20:00", Some(20.0)),
                row(Some("a"), "2026-01-01 04:00:00", Some(30.0)),
                row(Some("b"), "2026-01-01 02:00:00", Some(5.0)),
                row(Some("b"), "2026-01-01 03:00:00", None),
                row(None, "2026-01-01 00:00:00", Some(1.0)),
                row(Some("z"), "2026-02-01 00:00:00", Some(1.0)),
            ]),
        ),
        ("nothing", json!([{"ts": "2020-01-01 00:00:00", "value": 1.0}])),
    ])
}

/// A query of a day's first hours.
fn of(results: &str, more: &str) -> String {
    format!(
        "select date_part('hour', time_bucket_gapfill('1 hour', ts))::int as h, {results} from m \
         where ts >= '2026-01-01' and ts < '2026-01-01 05:00:00' {more}"
    )
}

#[test]
fn buckets_without_rows_are_there() {
    let scene = scene();
    let check = |sql: &str, expected: &str| assert_eq!(scene.ask(sql), expected, "{sql}");
    let hours = "group by time_bucket_gapfill('1 hour', ts)";
    check(
        &of("avg(value) as v", &format!("and device = 'a' {hours} order by 1")),
        "[0,null] [1,15.0] [2,null] [3,null] [4,30.0]",
    );
    check(
        &of(
            "count(*) as n, coalesce(count(*), 0) as c",
            &format!("and device = 'a' {hours} order by 1"),
        ),
        "[0,null,0] [1,2,2] [2,null,0] [3,null,0] [4,1,1]",
    );
    check(
        &of(
            "locf(avg(value)) as l, interpolate(avg(value)) as i",
            &format!("and device = 'a' {hours} order by 1"),
        ),
        "[0,null,null] [1,15.0,15.0] [2,15.0,20.0] [3,15.0,25.0] [4,30.0,30.0]",
    );
    check(
        "select time_bucket_gapfill('2 hours', ts, '2026-01-01 02:00:00', '2026-01-01 07:00:00') as h, count(*) as n from m where device = 'a' group by 1 order by 1",
        "[\"2026-01-01 00:00:00\",2] [\"2026-01-01 02:00:00\",null] [\"2026-01-01 04:00:00\",1] [\"2026-01-01 06:00:00\",null]",
    );
}

#[test]
fn each_group_has_its_own_gaps() {
    let scene = scene();
    let asked = "select device, date_part('hour', h)::int as h, v, l from (select time_bucket_gapfill('1 hour', ts) as h, device, avg(value) as v, locf(avg(value)) as l from m where ts >= '2026-01-01' and ts < '2026-01-01 04:00:00' group by 1, 2)";
    assert_eq!(
        scene.ask(&format!("{asked} order by 1, 2")),
        "[\"a\",0,null,null] [\"a\",1,15.0,15.0] [\"a\",2,null,15.0] [\"a\",3,null,15.0] \
         [\"b\",0,null,null] [\"b\",1,null,null] [\"b\",2,5.0,5.0] [\"b\",3,null,5.0] \
         [null,0,1.0,1.0] [null,1,null,1.0] [null,2,null,1.0] [null,3,null,1.0]"
    );
    assert_eq!(
        scene.ask(&format!("{asked} where v is null and l > 4 order by 1, 2 limit 2")),
        "[\"a\",2,null,15.0] [\"a\",3,null,15.0]"
    );
    assert_eq!(scene.ask(&format!("select count(*), count(v) from ({asked})")), "[12,3]");
}

#[test]
fn what_stands_above_sees_filled_rows() {
    let hours = "and device = 'a' group by time_bucket_gapfill('1 hour', ts)";
    let scene = scene();
    let check = |sql: &str, expected: &str| assert_eq!(scene.ask(sql), expected, "{sql}");
    check(
        &of("locf(sum(value)) as l", &format!("{hours} having count(*) is null order by 1")),
        "[0,null] [2,30.0] [3,30.0]",
    );
    check(
        &of(
            "locf(sum(value)) + 1 as l",
            &format!("{hours} having locf(sum(value)) > 0 order by 1 desc limit 2"),
        ),
        "[4,31.0] [3,31.0]",
    );
    check(
        &of(
            "interpolate(max(value) * 2) as i",
            &format!("{hours} order by interpolate(max(value) * 2) desc nulls last, 1 limit 1"),
        ),
        "[4,60.0]",
    );
    check(
        &of(
            "lag(locf(max(value))) over (order by time_bucket_gapfill('1 hour', ts)) as i",
            &format!("{hours} order by 1"),
        ),
        "[0,null] [1,null] [2,20.0] [3,20.0] [4,20.0]",
    );
    check(
        &of("increase(counter, ts) as i", &format!("{hours} order by 1")),
        "[0,null] [1,20.0] [2,null] [3,null] [4,null]",
    );
    check(
        &of("first(value, ts) as f", &format!("{hours} order by 1 limit 2")),
        "[0,null] [1,10.0]",
    );
}

#[test]
fn a_range_without_rows_is_all_gaps() {
    scene().check(&[
        (
            "select time_bucket_gapfill('1 day', ts) as d, count(*) as n, locf(max(value)) as l from nothing where ts between '2026-01-01' and '2026-01-03' group by 1 order by 1",
            "[\"2026-01-01 00:00:00\",null,null] [\"2026-01-02 00:00:00\",null,null] [\"2026-01-03 00:00:00\",null,null]",
        ),
        (
            "select time_bucket_gapfill('1 day', ts) as d, value, count(*) from nothing where ts between '2026-01-01' and '2026-01-03' group by 1, 2",
            "",
        ),
        (
            "select count(*) from (select time_bucket_gapfill('1 minute', ts) as d from nothing where ts > now() - interval '2 hours' and ts <= now() group by 1)",
            "[121]",
        ),
        (
            "select time_bucket_gapfill('1 month', ts, 'Europe/Rome', '2026-02-15', '2026-05-01') as d from nothing group by 1 order by 1",
            "[\"2019-12-31 23:00:00\"] [\"2026-01-31 23:00:00\"] [\"2026-02-28 23:00:00\"] [\"2026-03-31 22:00:00\"] [\"2026-04-30 22:00:00\"]",
        ),
        ("select time_bucket_gapfill('1 day', ts, '2026-01-02', '2026-01-01') as d from nothing where value > 5 group by 1", ""),
    ]);
}

#[test]
fn what_is_wrong_is_told() {
    scene().refuse(&[
        ("select time_bucket_gapfill('1 hour', ts) as h from m group by 1", "does not know where to begin and to end"),
        ("select time_bucket_gapfill('1 hour', ts) as h from m where ts > '2026-01-01' group by 1", "does not know where"),
        ("select time_bucket_gapfill('1 second', ts, '2020-01-01', '2026-01-01') as h from m group by 1", "fills 100000 buckets at most"),
        ("select time_bucket_gapfill('1 hour', ts, '2026-01-01', '2026-01-02') from m", "in GROUP BY"),
        ("select time_bucket_gapfill('1 hour', ts, ts, '2026-01-02') as h from m group by 1", "the same for all rows"),
        ("select time_bucket_gapfill('1 hour', ts, null, '2026-01-02') as h from m group by 1", "that are not NULL"),
        ("select locf(avg(value)) from m", "grouped by time_bucket_gapfill"),
        ("select interpolate(value) from m", "grouped by time_bucket_gapfill"),
        ("select time_bucket_gapfill('1 hour', ts, '2026-01-01', '2026-01-02') as h, interpolate(max(device)) from m group by 1", "needs a number"),
        ("select time_bucket_gapfill('1 hour', ts, '2026-01-01', '2026-01-02') as h, count(*) from m group by rollup(time_bucket_gapfill('1 hour', ts, '2026-01-01', '2026-01-02'))", "CUBE, ROLLUP"),
    ]);
}
