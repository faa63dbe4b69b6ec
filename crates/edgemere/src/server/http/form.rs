//! The ways in which EdgeLake's clients write a request: headers, the URL, a JSON body. All of
//! them become the same form.

use std::time::Duration;

use axum::http::{HeaderMap, Uri, header};
use serde_json::Value;

use super::query;
use crate::server::reply::Failure;

/// How long a caller may ask nodes to take.
const TIMEOUT_S_MAX: u64 = 3600;

/// What a request says, however it says it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Form {
    pub(super) command: Option<String>,
    pub(super) destination: Option<String>,
    pub(super) subset: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) html: bool,
    /// Whether the body is a query and not a command: then it is for the rows, wherever they are.
    pub(super) is_query: bool,
    /// What the body gives the variables of the request.
    pub(super) assignments: Option<String>,
    /// Whether a person reads the reply: the caller accepts plain text before all else.
    pub(super) for_people: bool,
    /// Whether it comes from a client of EdgeLake's, which all say so.
    pub(super) edgelake: bool,
}

impl Form {
    /// Reads the headers and the URL; what is in both counts as in the URL.
    pub(super) fn read(headers: &HeaderMap, uri: &Uri) -> Result<Self, Failure> {
        let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let first = accept.unwrap_or_default().split([',', ';']).next().unwrap_or_default();
        let for_people = first.trim().eq_ignore_ascii_case("text/plain");
        let mut form = Self { for_people, ..Self::default() };
        for name in ["command", "destination", "subset", "timeout", "into", "user-agent"] {
            if let Some(value) = headers.get(name) {
                let value = std::str::from_utf8(value.as_bytes()).map_err(|_| {
                    Failure::bad_request(format!("the header \"{name}\" is not UTF-8"), RETRY_HINT)
                })?;
                form.set(name, value)?;
            }
        }
        for (name, value) in query_pairs(uri.query().unwrap_or_default()) {
            form.set(&name, &value)?;
        }
        Ok(form)
    }

    /// Reads a JSON body, whose keys are as the headers.
    pub(super) fn read_json(&mut self, body: &Value) -> Result<(), Failure> {
        let Value::Object(object) = body else {
            return Err(Failure::bad_json("the body must be a JSON object".into()));
        };
        if let Some(command) = query::command(object)? {
            self.command = Some(command);
            self.is_query = true;
        }
        for (name, value) in object {
            let text = value.as_str().map_or_else(|| value.to_string(), String::from);
            self.set(name, &text)?;
        }
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "command" => self.command = Some(value.into()),
            "destination" => {
                self.destination = Some(value.into()).filter(|v: &String| !v.is_empty())
            }
            "subset" => self.subset = value.eq_ignore_ascii_case("true"),
            "timeout" => self.timeout = Some(parse_timeout(value)?),
            "into" => self.html = value.eq_ignore_ascii_case("html"),
            "user-agent" => self.edgelake = value.starts_with(EDGELAKE_AGENT),
            // Other names are other programs' business: a content type.
            _ => {}
        }
        Ok(())
    }
}

/// What EdgeLake's clients call themselves: a node of EdgeLake answers nobody else.
const EDGELAKE_AGENT: &str = "AnyLog/";

const RETRY_HINT: &str = "write the command into the URL, percent-encoded: /?command=get%20status";

fn parse_timeout(value: &str) -> Result<Duration, Failure> {
    let seconds = value.parse::<u64>().ok().filter(|s| (1..=TIMEOUT_S_MAX).contains(s));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        let message = format!("the timeout \"{value}\" is not a number of seconds");
        Failure::bad_request(message, "give 1 to 3600, as in timeout: 20")
    })
}

/// The pairs of a URL's query. EdgeLake's clients separate them with `?` as well as with `&`.
pub(super) fn query_pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.replace('?', "&").as_bytes()).into_owned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(uri: &str) -> Form {
        Form::read(&HeaderMap::new(), &uri.parse().unwrap()).unwrap()
    }

    #[test]
    fn edgelakes_own_url_form_is_read() {
        let form = read("/?User-Agent=AnyLog/1.23?command=get%20status?destination=network");
        assert_eq!(form.command.as_deref(), Some("get status"));
        assert_eq!(form.destination.as_deref(), Some("network"));
        assert!(form.edgelake && !read("/?command=get%20status").edgelake);
    }

    #[test]
    fn percent_signs_that_encode_nothing_stand_for_themselves() {
        assert_eq!(read("/?command=100%+%zz%4").command.as_deref(), Some("100% %zz%4"));
        assert_eq!(read("/?command=%C3%A9%3F%26").command.as_deref(), Some("é?&"));
    }

    #[test]
    fn a_timeout_must_be_seconds() {
        assert!(parse_timeout("10").is_ok());
        for wrong in ["0", "-1", "ten", "1e9", "3601", ""] {
            assert!(parse_timeout(wrong).is_err(), "{wrong}");
        }
    }
}
