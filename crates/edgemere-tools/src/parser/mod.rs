//! The response parser: picks the answer out of a reply. First a JSONPath, then filter, map, unique
//! and sort, in that order.

mod order;

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use self::order::order;

/// What picks the answer out of a reply.
#[derive(Clone, Debug)]
pub struct Parser {
    pub(crate) path: JsonPath,
    pub(crate) filter: Option<Filter>,
    /// The field that is kept of each.
    pub(crate) map: Option<String>,
    pub(crate) unique: bool,
    pub(crate) sort: bool,
}

/// Keeps what has a value in a field.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) field: String,
    pub(crate) wanted: Wanted,
}

/// The value that is wanted.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Argument(String),
    Literal(Value),
}

/// Why a reply has no answer in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The reply is not JSON.
    #[error("the reply is not JSON, so that nothing can be picked out of it: \"{beginning}\"")]
    NotJson {
        /// How it begins.
        beginning: String,
    },
    /// Nothing stands where the answer should be.
    #[error("the reply has nothing at \"{path}\"; it is {found}")]
    Missing {
        /// The path.
        path: String,
        /// What there is.
        found: String,
    },
}

impl Parser {
    /// The answer in a reply to a call with these arguments. A text is taken for JSON.
    pub fn apply(&self, reply: Value, arguments: &Map<String, Value>) -> Result<Value, ParseError> {
        let reply = match reply {
            Value::String(text) => serde_json::from_str(&text)
                .map_err(|_| ParseError::NotJson { beginning: beginning(&text) })?,
            reply => reply,
        };
        match is_singular(&self.path.to_string()) {
            true => {
                let found = self.path.query(&reply).first().cloned();
                let value = found.ok_or_else(|| self.missing(&reply))?;
                Ok(self.transform(value, arguments))
            }
            false => {
                let found = self.path.query(&reply).all().into_iter().cloned().collect();
                Ok(self.transform(Value::Array(found), arguments))
            }
        }
    }

    /// Filter, map, unique and sort. A value that is no list is mapped alone.
    fn transform(&self, value: Value, arguments: &Map<String, Value>) -> Value {
        let Value::Array(mut values) = value else {
            return match &self.map {
                Some(name) => field(&value, name).cloned().unwrap_or(Value::Null),
                None => value,
            };
        };
        if let Some(filter) = &self.filter {
            filter.keep(&mut values, arguments);
        }
        if let Some(name) = &self.map {
            values = values.iter().filter_map(|value| field(value, name)).cloned().collect();
        }
        if self.unique {
            unique(&mut values);
        }
        if self.sort {
            values.sort_by(order);
        }
        Value::Array(values)
    }

    fn missing(&self, reply: &Value) -> ParseError {
        const KEYS_MAX: usize = 10;
        let found = match reply {
            Value::Object(object) if object.is_empty() => "an empty object".to_owned(),
            Value::Object(object) => {
                let keys: Vec<_> = object.keys().take(KEYS_MAX).map(String::as_str).collect();
                format!("an object with {}", keys.join(", "))
            }
            Value::Array(values) => format!("a list of {}", values.len()),
            other => crate::words::shown(other),
        };
        ParseError::Missing { path: self.path.to_string(), found }
    }
}

impl Filter {
    /// Keeps what has the wanted value; everything, when it is an argument's that is not given.
    fn keep(&self, values: &mut Vec<Value>, arguments: &Map<String, Value>) {
        let wanted = match &self.wanted {
            Wanted::Literal(value) => Some(value),
            Wanted::Argument(name) => arguments.get(name).filter(|value| !value.is_null()),
        };
        if let Some(wanted) = wanted {
            values
                .retain(|value| field(value, &self.field).is_some_and(|found| same(found, wanted)));
        }
    }
}

/// A field of an object; one in another as `outer.inner`.
fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).or_else(|| {
        let (outer, inner) = name.split_once('.')?;
        field(value.get(outer)?, inner)
    })
}

/// Whether two values are the same, or are written alike: replies have numbers as texts at times.
fn same(one: &Value, other: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    };
    one == other || text(one).is_some_and(|one| text(other) == Some(one))
}

/// Keeps the first of those that are the same, in linear time.
fn unique(values: &mut Vec<Value>) {
    let mut seen = std::collections::HashSet::new();
    values.retain(|value| seen.insert(value.to_string()));
}

