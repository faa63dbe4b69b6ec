//! SQL with holes: where a hole may stand, and what each kind of value becomes in it. A value is one
//! token, or a part that was parsed by itself; it is never more than that. Who fills the holes, and
//! with what, is not known here.

use std::ops::Range;

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use serde_json::Value;

use crate::sql::dialect::{self, Request, offset, tokenize};
pub use crate::sql::error::Error;
use crate::sql::plan::statement_size;

/// How a hole stands in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As a token of its own.
    Alone,
    /// In a text in single quotes, of which this is the range with its quotes.
    InText(Range<usize>),
}

/// Why a value cannot stand where it should.
#[derive(Debug, thiserror::Error)]
pub enum Misfit {
    /// It is not SQL of the kind that is wanted there.
    #[error(transparent)]
    Sql(#[from] Error),
    /// It is another kind of value.
    #[error("must be {expected}")]
    Value {
        /// What it may be.
        expected: &'static str,
    },
}

/// How each hole stands, in the order of the holes. In the SQL, each hole's range holds a name as
/// `_x_` in its place, since the tokenizer knows names. None is a hole that does not stand as one
/// token.
pub fn standings(sql: &str, holes: &[Range<usize>]) -> Result<Vec<Option<Standing>>, Error> {
    let tokens = tokenize(sql)?;
    let places: Vec<_> = tokens.iter().map(|token| (place(sql, token), &token.token)).collect();
    let standing = |hole: &Range<usize>| {
        places.iter().find_map(|(place, token)| match token {
            Token::Word(word) if place == hole && word.quote_style.is_none() => {
                Some(Standing::Alone)
            }
            Token::SingleQuotedString(_) if place.start < hole.start && hole.end < place.end => {
                Some(Standing::InText(place.clone()))
            }
            _ => None,
        })
    };
    Ok(holes.iter().map(standing).collect())
}

/// Whether some of these places stand inside of a token, or of a comment.
pub fn inside_tokens(sql: &str, places: &[Range<usize>]) -> Result<Vec<bool>, Error> {
    let tokens = tokenize(sql)?;
    let is_blank = |token: &Token| {
        use Whitespace::{Newline, Space, Tab};
        matches!(token, Token::Whitespace(Space | Newline | Tab))
    };
    let taken = tokens.iter().filter(|token| !is_blank(&token.token));
    let taken: Vec<_> = taken.map(|token| place(sql, token)).collect();
    let is_inside =
        |place: &Range<usize>| taken.iter().any(|t| t.start < place.end && place.start < t.end);
    Ok(places.iter().map(is_inside).collect())
}

/// A statement that consists of nothing but reading, by its grammar.
pub fn check(sql: &str) -> Result<(), Error> {
    let reading = match Request::of(sql)? {
        Request::Query(reading) | Request::Explain(reading, _) | Request::Describe(reading) => {
            reading
        }
        Request::Show(_) => return Ok(()),
    };
    match reading.query() {
        Some(query) => statement_size::check(query),
        None => Err(Error::NotReadOnly { what: "the statement".into() }),
    }
}

/// The tokens of SQL without its values: texts, numbers and names in quotes are all alike. Two
/// statements with the same skeleton do the same with other values.
pub fn skeleton(sql: &str) -> Result<String, Error> {
    let tokens = tokenize(sql)?;
    let tokens = tokens.iter().map(|token| match &token.token {
        Token::Whitespace(_) => String::new(),
        Token::SingleQuotedString(_) => "'…' ".into(),
        Token::Number(..) => "0 ".into(),
        Token::Word(word) if word.quote_style.is_some() => "\"…\" ".into(),
        other => format!("{other} "),
    });
    Ok(tokens.collect::<String>().trim_end().to_owned())
}

/// A value as a literal, and a list as several.
pub fn literal(value: &Value) -> Result<String, Misfit> {
    match value {
        Value::Null => Ok("NULL".into()),
        Value::Bool(true) => Ok("TRUE".into()),
        Value::Bool(false) => Ok("FALSE".into()),
        // A sign before a number could join one that stands before it: "a -{b}".
        Value::Number(number) if number.to_string().starts_with('-') => Ok(format!("({number})")),
        Value::Number(number) => Ok(number.to_string()),
        Value::String(text) => Ok(quoted(text)),
        Value::Array(values) if values.is_empty() => {
            Err(Misfit::Value { expected: "a list with at least one item" })
        }
        Value::Array(values) if values.iter().all(|value| !value.is_array()) => {
            let literals = values.iter().map(literal).collect::<Result<Vec<_>, _>>()?;
            Ok(literals.join(", "))
        }
        Value::Array(_) | Value::Object(_) => {
            Err(Misfit::Value { expected: "a text, a number, true, false or a list of them" })
        }
    }
}

/// A text in single quotes.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A table: its name, or its database's and its own with a dot between them.
pub fn table(value: &Value) -> Result<String, Misfit> {
    let text = text(value, "the name of a table, or database.table")?;
    let names: Vec<_> = text.split('.').collect();
    match names.len() {
        1 | 2 if names.iter().all(|name| is_name(name)) => {
            let names: Vec<_> = names.iter().map(|name| identifier(name)).collect();
            Ok(names.join("."))
        }
        _ => Err(Misfit::Value { expected: "the name of a table, or database.table" }),
    }
}

/// A column, or several.
pub fn column(value: &Value) -> Result<String, Misfit> {
    let one = |value: &Value| {
        let expected = "the name of a column: letters, digits and _";
        let name = text(value, expected)?;
        is_name(name).then(|| identifier(name)).ok_or(Misfit::Value { expected })
    };
    several(value, one)
}

/// An expression about the rows at hand.
pub fn expression(value: &Value) -> Result<String, Misfit> {
    let text = text(value, "a condition, as: value > 90")?;
    Ok(format!("({})", dialect::expression(text)?))
}

/// What stands after SELECT.
pub fn projection(value: &Value) -> Result<String, Misfit> {
    several(value, |value| {
        Ok(dialect::projection(text(value, "columns or expressions, as: avg(value)")?)?)
    })
}

/// What stands after GROUP BY.
pub fn grouping(value: &Value) -> Result<String, Misfit> {
    several(value, |value| Ok(dialect::grouping(text(value, "columns or expressions")?)?))
}

/// What stands after ORDER BY: texts as `value desc`, or objects with `column` and `direction`.
pub fn ordering(value: &Value) -> Result<String, Misfit> {
    const EXPECTED: &str =
        "columns, as: \"value desc\" or {\"column\": …, \"direction\": \"DESC\"}";
    several(value, |value| match value {
        Value::Object(order) => {
            let by = text(order.get("column").unwrap_or(&Value::Null), EXPECTED)?;
            let direction = order.get("direction").map_or(Ok("asc"), |d| text(d, EXPECTED))?;
            let direction = direction.to_ascii_lowercase();
            match direction.as_str() {
                "asc" | "desc" => Ok(format!("{} {direction}", dialect::expression(by)?)),
                _ => Err(Misfit::Value { expected: "ordered by \"ASC\" or \"DESC\"" }),
            }
        }
        value => Ok(dialect::ordering(text(value, EXPECTED)?)?),
    })
}

/// A moment: a date with or without a time, in quotes or without, or an expression as `now() - 1 day`.
pub fn moment(value: &Value) -> Result<String, Misfit> {
    let text = text(value, "a time, as: 2026-01-31 12:00:00 or now() - 1 day")?.trim();
    let bare = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text);
    let is_date = bare.len() >= 10
        && bare.chars().take(4).all(|c| c.is_ascii_digit())
        && bare.chars().nth(4) == Some('-');
    match is_date {
        true => Ok(quoted(bare)),
        false => Ok(format!("({})", dialect::expression(text)?)),
    }
}

