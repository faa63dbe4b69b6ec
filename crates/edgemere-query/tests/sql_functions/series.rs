//! Series of measurements: buckets of time, the first and the last value, counters, and made series.

use serde_json::json;

use crate::Scene;

fn scene() -> Scene {
    let row = |device: &str, time: &str, value: f64, counter: i64| json!({"device": device, "ts": time, "value": value, "counter": counter});
    Scene::new(&[
        (
            "m",
            json!([
                row("a", "2026-01-01 00:10:00", 1.5, 10),
                row("a", "2026-01-01 00:50:00", 2.5, 14),
                row("a", "2026-01-01 02:20:00", 3.5, 3),
                row("a", "2026-01-01 04:59:59", 4.5, 8),
                row("b", "2026-01-01 01:00:00", 10.5, 100),
                row("b", "2026-01-01 03:00:00", 20.5, 160),
                json!({"device": "b", "ts": "2026-01-01 05:00:00", "value": null, "counter": null}),
                json!({"device": "c", "ts": null, "value": 7.5, "counter": 1}),
            ]),
        ),
        (
            "ties",
            json!([
                {"ts": "2026-01-01 00:00:00", "v": 2, "s": "b"},
                {"ts": "2026-01-01 00:00:00", "v": 1, "s": "c"},
                {"ts": "2026-01-01 01:00:00", "v": 5, "s": "d"},
                {"ts": "2026-01-01 01:00:00", "v": 9, "s": null},
            ]),
        ),
    ])
}

#[test]
fn times_are_put_in_buckets() {
    scene().check(&[
        (
            "select time_bucket('2 hours', ts) as h, count(*) from m group by 1 order by 1",
            "[\"2026-01-01 00:00:00\",3] [\"2026-01-01 02:00:00\",2] [\"2026-01-01 04:00:00\",2] [null,1]",
        ),
        (
            "select time_bucket(interval '1 month', timestamp '2026-05-17 10:00:00') as x",
            "[\"2026-05-01 00:00:00\"]",
        ),
        ("select time_bucket('1 week', date '2026-11-15') as x", "[\"2026-11-09 00:00:00\"]"),
        (
            "select time_bucket('1 day', timestamp '2026-03-29 22:30:00', 'Europe/Berlin') as x",
            "[\"2026-03-29 22:00:00\"]",
        ),
        (
            "select time_bucket('1 day', timestamp '2026-01-02 05:00:00', timestamp '2000-01-01 06:00:00') as x",
            "[\"2026-01-01 06:00:00\"]",
        ),
        (
            "select time_bucket('1 day', timestamp '2026-01-02 05:00:00', '2000-01-01 06:00:00') as x",
            "[\"2026-01-01 06:00:00\"]",
        ),
        ("select time_bucket(null, ts) as x from m limit 1", "[null]"),
        (
            "select date_bin(interval '2 hours', ts) as h, count(*) from m where device = 'b' group by 1 order by 1",
            "[\"2026-01-01 00:00:00\",1] [\"2026-01-01 02:00:00\",1] [\"2026-01-01 04:00:00\",1]",
        ),
    ]);
    scene().refuse(&[
        ("select time_bucket('1 hour', value) from m", "time_bucket needs a time, not decimal"),
        ("select time_bucket(3, ts) from m", "needs a width"),
        ("select time_bucket('1 month 1 day', ts) from m", "not both"),
        ("select time_bucket('0 hours', ts) from m", "a microsecond wide or more"),
        (
            "select time_bucket('1 day', ts, 'Moon/Sea') from m",
            "there is no time zone \"Moon/Sea\"",
        ),
        ("select time_bucket('1 hour') from m", "takes a width"),
        ("select time_bucket('1 moon', ts) from m", "\"1 moon\" is not the width of a bucket"),
    ]);
}

#[test]
fn the_first_and_the_last_value_go_by_time() {
    scene().check(&[
        (
            "select device, first(value, ts) as f, last(value, ts) as l from m group by 1 order by 1",
            "[\"a\",1.5,4.5] [\"b\",10.5,20.5] [\"c\",null,null]",
        ),
        ("select first(v, ts) as f, last(v, ts) as l from ties", "[1,9]"),
        ("select first(s, ts) as f, last(s, ts) as l from ties", "[\"b\",\"d\"]"),
        ("select first(v, ts) as f, count(*) from ties where v > 100", "[null,0]"),
        ("select last(value, ts) filter (where value < 4) as l from m where device = 'a'", "[3.5]"),
        ("select first(ts, counter) as f from m where device = 'a'", "[\"2026-01-01 02:20:00\"]"),
    ]);
    scene().refuse(&[
        ("select first(value) from m", "first takes a value and the time of the value"),
        (
            "select first(value, make_array(1)) from m",
            "first cannot be applied to a number and a list",
        ),
    ]);
}

