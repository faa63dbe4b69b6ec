//! The rows that are stored, and what a right answer has of them. Every value of a row follows from
//! its id, so that every value of an answer can be checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;

use super::{ask::Answer, dice::mix};

/// How many rows a batch has. A batch is acknowledged, stored and found whole, or not at all.
pub(super) const BATCH: u64 = 20;

/// The statement that [`check`] takes the answer of.
pub(super) fn statement(table: &str) -> String {
    format!(
        "select batch, count(*) as n, count(distinct id) as ids, sum(id) as sum_id, sum(v) as sum_v, \
         min(s) as least, max(s) as most from {table} group by batch order by batch"
    )
}

/// One row of a batch, as CSV.
pub(super) fn row(id: u64) -> String {
    format!("{id},{},{},{},{}", id / BATCH, value(id), text(id), timestamp(id))
}

/// The columns of [`row`].
pub(super) const COLUMNS: &str = "id,batch,v,s,timestamp";

fn value(id: u64) -> u64 {
    mix(id) % 1_000_000
}

fn text(id: u64) -> String {
    format!("s{:016x}", mix(id ^ 0x5555))
}

/// A moment of the day on which the process started, so that rows are neither old nor of tomorrow.
fn timestamp(id: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
    let (year, month, day) = civil(now / 86_400);
    let (hour, minute, second) = (id / 3600 % 24, id / 60 % 60, id % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// The date of a day since 1970, as Howard Hinnant's `civil_from_days` has it.
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let (era, of_era) = (z / 146_097, z % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + u64::from(month <= 2), month, day)
}

/// A batch as CSV.
pub(super) fn csv(batch: u64) -> String {
    let mut csv = format!("{COLUMNS}\n");
    for id in batch * BATCH..(batch + 1) * BATCH {
        // Writing to a text does not fail.
        let _ = writeln!(csv, "{}", row(id));
    }
    csv
}

/// The same without the times of the rows.
pub(super) fn csv_without_time(batch: u64) -> String {
    let cut = |line: &str| line.rsplit_once(',').map_or("", |(line, _)| line).to_owned() + "\n";
    csv(batch).lines().map(cut).collect()
}

/// A batch as JSON, a list of objects.
pub(super) fn json(batch: u64) -> String {
    let object = |id: u64| {
        let (value, text, time) = (value(id), text(id), timestamp(id));
        format!(r#"{{"id":{id},"batch":{batch},"v":{value},"s":"{text}","timestamp":"{time}"}}"#)
    };
    let objects: Vec<String> = (batch * BATCH..(batch + 1) * BATCH).map(object).collect();
    format!("[{}]", objects.join(","))
}

/// What an answer is, seen from the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All that was acknowledged, and nothing that was not sent.
    Right,
    /// Some acknowledged rows are not in it, and what is in it is right.
    Without(BTreeSet<u64>),
    /// A value of it is not what was stored.
    Wrong(String),
}

/// Compares an answer of [`statement`] with what was acknowledged before it was asked for, and with
/// what had been sent when it came.
pub(super) fn check(answer: &Answer, acknowledged: &BTreeSet<u64>, sent: &BTreeSet<u64>) -> Found {
    let mut found = BTreeSet::new();
    for row in &answer.rows {
        match batch_of(row) {
            Some(batch) if !sent.contains(&batch) => {
                return Found::Wrong(format!("batch {batch} was never sent"));
            }
            Some(batch) if !found.insert(batch) => {
                return Found::Wrong(format!("batch {batch} is there twice"));
            }
            Some(_) => {}
            None => return Found::Wrong(format!("no batch has these values: {row:?}")),
        }
    }
    let without: BTreeSet<u64> = acknowledged.difference(&found).copied().collect();
    if without.is_empty() { Found::Right } else { Found::Without(without) }
}

/// The batch whose values these are, all of them.
fn batch_of(row: &[Value]) -> Option<u64> {
    let numbers: Option<Vec<u64>> = row.iter().take(5).map(number).collect();
    let (batch, told) = match numbers?.as_slice() {
        &[batch, n, ids, sum_id, sum_v] => (batch, [n, ids, sum_id, sum_v]),
        _ => return None,
    };
    let ids = batch.checked_mul(BATCH)?..batch.checked_add(1)?.checked_mul(BATCH)?;
    let expected = [BATCH, BATCH, ids.clone().sum(), ids.clone().map(value).sum()];
    let (least, most) = (ids.clone().map(text).min()?, ids.map(text).max()?);
    let texts: Option<Vec<&str>> = row.iter().skip(5).map(Value::as_str).collect();
    (told == expected && texts?.as_slice() == [least.as_str(), most.as_str()]).then_some(batch)
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// What was sent to one table, and what of it was acknowledged.
#[derive(Clone, Default)]
pub(super) struct Books {
    pub(super) sent: BTreeSet<u64>,
    pub(super) acknowledged: BTreeSet<u64>,
}

/// The same of many tables.
pub(super) type Library = BTreeMap<String, Books>;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn right(batch: u64) -> Vec<Value> {
        let ids = batch * BATCH..(batch + 1) * BATCH;
        let texts: BTreeSet<String> = ids.clone().map(text).collect();
        vec![
            json!(batch),
            json!(BATCH),
            json!(BATCH),
            json!(ids.clone().sum::<u64>()),
            json!(ids.map(value).sum::<u64>()),
            json!(texts.first()),
            json!(texts.last()),
        ]
    }

    fn found(rows: Vec<Vec<Value>>, acknowledged: &[u64], sent: &[u64]) -> Found {
        let answer = Answer { rows, ..Answer::default() };
        let set = |of: &[u64]| of.iter().copied().collect::<BTreeSet<u64>>();
        check(&answer, &set(acknowledged), &set(sent))
    }

    #[test]
    fn an_answer_has_what_was_acknowledged_and_only_what_was_sent() {
        let rows = || vec![right(1), right(2)];
        assert_eq!(found(rows(), &[1], &[1, 2]), Found::Right);
        assert_eq!(found(rows(), &[1, 3], &[1, 2, 3]), Found::Without([3].into()));
        assert!(matches!(found(rows(), &[1], &[1]), Found::Wrong(_)));
        assert!(matches!(found(vec![right(1), right(1)], &[1], &[1]), Found::Wrong(_)));
        let mut changed = right(1);
        changed[4] = json!(7);
        assert!(matches!(found(vec![changed], &[], &[1]), Found::Wrong(_)));
    }

    #[test]
    fn days_have_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(20_775), (2026, 11, 18));
        assert_eq!(civil(19_782), (2024, 2, 29));
    }
}
