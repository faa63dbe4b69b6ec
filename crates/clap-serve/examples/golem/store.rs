//! The services, as the commands ask them: one HTTP request each, at the address of `GOLEM_SERVICES_URL`.

use std::{
    env, fs,
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    path::Path,
    time::Duration,
};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// Where the services are, and the variable that says otherwise.
const URL: &str = "http://127.0.0.1:9881";
pub(crate) const URL_VARIABLE: &str = "GOLEM_SERVICES_URL";
/// How long the services have.
const TIME_MAX: Duration = Duration::from_secs(4);
/// What a command writes that must never be offered: a test looks for it.
const MARKER: &str = ".golem-blocked-ran";

/// What a command answers, or why it does not.
pub(crate) type Answer = Result<Value, String>;

/// The services.
pub(crate) struct Store {
    /// Their address, as HOST:PORT.
    authority: String,
}

impl Store {
    pub(crate) fn open() -> Result<Self, String> {
        let url = env::var(URL_VARIABLE).unwrap_or_else(|_| URL.to_owned());
        let authority = url.trim_end_matches('/').strip_prefix("http://");
        let authority =
            authority.ok_or_else(|| format!("{URL_VARIABLE} must be http://HOST:PORT"))?;
        Ok(Self { authority: authority.to_owned() })
    }

    /// All records of a kind, by name.
    pub(crate) fn list(&self, kind: &str) -> Result<Vec<Value>, String> {
        match self.ask("GET", &[&plural(kind)], &Value::Null)? {
            Value::Array(records) => Ok(records),
            other => Err(format!("the services answer {other} instead of a list")),
        }
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Answer {
        self.ask("GET", &[&plural(kind), name], &Value::Null)
    }

    /// Adds a record, or changes it: what is given goes over what was there.
    pub(crate) fn put(&self, kind: &str, name: &str, fields: Value) -> Answer {
        self.ask("PUT", &[&plural(kind), name], &fields)
    }

    /// Changes a record that must be there.
    pub(crate) fn change(&self, kind: &str, name: &str, fields: Value) -> Answer {
        self.ask("PATCH", &[&plural(kind), name], &fields)
    }

    pub(crate) fn delete(&self, kind: &str, name: &str) -> Answer {
        self.ask("DELETE", &[&plural(kind), name], &Value::Null)
    }

    /// Removes all records of a kind, and says how many there were.
    pub(crate) fn clear(&self, kind: &str) -> Answer {
        self.ask("DELETE", &[&plural(kind)], &Value::Null)
    }

    /// Asks for something that only a worker does.
    pub(crate) fn worker(&self, method: &str, name: &str, action: &str, body: &Value) -> Answer {
        self.ask(method, &["workers", name, action], body)
    }

    fn ask(&self, method: &str, path: &[&str], body: &Value) -> Answer {
        let reply = self.exchange(method, path, body).map_err(|error| {
            format!(
                "the services at http://{} do not answer: {error}; start them with \
                 \"golem server run\", or set {URL_VARIABLE}",
                self.authority
            )
        })?;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        let is_well = head.split(' ').nth(1) == Some("200");
        let value: Value = serde_json::from_str(body)
            .map_err(|error| format!("the services answer what is no JSON: {error}"))?;
        match (is_well, value.get("error").and_then(Value::as_str)) {
            (true, _) => Ok(value),
            (false, Some(message)) => Err(message.to_owned()),
            (false, None) => Err(format!("the services answer {head}")),
        }
    }

    fn exchange(&self, method: &str, path: &[&str], body: &Value) -> io::Result<String> {
        let mut addresses = self.authority.to_socket_addrs()?;
        let address = addresses.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let mut stream = TcpStream::connect_timeout(&address, TIME_MAX)?;
        stream.set_read_timeout(Some(TIME_MAX))?;
        let encoded = |word: &&str| utf8_percent_encode(word, NON_ALPHANUMERIC).to_string();
        let path: Vec<String> = path.iter().map(encoded).collect();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = format!(
            "{method} /v1/{} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            path.join("/"),
            self.authority,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply)
    }
}

/// The records of a kind, as the services call them.
fn plural(kind: &str) -> String {
    format!("{}s", kind.replace(' ', "-"))
}

/// The record of that name among others, as a list.
pub(crate) fn named(records: Vec<Value>, name: &str) -> Value {
    records.into_iter().filter(|record| record.get("name") == Some(&json!(name))).collect()
}

/// Says that a command ran which must not be offered, in a file that nothing removes.
pub(crate) fn mark(command: &str) -> Answer {
    let written = fs::write(Path::new(MARKER), command);
    written.map_err(|error| format!("no marker can be written: {error}"))?;
    Ok(json!({ "ran": command, "token": "SECRET-OF-A-BLOCKED-COMMAND" }))
}