/// A word that is written as it stands. Which words there are is for the caller to say.
pub fn keyword(value: &Value) -> Result<String, Misfit> {
    let expected = "one word";
    let word = text(value, expected)?;
    let is_word = !word.is_empty()
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !word.starts_with(|c: char| c.is_ascii_digit());
    is_word.then(|| word.to_owned()).ok_or(Misfit::Value { expected })
}

fn several(
    value: &Value,
    one: impl Fn(&Value) -> Result<String, Misfit>,
) -> Result<String, Misfit> {
    match value {
        Value::Array(values) if values.is_empty() => {
            Err(Misfit::Value { expected: "a list with at least one item" })
        }
        Value::Array(values) => {
            let parts = values.iter().map(one).collect::<Result<Vec<_>, _>>()?;
            Ok(parts.join(", "))
        }
        value => one(value),
    }
}

fn text<'a>(value: &'a Value, expected: &'static str) -> Result<&'a str, Misfit> {
    value.as_str().ok_or(Misfit::Value { expected })
}

/// Whether something can be called so: tables and columns have no other letters in their names.
fn is_name(name: &str) -> bool {
    const CHARACTERS_MAX: usize = 128;
    !name.is_empty()
        && name.chars().count() <= CHARACTERS_MAX
        && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.to_lowercase().replace('"', "\"\""))
}