#[test]
fn counters_count_over_their_resets() {
    scene().check(&[
        (
            "select device, increase(counter, ts) as i from m group by 1 order by 1",
            "[\"a\",12] [\"b\",60] [\"c\",null]",
        ),
        ("select increase(counter order by ts) as i from m where device = 'a'", "[12]"),
        (
            "select device, rate(counter, ts) as r from m where device = 'b' group by device",
            "[\"b\",0.008333333333333333]",
        ),
        (
            "select increase(counter, ts) as i, count(*) as n, max(value) as v from m where device = 'a'",
            "[12,4,4.5]",
        ),
        (
            "select time_bucket('1 hour', ts) as h, increase(counter, ts) as i from m where device = 'a' group by 1 order by 1",
            "[\"2026-01-01 00:00:00\",4] [\"2026-01-01 02:00:00\",null] [\"2026-01-01 04:00:00\",null]",
        ),
        (
            "select sum(i) from (select device, increase(counter, ts) as i from m group by device)",
            "[72]",
        ),
        (
            "select increase(counter, ts) filter (where counter <> 3) as i from m where device = 'a'",
            "[12]",
        ),
        ("select increase(value, ts) as i, rate(value, ts) as r from m where device = 'zzz'", "[null,null]"),
        (
            "select increase(counter, ts) as i, rate(value, ts::date) as r, increase(value, insert_timestamp) filter (where value > 2) is null as n from m where device = 'a'",
            "[12,null,false]",
        ),
        ("select device from m group by device having increase(counter, ts) > 20", "[\"b\"]"),
        (
            "select increase(a, t) as i from (values (9223372036854775807, timestamp '2026-01-01'), (9223372036854775806, timestamp '2026-01-02')) as x(a, t)",
            "[9223372036854775806]",
        ),
    ]);
    scene().refuse(&[
        ("select increase(device, ts) from m", "needs a number that counts"),
        ("select increase(counter) from m", "takes a counter and the time of its value"),
        ("select increase(counter, device) from m", "increase needs a time, not varchar"),
        ("select increase(distinct counter, ts) from m", "DISTINCT"),
        ("select increase(counter, ts) over (order by ts) from m", "does not stand with OVER"),
        ("select increase(counter, ts) from m group by cube(device)", "GROUPING SETS"),
    ]);
}

#[test]
fn series_are_made_in_from() {
    scene().check(&[
        ("select * from generate_series(1, 7, 3)", "[1] [4] [7]"),
        ("select * from range(1, 7, 3)", "[1] [4]"),
        ("select value from generate_series(3, 1, -1)", "[3] [2] [1]"),
        ("select count(*), sum(value) from generate_series(1, 1000000)", "[1000000,500000500000]"),
        ("select count(*) from generate_series(1, null)", "[0]"),
        (
            "select * from generate_series(timestamp '2026-01-31', timestamp '2026-04-30', interval '1 month')",
            "[\"2026-01-31 00:00:00\"] [\"2026-02-28 00:00:00\"] [\"2026-03-31 00:00:00\"] [\"2026-04-30 00:00:00\"]",
        ),
        (
            "select d.value::date as x from generate_series(date '2026-02-27', date '2026-03-01', interval '1 day') as d",
            "[\"2026-02-27\"] [\"2026-02-28\"] [\"2026-03-01\"]",
        ),
        (
            "select h.value, count(m.ts) from generate_series(timestamp '2026-01-01 00:00:00', timestamp '2026-01-01 03:00:00', interval '1 hour') h left join m on time_bucket('1 hour', m.ts) = h.value and m.device = 'a' group by 1 order by 1",
            "[\"2026-01-01 00:00:00\",2] [\"2026-01-01 01:00:00\",0] [\"2026-01-01 02:00:00\",1] [\"2026-01-01 03:00:00\",0]",
        ),
        ("select n from generate_series(1, 2) as s(n)", "[1] [2]"),
    ]);
    scene().refuse(&[
        ("select * from generate_series(1, 1000001)", "makes 1000000 at most"),
        ("select * from generate_series(1, 9223372036854775807)", "makes 1000000 at most"),
        ("select * from generate_series(1, 2, 0)", "a step that is not zero"),
        ("select * from generate_series(1)", "takes a start, a stop and a step"),
        ("select * from generate_series(1.5, 2)", "whole numbers, dates and timestamps"),
        ("select * from generate_series(timestamp '2026-01-01', timestamp '2027-01-01')", "needs a step for times"),
        ("select * from generate_series(timestamp '2026-01-01', timestamp '2027-01-01', interval '1 second')", "makes 1000000 at most"),
        ("select * from generate_series(timestamp '2026-01-01', timestamp '2027-01-01', interval '1 month -1 day')", "goes one way"),
    ]);
}