/// Whether a path can match at most once: nothing but names and places is in it.
fn is_singular(path: &str) -> bool {
    let mut quote = None;
    let mut escaped = false;
    let several = |c: char| "*?,:".contains(c);
    let outside = path.chars().filter(|c| {
        let was_inside = quote.is_some();
        match (quote, *c) {
            (Some(_), '\\') if !escaped => escaped = true,
            (Some(open), c) if c == open && !escaped => quote = None,
            (None, '\'' | '"') => quote = Some(*c),
            _ => escaped = false,
        }
        !was_inside
    });
    let outside: String = outside.collect();
    !outside.contains(several) && !outside.contains("..")
}

fn beginning(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    text.trim().chars().take(CHARACTERS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parser(path: &str) -> Parser {
        let path = JsonPath::parse(path).unwrap();
        Parser { path, filter: None, map: None, unique: false, sort: false }
    }

    fn apply(parser: &Parser, reply: Value, arguments: Value) -> Value {
        parser.apply(reply, arguments.as_object().unwrap()).unwrap()
    }

    fn tables() -> Value {
        json!([
            {"table": {"name": "rand_data", "dbms": "new_company"}},
            {"table": {"name": "other", "dbms": "test"}},
            {"table": {"name": "more", "dbms": "new_company"}},
        ])
    }

    #[test]
    fn names_are_unique_and_sorted() {
        let parser = Parser { unique: true, sort: true, ..parser("$[*].table.dbms") };
        assert_eq!(apply(&parser, tables(), json!({})), json!(["new_company", "test"]));
    }

    #[test]
    fn an_argument_filters_and_a_field_is_kept() {
        let filter = Filter { field: "dbms".into(), wanted: Wanted::Argument("database".into()) };
        let parser =
            Parser { filter: Some(filter), map: Some("name".into()), ..parser("$[*].table") };
        let answer = apply(&parser, tables(), json!({"database": "new_company"}));
        assert_eq!(answer, json!(["rand_data", "more"]));
        assert_eq!(apply(&parser, tables(), json!({"database": "none"})), json!([]));
        assert_eq!(apply(&parser, tables(), json!({})), json!(["rand_data", "other", "more"]));
    }

    #[test]
    fn literals_filter_fields_inside_and_numbers_written_as_texts() {
        let filter = Filter { field: "a.b".into(), wanted: Wanted::Literal(json!("5")) };
        let parser = Parser { filter: Some(filter), ..parser("$[*]") };
        let reply = json!([{"a": {"b": 5}}, {"a": {"b": "5"}}, {"a": 5}, {"a.b": 5}]);
        assert_eq!(
            apply(&parser, reply, json!({})),
            json!([{"a": {"b": 5}}, {"a": {"b": "5"}}, {"a.b": 5}])
        );
    }

    #[test]
    fn both_ways_to_write_it_give_the_rows() {
        let reply = json!({"Query": [{"temp": 20}, {"temp": 21}], "Statistics": []});
        for path in ["$.Query", "$.Query[*]"] {
            let rows = apply(&parser(path), reply.clone(), json!({}));
            assert_eq!(rows, json!([{"temp": 20}, {"temp": 21}]), "{path}");
            let empty = apply(&parser(path), json!({"Query": []}), json!({}));
            assert_eq!(empty, json!([]), "{path}");
        }
    }

    #[test]
    fn a_path_that_can_match_once_gives_the_value_itself() {
        for path in ["$", "$.a", "$.a[0]", "$['a b']['*,?']", "$[-1].c", "$[\"x\\\"*\"]"] {
            assert!(is_singular(&JsonPath::parse(path).unwrap().to_string()), "{path}");
        }
        for path in ["$[*]", "$.a.*", "$..a", "$[0, 1]", "$[0:2]", "$[?@.a > 1]", "$['a','b']"] {
            assert!(!is_singular(&JsonPath::parse(path).unwrap().to_string()), "{path}");
        }
    }

    #[test]
    fn a_text_is_json_or_an_error_that_says_so() {
        let parser = parser("$.a");
        assert_eq!(apply(&parser, json!("{\"a\": 1}"), json!({})), json!(1));
        let error = parser.apply(json!("EL Query > hello"), &Map::new()).unwrap_err();
        assert!(error.to_string().contains("is not JSON"), "{error}");
        let error = parser.apply(json!({"b": 1}), &Map::new()).unwrap_err();
        assert_eq!(error.to_string(), "the reply has nothing at \"$.a\"; it is an object with b");
    }

    #[test]
    fn what_is_no_list_is_mapped_alone() {
        let parser = Parser { map: Some("b".into()), sort: true, ..parser("$.a") };
        assert_eq!(apply(&parser, json!({"a": {"b": 2}}), json!({})), json!(2));
    }
}
