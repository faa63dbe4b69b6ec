//! Rows by chance, against a model of the functions that is written here from what they mean: loops
//! over the rows, no SQL.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::Scene;
use crate::chance::Chance;

/// How many hours rows are spread over.
const HOURS: i64 = 30;

/// A row: all of it may be NULL but the device's number.
#[derive(Clone, Debug)]
struct Row {
    device: i64,
    /// Seconds since the first hour.
    time: Option<i64>,
    value: Option<i64>,
}

fn rows(c: &mut Chance) -> Vec<Row> {
    let mut row = || {
        let (no_time, no_value) = (c.one_in(9), c.one_in(6));
        // Few minutes, so that times meet.
        let time = c.between(0, HOURS * 6 - 1) * 600;
        let value = c.between(0, 40);
        Row {
            device: c.between(1, 4),
            time: (!no_time).then_some(time),
            value: (!no_value).then_some(value),
        }
    };
    (0..120).map(|_| row()).collect()
}

fn scene(rows: &[Row]) -> Scene {
    let object = |row: &Row| {
        let time = row.time.map(|time| {
            let (day, rest) = (1 + time / 86_400, time % 86_400);
            format!("2026-01-{day:02} {:02}:{:02}:00", rest / 3600, rest / 60 % 60)
        });
        json!({"device": row.device, "ts": time, "v": row.value})
    };
    Scene::new(&[("m", rows.iter().map(object).collect())])
}

/// The rows of an answer.
fn asked(scene: &Scene, sql: &str) -> Vec<Value> {
    let answer = scene.ask(sql);
    assert!(!answer.starts_with("error"), "{sql}\n{answer}");
    let rows = serde_json::Deserializer::from_str(&answer).into_iter::<Value>();
    rows.map(Result::unwrap).collect()
}

/// The times and values of each device, in their order, of the rows that have both.
fn measured(rows: &[Row]) -> BTreeMap<i64, Vec<(i64, i64)>> {
    let mut devices: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    for row in rows {
        devices.entry(row.device).or_default().extend(row.time.zip(row.value));
    }
    devices.values_mut().for_each(|values| values.sort_unstable());
    devices
}

#[test]
fn first_last_and_counters_are_what_loops_find() {
    let mut chance = Chance::new(20_260_101);
    for _ in 0..12 {
        let rows = rows(&mut chance);
        let model: Vec<Value> = measured(&rows)
            .into_iter()
            .map(|(device, values)| {
                let pairs = values.windows(2).filter_map(<[(i64, i64)]>::first_chunk::<2>);
                let more = pairs.map(|[(_, a), (_, b)]| if b < a { *b } else { b - a });
                let increase = (values.len() > 1).then(|| more.sum::<i64>());
                let seconds =
                    values.last().zip(values.first()).map(|(last, first)| last.0 - first.0);
                let rate = increase.zip(seconds.filter(|seconds| *seconds > 0));
                let rate = rate.map(|(increase, seconds)| increase as f64 / seconds as f64);
                let (first, last) =
                    (values.first().map(|one| one.1), values.last().map(|one| one.1));
                json!([device, first, last, increase, rate])
            })
            .collect();
        let sql = "select device, first(v, ts) as f, last(v, ts) as l, increase(v, ts) as i, \
                   rate(v, ts) as r from m group by device order by device";
        assert_eq!(asked(&scene(&rows), sql), model, "{rows:?}");
    }
}

#[test]
fn gaps_are_filled_as_loops_fill_them() {
    let mut chance = Chance::new(20_260_102);
    for _ in 0..12 {
        let rows = rows(&mut chance);
        let mut model = Vec::new();
        for (device, values) in measured(&rows) {
            let mut hours: Vec<Option<i64>> = vec![None; HOURS as usize];
            for (time, value) in &values {
                if let Some(hour) = hours.get_mut((time / 3600) as usize) {
                    *hour = (*hour).max(Some(*value));
                }
            }
            if !rows.iter().any(|row| row.device == device && row.time.is_some()) {
                continue;
            }
            model.extend(
                (0..HOURS).map(|hour| {
                    json!([device, hour, carried(&hours, hour), on_line(&hours, hour)])
                }),
            );
        }
        let sql = "select device, (date_part('day', h) - 1) * 24 + date_part('hour', h) as n, c, i from \
                   (select device, time_bucket_gapfill('1 hour', ts, '2026-01-01', '2026-01-02 06:00:00') as h, \
                   locf(max(v)) as c, interpolate(max(v)) as i from m where ts is not null group by 1, 2) \
                   order by 1, 2";
        let given = asked(&scene(&rows), sql);
        assert_eq!(given.len(), model.len());
        for (given, model) in given.iter().zip(&model) {
            assert!(is_near(given, model), "{given}, not {model}\n{rows:?}");
        }
    }
}

fn is_near(one: &Value, two: &Value) -> bool {
    let (Some(one), Some(two)) = (one.as_array(), two.as_array()) else { return false };
    one.iter().zip(two).all(|(a, b)| match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() < 1e-9,
        _ => a == b,
    })
}

fn carried(hours: &[Option<i64>], hour: i64) -> Option<i64> {
    hours.iter().take(hour as usize + 1).rev().find_map(|value| *value)
}

fn on_line(hours: &[Option<i64>], hour: i64) -> Option<f64> {
    let known = |at: i64| hours.get(at as usize).copied().flatten().map(|value| (at, value as f64));
    if let Some((_, value)) = known(hour) {
        return Some(value);
    }
    let (from, first) = (0..hour).rev().find_map(known)?;
    let (until, last) = (hour..HOURS).find_map(known)?;
    Some(first + (last - first) * (hour - from) as f64 / (until - from) as f64)
}
