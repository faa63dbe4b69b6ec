//! What the devices of the sample company sent in the last day: a reading every five minutes. The
//! values are the same in every demo; only the times are of today, so that "the last hour" has rows.

use edgemere_engine::ingest::Input;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::sample::{DBMS, SITES};
use crate::server::Running;

/// How many readings a device sent.
const READINGS: i64 = 288;

/// How far they are apart, in seconds.
const STEP_S: i64 = 300;

/// Stores the rows. Their tables are made, and published, with them.
pub(super) async fn store(running: &Running) -> anyhow::Result<()> {
    for (table, rows) in tables(Timestamp::now())? {
        let body = Value::Array(rows).to_string();
        let node = running.node();
        edgemere_command::ingest::put(node, DBMS, table, Input::Json, body.as_bytes()).await?;
    }
    Ok(())
}

/// The tables, and the rows that all devices sent into each.
fn tables(now: Timestamp) -> Result<Vec<(&'static str, Vec<Value>)>, jiff::Error> {
    let mut tables: Vec<(&'static str, Vec<Value>)> = Vec::new();
    let devices = SITES.iter().flat_map(|site| site.devices);
    for (number, (device, _, table)) in (0..).zip(devices) {
        let place = tables.iter().position(|(name, _)| name == table).unwrap_or_else(|| {
            tables.push((table, Vec::new()));
            tables.len() - 1
        });
        for step in 0..READINGS {
            let row = Value::Object(reading(device, table, number, step, now)?);
            if let Some((_, rows)) = tables.get_mut(place) {
                rows.push(row);
            }
        }
    }
    Ok(tables)
}

/// One reading of a device.
fn reading(
    device: &str,
    table: &str,
    number: i64,
    step: i64,
    now: Timestamp,
) -> Result<Map<String, Value>, jiff::Error> {
    let last = now.as_second().div_euclid(STEP_S) * STEP_S;
    let time = Timestamp::from_second(last - (READINGS - 1 - step) * STEP_S)?;
    let mut row = Map::new();
    row.insert("timestamp".into(), time.to_string().into());
    row.insert("device".into(), device.into());
    let values = match table {
        "pumps" => pump(device, number, step),
        "flow" => json!({
            "litres_per_second": wave(number, step, 18.0, 6.0),
            "total_litres": 1_000_000 * (number + 1) + 5_400 * step,
        }),
        "tanks" => json!({
            "level_percent": wave(number, step, 62.0, 21.0),
            "temperature": wave(number, step, 11.0, 2.0),
        }),
        _ => json!({
            "ph": wave(number, step, 7.4, 0.2),
            "chlorine_mg": wave(number, step, 0.6, 0.1),
            "turbidity_ntu": wave(number, step, 0.3, 0.1),
        }),
    };
    if let Value::Object(values) = values {
        row.extend(values);
    }
    Ok(row)
}

/// A pump stands still for an hour a day, and one of them runs hot for a while.
fn pump(device: &str, number: i64, step: i64) -> Value {
    let running = !(60..72).contains(&((step + 40 * number) % READINGS));
    let is_hot = device == "harbour-pump-2" && (180..204).contains(&step);
    let middle = if is_hot { 88.0 } else { 46.0 };
    json!({
        "running": running,
        "rpm": if running { 1450 + (step * 7 + number * 13) % 50 } else { 0 },
        "temperature": wave(number, step, middle, 6.0),
        "power_kw": if running { wave(number, step, 11.0, 1.5) } else { 0.0 },
    })
}

/// A value that goes up and down over the day, with some noise, and two digits.
#[allow(clippy::cast_precision_loss, reason = "steps are few")]
fn wave(number: i64, step: i64, middle: f64, height: f64) -> f64 {
    let day = (step + number * 31) as f64 / READINGS as f64 * std::f64::consts::TAU;
    let noise = ((step * 7919 + number * 104_729) % 1000) as f64 / 1000.0 - 0.5;
    let value = middle + height * (0.8 * day.sin() + 0.4 * noise);
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_the_same_at_any_time_but_for_their_times() {
        let at = |second| tables(Timestamp::from_second(second).unwrap()).unwrap();
        let tables = at(1_800_000_123);
        let counts: Vec<_> = tables.iter().map(|(name, rows)| (*name, rows.len())).collect();
        assert_eq!(counts, [("pumps", 864), ("flow", 576), ("tanks", 576), ("quality", 288)]);
        let pumps = &tables[0].1;
        assert_eq!(pumps[0]["timestamp"], "2027-01-14T08:05:00Z");
        assert_eq!(pumps[287]["timestamp"], "2027-01-15T08:00:00Z");
        let without_times = |tables: Vec<(&'static str, Vec<Value>)>| {
            let row = |row: &Value| {
                let mut row = row.as_object().unwrap().clone();
                row.remove("timestamp");
                row
            };
            let rows = tables.iter().flat_map(|(_, rows)| rows);
            rows.map(row).collect::<Vec<_>>()
        };
        assert_eq!(without_times(tables), without_times(at(1_900_000_000)));
    }

    #[test]
    fn one_pump_runs_hot() {
        let tables = tables(Timestamp::UNIX_EPOCH).unwrap();
        let hot = tables[0].1.iter().filter(|row| row["temperature"].as_f64().unwrap() > 70.0);
        let hot: Vec<_> = hot.map(|row| row["device"].as_str().unwrap()).collect();
        assert!(hot.len() == 24 && hot.iter().all(|device| *device == "harbour-pump-2"));
    }
}
