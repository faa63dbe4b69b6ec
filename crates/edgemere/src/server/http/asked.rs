//! What a request for a query says, in the ways that every door has: headers, the URL, a JSON body. What
//! the body says counts more than the URL, and the URL more than a header.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::{HeaderMap, Uri};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::form::query_pairs;
use crate::server::reply::Failure;

/// What may also be said in headers.
const HEADERS: [&str; 4] = ["destination", "subset", "timeout", "max_time"];

/// A JSON object that came, or why there is none.
pub(super) type Body = Result<Json<Map<String, Value>>, JsonRejection>;

/// Reads what a request says. A key that the door does not have is an error, but in a header.
pub(super) fn asked<T: DeserializeOwned>(
    headers: &HeaderMap,
    uri: &Uri,
    body: Option<Body>,
) -> Result<T, Failure> {
    let mut said = in_headers(headers, &HEADERS)?;
    for (name, value) in query_pairs(uri.query().unwrap_or_default()) {
        said.insert(name, value.into());
    }
    if let Some(body) = body {
        let Json(body) = body.map_err(|error| Failure::bad_json(error.body_text()))?;
        said.extend(body);
    }
    serde_json::from_value(Value::Object(said)).map_err(|error| {
        Failure::bad_request(format!("the query is not understood: {error}"), HINT)
    })
}

/// What these headers say.
pub(super) fn in_headers(
    headers: &HeaderMap,
    names: &[&str],
) -> Result<Map<String, Value>, Failure> {
    let mut said = Map::new();
    for &name in names {
        if let Some(value) = headers.get(name) {
            let value = value.to_str().map_err(|_| {
                let message = format!("the header \"{name}\" is not plain text");
                Failure::bad_request(message, "write it into the URL or the body")
            })?;
            said.insert(name.into(), value.trim().into());
        }
    }
    Ok(said)
}

const HINT: &str = "give \"dbms\" and \"sql\"; docs/reference/rest.md lists the other keys";

/// A text that is not empty.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(from)?;
    Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// A whole number, or a text that is one.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        Value::Number(number) => match number.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(D::Error::custom(format!("{number} is not a whole number"))),
        },
        Value::String(text) => match text.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(D::Error::custom(format!("\"{text}\" is not a whole number"))),
        },
        other => Err(D::Error::custom(format!("{other} is not a whole number"))),
    }
}

/// True or false, or a text that is one of them.
pub(super) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(flag),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Ok(false),
        other => Err(D::Error::custom(format!("{other} is neither true nor false"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Said {
        dbms: String,
        #[serde(default, deserialize_with = "text")]
        destination: Option<String>,
        #[serde(default, deserialize_with = "flag")]
        subset: bool,
        #[serde(default, deserialize_with = "number")]
        max_time: Option<u64>,
    }

    fn said(headers: &[(&'static str, &str)], uri: &str, body: Value) -> Option<Said> {
        let headers =
            headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let Value::Object(body) = body else { panic!("no object") };
        asked(&headers.collect(), &uri.parse().unwrap(), Some(Ok(Json(body)))).ok()
    }

    #[test]
    fn each_way_says_the_same_and_the_body_counts_most() {
        let all = |dbms: &str| Said {
            dbms: dbms.into(),
            destination: Some("network".into()),
            subset: true,
            max_time: Some(7),
        };
        let headers = [("destination", "network"), ("subset", "True"), ("max_time", "7")];
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(said(&headers, "/", json(r#"{"dbms":"d"}"#)), Some(all("d")));
        let uri = "/?dbms=d&destination=network&subset=true&max_time=7";
        assert_eq!(said(&[], uri, json("{}")), Some(all("d")));
        let body = r#"{"dbms":"e","destination":"network","subset":true,"max_time":7}"#;
        assert_eq!(said(&[("destination", "x")], uri, json(body)), Some(all("e")));
        assert_eq!(said(&[("destination", "x")], uri, json("{}")), Some(all("d")));
        let empty = r#"{"dbms":"d","destination":"","subset":null,"max_time":null}"#;
        let none = Said { dbms: "d".into(), destination: None, subset: false, max_time: None };
        assert_eq!(said(&[], "/", json(empty)), Some(none));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for body in [
            r#"{}"#,
            r#"{"dbms":"d","destinatoin":"network"}"#,
            r#"{"dbms":"d","subset":"perhaps"}"#,
            r#"{"dbms":"d","subset":1}"#,
            r#"{"dbms":"d","max_time":-1}"#,
            r#"{"dbms":"d","max_time":1.5}"#,
            r#"{"dbms":"d","max_time":"soon"}"#,
        ] {
            assert_eq!(said(&[], "/", serde_json::from_str(body).unwrap()), None, "{body}");
        }
        assert_eq!(said(&[], "/?dbms=d&subset=", Value::Object(Map::new())), None);
    }
}