fn place(sql: &str, token: &TokenWithSpan) -> Range<usize> {
    offset(sql, token.span.start)..offset(sql, token.span.end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_hole_stands_alone_or_in_a_text() {
        let sql = "select _a_ from t where b like 'x _c_%' and _d_e = \"_f_\" -- _g_";
        let hole = |name: &str| {
            let at = sql.find(name).unwrap();
            at..at + name.len()
        };
        let holes = ["_a_", "_c_", "_d_", "_f_", "_g_"].map(hole);
        let text = sql.find("'x").unwrap()..sql.find("%'").unwrap() + 2;
        let expected = [Some(Standing::Alone), Some(Standing::InText(text)), None, None, None];
        assert_eq!(standings(sql, &holes).unwrap(), expected);
    }

    #[test]
    fn a_skeleton_tells_statements_apart_and_not_their_values() {
        let one = skeleton("select \"a\" from t where b = 'x' and c > 1").unwrap();
        assert_eq!(one, "select \"…\" from t where b = '…' and c > 0");
        let other = skeleton("select \"b\" from t  where b = 'it''s -- y'\n and c > 2.5").unwrap();
        assert_eq!(one, other);
        assert_ne!(one, skeleton("select \"a\" from t where b = 'x' or c > 1").unwrap());
    }

    #[test]
    fn values_are_literals() {
        let values = [
            (json!("it's"), "'it''s'"),
            (json!("\\' or 1=1"), "'\\'' or 1=1'"),
            (json!(-5), "(-5)"),
            (json!(2.5), "2.5"),
            (json!(true), "TRUE"),
            (json!(null), "NULL"),
            (json!(["a", 1]), "'a', 1"),
        ];
        for (value, expected) in values {
            assert_eq!(literal(&value).unwrap(), expected);
        }
        for value in [json!([]), json!([[1]]), json!({"a": 1})] {
            assert!(literal(&value).is_err(), "{value}");
        }
    }

    #[test]
    fn names_are_quoted_or_refused() {
        assert_eq!(table(&json!("Rand_Data")).unwrap(), "\"rand_data\"");
        assert_eq!(table(&json!("db.t")).unwrap(), "\"db\".\"t\"");
        assert_eq!(column(&json!(["a", "b"])).unwrap(), "\"a\", \"b\"");
        for name in ["", "a.b.c", "a\"b", "a;b", "a b", "a.", ".a", "t where 1=1", "a\0", "a'"] {
            assert!(table(&json!(name)).is_err(), "{name}");
        }
        assert_eq!(table(&json!("a--")).unwrap(), "\"a--\"");
        assert!(column(&json!("a.b")).is_err());
        assert!(column(&json!(1)).is_err());
    }

    #[test]
    fn times_are_dates_or_expressions() {
        assert_eq!(moment(&json!("2026-01-01")).unwrap(), "'2026-01-01'");
        assert_eq!(moment(&json!("'2026-01-01'")).unwrap(), "'2026-01-01'");
        assert_eq!(moment(&json!("2026-01-01' or '1")).unwrap(), "'2026-01-01'' or ''1'");
        assert_eq!(moment(&json!("now() - 7 days")).unwrap(), "(now() - 7 days)");
        assert!(moment(&json!("now()) union select (1")).is_err());
        assert!(moment(&json!("(select max(ts) from t)")).is_err());
    }

    #[test]
    fn orders_are_texts_or_objects() {
        let order = json!([{"column": "a", "direction": "DESC"}, "b asc nulls first", {"column": "avg(c)"}]);
        assert_eq!(ordering(&order).unwrap(), "a desc, b asc nulls first, avg(c) asc");
        for order in [
            json!({"column": "a; drop"}),
            json!({"column": "a, b"}),
            json!({"column": "a", "direction": "desc, b"}),
            json!([]),
        ] {
            assert!(ordering(&order).is_err(), "{order}");
        }
    }
}
