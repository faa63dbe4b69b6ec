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

/// A row of an operator. The second operator's are half a second later.
fn object(operator: u64, row: u64) -> String {
    let thousandths = (row * 7919 + operator * 104_729) % 100_000 + 1;
    let (day, second) = (row / 86_400 + 1, row % 86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let half = if operator == 2 { "500000" } else { "000000" };
    format!(
        "{{\"timestamp\":\"2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.{half}Z\",\
         \"value\":{}.{:03},\"device_name\":\"sensor-{}\"}}",
        thousandths / 1000,
        thousandths % 1000,
        row % 10
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
    fn a_body_is_a_list_of_rows() {
        let bodies: Vec<String> = bodies(1).collect();
        let parsed: Vec<Vec<serde_json::Value>> =
            bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect();
        assert_eq!(parsed.iter().map(Vec::len).sum::<usize>(), 100_000);
        let sum: f64 = parsed.iter().flatten().map(|row| row["value"].as_f64().unwrap()).sum();
        assert!((sum - 5_000_050.0).abs() < 0.001, "{sum}");
    }
}
