//! The `sql` command of a series of spans of time, as charts ask for one over REST: a table, its
//! column of times, a unit, and what to compute of each span.

use edgemere_query::sql::{condition, results};

use crate::error::Error;
use crate::sql_command;

/// A series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// The database.
    pub dbms: String,
    /// The table.
    pub table: String,
    /// The column of times.
    pub time_column: String,
    /// The unit of the spans.
    pub unit: String,
    /// How many of the unit a span has.
    pub length: String,
    /// What is computed of each span: `avg(value)`.
    pub projections: Vec<String>,
    /// Conditions, all of which hold.
    pub conditions: Vec<String>,
    /// The first time.
    pub start: Option<String>,
    /// The time before which the series ends.
    pub end: Option<String>,
}

/// The command that asks for a series. Every part is parsed by itself first, so that none can be
/// more than what it stands for.
pub fn series_command(series: &Series, options: &str) -> Result<String, Error> {
    let column = name(&series.time_column);
    let spans =
        format!("{}, {}", word("timeUnit", &series.unit)?, word("intervalLength", &series.length)?);
    let mut computed = vec![format!("increments({spans}, {column})")];
    for projection in &series.projections {
        computed.push(results(projection)?);
    }
    let mut conditions = Vec::new();
    for text in &series.conditions {
        conditions.push(format!("({})", condition(text)?));
    }
    for (time, comparison) in [(&series.start, ">="), (&series.end, "<")] {
        if let Some(time) = time {
            conditions.push(format!("{column} {comparison} {}", moment(time)?));
        }
    }
    let mut sql = format!("select {} from {}", computed.join(", "), name(&series.table));
    if !conditions.is_empty() {
        sql.push_str(&format!(" where {}", conditions.join(" and ")));
    }
    Ok(sql_command(&series.dbms, options, &sql))
}

/// A name in SQL's quotes.
fn name(text: &str) -> String {
    format!("\"{}\"", text.to_lowercase().replace('"', "\"\""))
}

/// A unit or a number, of which the query says whether it is one.
fn word<'a>(key: &str, text: &'a str) -> Result<&'a str, Error> {
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric());
    is_word.then_some(text).ok_or_else(|| Error::BadValue {
        key: key.into(),
        value: text.into(),
        expected: "a unit of time, as hour, and a whole number".into(),
        at: None,
    })
}

/// A time: a date, in quotes or without, or an expression as `now() - 1 day`.
fn moment(text: &str) -> Result<String, Error> {
    let is_date = text.len() >= 10
        && text.chars().take(4).all(|c| c.is_ascii_digit())
        && text.chars().nth(4) == Some('-');
    match is_date {
        true => Ok(format!("'{}'", text.replace('\'', "''"))),
        false => Ok(format!("({})", condition(text)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series() -> Series {
        Series {
            dbms: "new_company".into(),
            table: "rand_data".into(),
            time_column: "timestamp".into(),
            unit: "hour".into(),
            length: "12".into(),
            projections: vec!["count(value)".into(), "avg(value)::float(2)".into()],
            start: Some("'2026-01-01'".into()),
            end: Some("2026-01-02".into()),
            ..Series::default()
        }
    }

    #[test]
    fn a_series_is_a_query() {
        let command = series_command(&series(), "format = json").unwrap();
        let sql = "select increments(hour, 12, \\\"timestamp\\\"), count(value), \
                   avg(value)::float(2) from \\\"rand_data\\\" where \\\"timestamp\\\" >= \
                   ('2026-01-01') and \\\"timestamp\\\" < '2026-01-02'";
        assert_eq!(command, format!("sql new_company format = json \"{sql}\""));
    }

    #[test]
    fn no_part_is_more_than_what_it_stands_for() {
        let wrong = [
            Series { unit: "hour, 1, t), (select 1".into(), ..series() },
            Series { length: "1) --".into(), ..series() },
            Series { projections: vec!["1 from other; drop table t".into()], ..series() },
            Series { projections: vec!["avg(value) from other".into()], ..series() },
            Series { conditions: vec!["1 = 1) or (2 = 2".into()], ..series() },
            Series { start: Some("now()) union select (1".into()), ..series() },
        ];
        for series in wrong {
            assert!(series_command(&series, "format = json").is_err(), "{series:?}");
        }
        let table = Series { table: "t\" where 1=1 --".into(), ..series() };
        assert!(series_command(&table, "").unwrap().contains(r#"from \"t\"\" where 1=1 --\""#));
        let comment = Series { projections: vec!["avg(value) -- all".into()], ..series() };
        assert!(!series_command(&comment, "").unwrap().contains("--"));
    }
}
