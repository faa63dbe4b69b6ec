//! What a query says of its rows: whether their order counts, and whether it leaves open which come.

use regex_lite::{Captures, Regex};
use serde_json::{Map, Value};

use crate::replay::{class::begins, exchange::Exchange, form::Form, rows};

/// What stands for a row that is one of the table's.
const RIGHT: &str = "…";

/// A query's own word on its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// They come in an order.
    Ordered,
    /// They come in any order.
    Unordered,
    /// A number of them, whichever: `LIMIT` without `ORDER BY`.
    Any,
}

impl Asked {
    /// What an exchange asks for, when it is a query.
    pub(crate) fn of(exchange: &Exchange) -> Option<Self> {
        let sql = match exchange.command() {
            Some(command) if begins(&command, "sql") => command.to_lowercase(),
            Some(_) => return None,
            None if exchange.body().contains("\"timeColumn\"") => return Some(Self::Ordered),
            None if exchange.body().contains("\"sql\"") => exchange.body().to_lowercase(),
            None => return None,
        };
        let has = |words: &[&str]| words.iter().any(|word| sql.contains(word));
        // Spans of time come in their order.
        if has(&["order by", "increments("]) {
            return Some(Self::Ordered);
        }
        // Without groups an aggregate is one row, whatever the limit.
        let is_one = !has(&["group by"]) && has(&["count(", "avg(", "sum(", "min(", "max("]);
        let is_any = has(&[" limit "]) && !is_one;
        Some(if is_any { Self::Any } else { Self::Unordered })
    }

    /// A reply without what the query leaves open.
    pub(crate) fn settled(self, form: Form) -> Form {
        let settle = |rows: &mut Vec<Value>| match self {
            Self::Ordered => {}
            Self::Unordered => rows.sort_by_cached_key(coarse),
            Self::Any => rows.iter_mut().for_each(veil),
        };
        match form {
            Form::Json(Value::Array(mut rows)) => {
                settle(&mut rows);
                Form::Json(Value::Array(rows))
            }
            Form::Json(mut value) => {
                if let Some(rows) = value.get_mut("Query").and_then(Value::as_array_mut) {
                    settle(rows);
                }
                Form::Json(value)
            }
            Form::Lines(mut rows) => {
                settle(&mut rows);
                Form::Lines(rows)
            }
            Form::Text(text) if self == Self::Any => Form::Text(veil_text(&text)),
            Form::Text(text) => Form::Text(narrow(&text)),
            other => other,
        }
    }
}

/// What rows are sorted by: their numbers without the last digits, in which sums differ.
fn coarse(row: &Value) -> String {
    match row {
        Value::Object(map) => map.iter().map(|(key, value)| key.clone() + &coarse(value)).collect(),
        Value::Number(number) => format!("{:.9e}", number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

/// Replaces the values of a row that is one of the table's. A wrong one stays, and is seen.
fn veil(row: &mut Value) {
    let Some(row) = row.as_object_mut() else { return };
    if is_right(row) {
        for (key, value) in row.iter_mut() {
            if ["timestamp", "value", "device_name", "upper(device_name)"].contains(&key.as_str()) {
                *value = RIGHT.into();
            }
        }
    }
}

fn is_right(row: &Map<String, Value>) -> bool {
    let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
    let device = text("device_name");
    let device = device.or_else(|| Some(text("upper(device_name)")?.to_lowercase()));
    let value = row.get("value").and_then(Value::as_f64);
    rows::is_row(text("timestamp").as_deref(), value, device.as_deref())
}

/// The same in a table for people, whose columns are as wide as what stands in them.
fn veil_text(text: &str) -> String {
    let row = r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\.\d{6}Z?) ([\d.]+)(?: (sensor-\d))?";
    let text = narrow(text);
    let Ok(row) = Regex::new(row) else { return text };
    let veiled = row.replace_all(&text, |found: &Captures<'_>| {
        let part = |at: usize| found.get(at).map(|part| part.as_str());
        let value = part(2).and_then(|value| value.parse().ok());
        match rows::is_row(part(1), value, part(3)) {
            true => RIGHT.to_owned(),
            false => part(0).unwrap_or_default().to_owned(),
        }
    });
    veiled.into_owned()
}

/// A table for people without the widths of its columns, also as a page.
fn narrow(text: &str) -> String {
    let text = text.replace("&nbsp;", " ").replace("<br>", "\n");
    let lines = text.lines().map(|line| {
        let words = line.split_whitespace();
        let words = words.map(|word| if word.chars().all(|c| c == '-') { "-" } else { word });
        words.collect::<Vec<_>>().join(" ")
    });
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::replay::exchange;

    fn asked(id: &str) -> Option<Asked> {
        let exchanges = exchange::load().unwrap();
        Asked::of(exchanges.iter().find(|exchange| exchange.id == id).unwrap())
    }

    #[test]
    fn a_query_says_what_counts() {
        assert_eq!(asked("001_status"), None);
        assert_eq!(asked("201_sql_json"), Some(Asked::Any));
        assert_eq!(asked("224_group"), Some(Asked::Unordered));
        assert_eq!(asked("228_order"), Some(Asked::Ordered));
        assert_eq!(asked("240_increments_hour"), Some(Asked::Ordered));
        assert_eq!(asked("258_post_incr_body"), Some(Asked::Ordered));
        assert_eq!(asked("490_group_limit"), Some(Asked::Any));
        assert_eq!(asked("493_avg_limit"), Some(Asked::Unordered));
    }

    #[test]
    fn any_right_rows_are_the_same_and_wrong_ones_are_not() {
        let of = |timestamp: &str, value: f64| {
            Asked::Any.settled(Form::Json(json!([{ "timestamp": timestamp, "value": value }])))
        };
        let right = of("2026-01-01 00:00:00.000000", 4.73);
        assert_eq!(right, of("2026-01-01T00:00:00.500000Z", 9.459));
        assert_ne!(right, of("2026-01-01 00:00:00.500000", 4.73));
        let text = |row: &str| {
            Asked::Any.settled(Form::Text(format!("timestamp    value\n----- ---\n{row}")))
        };
        let right = text("2026-01-01 00:00:00.000000   4.73");
        assert_eq!(right, text("2026-01-01 00:00:00.500000 9.459"));
        assert_ne!(right, text("2026-01-01 00:00:00.500000 4.73"));
    }

    #[test]
    fn an_order_counts_where_the_query_says_one() {
        let (one, other) = (Form::Json(json!([1, 2])), Form::Json(json!([2, 1])));
        assert_eq!(Asked::Unordered.settled(one.clone()), Asked::Unordered.settled(other.clone()));
        assert_ne!(Asked::Ordered.settled(one), Asked::Ordered.settled(other));
    }
}
