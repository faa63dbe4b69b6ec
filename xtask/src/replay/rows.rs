//! The rows behind the captures, as `PUT` bodies: 100,000 on each operator, one a second.

use std::fmt::Write;

/// How many rows an operator has.
const ROWS: u64 = 100_000;
/// How many rows are sent at once.
const BATCH: u64 = 20_000;

/// The table that they are in.
pub(crate) const DBMS: &str = "new_company";
pub(crate) const TABLE: &str = "rand_data";

/// The bodies of an operator, which is the first or the second.
pub(crate) fn bodies(operator: u64) -> impl Iterator<Item = String> {
    (0..ROWS / BATCH).map(move |batch| {
        let mut body = String::from("[");
        for row in batch * BATCH..(batch + 1) * BATCH {
            let comma = if row.is_multiple_of(BATCH) { "" } else { "," };
            let row = object(operator, row);
            // Writing to a string does not fail.
            let _ = write!(body, "{comma}{row}");
        }
        body.push(']');
        body
    })
}

/// Whether there is a row with these, as far as they are given.
pub(crate) fn is_row(timestamp: Option<&str>, value: Option<f64>, device: Option<&str>) -> bool {
    let Some(timestamp) = timestamp else {
        return value.is_none() && device.is_some_and(|device| (0..10).any(|n| name(n) == device));
    };
    let Some((row, operator)) = place(timestamp) else { return false };
    let is_value = value.is_none_or(|value| {
        let thousandths = u32::try_from(thousandths(operator, row)).unwrap_or_default();
        (value - f64::from(thousandths) / 1000.0).abs() < 1e-9
    });
    row < ROWS && is_value && device.is_none_or(|device| device == name(row))
}

/// Which row has a time, and on which operator, if one has.
fn place(timestamp: &str) -> Option<(u64, u64)> {
    let rest = timestamp.strip_prefix("2026-01-")?.trim_end_matches('Z');
    let (day, time) = rest.split_once([' ', 'T'])?;
    let (time, fraction) = time.split_once('.')?;
    let operator = match fraction {
        "000000" => 1,
        "500000" => 2,
        _ => return None,
    };
    let parts: Vec<u64> = time.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hour, minute, second] = parts.as_slice() else { return None };
    let days = day.parse::<u64>().ok()?.checked_sub(1)?;
    Some((days * 86_400 + hour * 3600 + minute * 60 + second, operator))
}

fn thousandths(operator: u64, row: u64) -> u64 {
    (row * 7919 + operator * 104_729) % 100_000 + 1
}

fn name(row: u64) -> String {
    format!("sensor-{}", row % 10)
}

/// A row of an operator. The second operator's are half a second later.
fn object(operator: u64, row: u64) -> String {
    let thousandths = thousandths(operator, row);
    let (day, second) = (row / 86_400 + 1, row % 86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let half = if operator == 2 { "500000" } else { "000000" };
    format!(
        "{{\"timestamp\":\"2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.{half}Z\",\
         \"value\":{}.{:03},\"device_name\":\"{}\"}}",
        thousandths / 1000,
        thousandths % 1000,
        name(row)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_the_captures() {
        let first =
            r#"{"timestamp":"2026-01-01T00:00:00.000000Z","value":4.730,"device_name":"sensor-0"}"#;
        assert_eq!(object(1, 0), first);
        // The rows that 229 and 223 show.
        assert!(object(2, 0).contains("00:00:00.500000Z\",\"value\":9.459"));
        assert!(object(2, ROWS - 1).contains("2026-01-02T03:46:39.500000Z"));
    }

    #[test]
    fn a_row_is_known_by_its_time() {
        assert!(is_row(Some("2026-01-01 23:20:01.000000"), Some(8.649), Some("sensor-1")));
        assert!(is_row(Some("2026-01-01T20:00:00.500000Z"), Some(77.459), None));
        assert!(is_row(None, None, Some("sensor-9")));
        assert!(!is_row(Some("2026-01-01 23:20:01.000000"), Some(8.65), None));
        assert!(!is_row(Some("2026-01-02 03:46:40.000000"), None, None));
        assert!(!is_row(Some("2026-01-01 23:20:01.250000"), None, None));
        assert!(!is_row(None, Some(8.649), None));
        assert!(!is_row(None, None, Some("sensor-10")));
    }

    #[test]
    fn a_body_is_a_list_of_rows() {
        let bodies: Vec<String> = bodies(1).collect();
        let parsed: Vec<Vec<serde_json::Value>> =
            bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
        assert_eq!(parsed.iter().map(Vec::len).sum::<usize>(), 100_000);
        let sum: f64 = parsed.iter().flatten().map(|row| row["value"].as_f64().unwrap()).sum();
        assert!((sum - 5_000_050.0).abs() < 0.001, "{sum}");
    }
}
