//! Queries as JSON bodies: `{"dbms", "sql"}`, and `{"dbms", "table", "timeColumn", …}` for a series
//! of spans of time. Both become a `sql` command.

use edgemere_command::{Series, query_command, series_command};
use serde_json::{Map, Value};

use crate::server::reply::Failure;

/// What a query answers with when it does not say.
const OPTIONS: &str = "format = json and stat = false";

const SQL_HINT: &str = "send {\"dbms\": \"NAME\", \"sql\": \"select …\"}, or with \"table\", \
                        \"timeColumn\", \"timeUnit\", \"intervalLength\" and \"projections\"";

/// The command of a body that names a database; none of one that does not, or that has a command.
pub(super) fn command(body: &Map<String, Value>) -> Result<Option<String>, Failure> {
    if !body.contains_key("dbms") || body.contains_key("command") {
        return Ok(None);
    }
    if body.contains_key("timeColumn") {
        return Ok(Some(series_command(&series(body)?, OPTIONS)?));
    }
    let Some(sql) = text(body, "sql")? else {
        return Err(Failure::bad_request("there is no query beside \"dbms\"", SQL_HINT));
    };
    Ok(Some(query_command(&need(body, "dbms")?, OPTIONS, &sql)))
}

fn series(body: &Map<String, Value>) -> Result<Series, Failure> {
    Ok(Series {
        dbms: need(body, "dbms")?,
        table: need(body, "table")?,
        time_column: need(body, "timeColumn")?,
        unit: need(body, "timeUnit")?,
        length: need(body, "intervalLength")?,
        projections: match texts(body, "projections")? {
            none if none.is_empty() => return Err(missing("projections")),
            projections => projections,
        },
        conditions: texts(body, "whereCond")?,
        start: text(body, "startTime")?,
        end: text(body, "endTime")?,
    })
}

fn need(body: &Map<String, Value>, key: &str) -> Result<String, Failure> {
    text(body, key)?.filter(|text| !text.is_empty()).ok_or_else(|| missing(key))
}

fn missing(key: &str) -> Failure {
    Failure::bad_request(format!("\"{key}\" is missing in the body"), SQL_HINT)
}

/// A text, or a number as text.
fn text(body: &Map<String, Value>, key: &str) -> Result<Option<String>, Failure> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => {
            Err(Failure::bad_request(format!("\"{key}\" must be a text or a number"), SQL_HINT))
        }
    }
}

/// Some texts, or one.
fn texts(body: &Map<String, Value>, key: &str) -> Result<Vec<String>, Failure> {
    match body.get(key) {
        Some(Value::Array(items)) => {
            let texts = items.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<Vec<_>>>().ok_or_else(|| {
                Failure::bad_request(format!("\"{key}\" must be a list of texts"), SQL_HINT)
            })
        }
        _ => Ok(text(body, key)?.into_iter().collect()),
    }
}
