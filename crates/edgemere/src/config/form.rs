//! The forms that values of the configuration have: what is right, and how it is written in TOML.

use std::net::{Ipv4Addr, SocketAddr};

use reqwest::Url;
use toml::Value;

use crate::server::NetworkKey;

/// What the values of a key look like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// Any text that is not empty.
    Text,
    /// A file with a secret, or the secret itself, which is not shown.
    Secret,
    /// `ADDR:PORT` of this machine.
    Address,
    /// `HOST:PORT` of any machine.
    Place,
    /// A node's URL.
    Url,
    /// A level or a filter of the log.
    Filter,
    /// `true` or `false`.
    Switch,
    /// So many bytes, as `512MiB`, and not fewer than these.
    Size {
        /// The least.
        min: u64,
    },
    /// So many seconds, at least one.
    Seconds,
    /// So many of something, at least one.
    Count,
    /// Origins of web pages, with commas between them.
    Origins,
    /// Names of hosts, with or without ports, with commas between them.
    Hosts,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Some of these words, with commas between them.
    Words(&'static [&'static str]),
}

impl Form {
    /// Says what is wrong with a text.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Text | Self::Secret if text.trim().is_empty() => Err("it is empty".into()),
            Self::Text | Self::Secret => Ok(()),
            Self::Address => address(text).map(drop),
            Self::Place => place(text),
            Self::Url => node_url(text).map(drop),
            Self::Filter => crate::logging::filter(text).map(drop),
            Self::Switch => one_of(text, SWITCH),
            Self::Size { min } => match size(text)? {
                bytes if bytes < min => Err(format!("\"{text}\" is less than {min} bytes")),
                _ => Ok(()),
            },
            Self::Seconds => seconds(text).map(drop),
            Self::Count => count(text).map(drop),
            Self::Origins => text.split(',').try_for_each(origin),
            Self::Hosts => text.split(',').try_for_each(host),
            Self::Word(words) => one_of(text, words),
            Self::Words(words) => text.split(',').try_for_each(|word| one_of(word, words)),
        }
    }

    /// Whether there can be several values, with commas between them.
    pub(crate) fn is_list(self) -> bool {
        matches!(self, Self::Words(_) | Self::Origins | Self::Hosts)
    }

    /// Whether a text is a secret itself.
    pub(crate) fn hides(self, text: &str) -> bool {
        matches!(self, Self::Secret) && NetworkKey::parse(text).is_some()
    }

    /// The words that are possible, where they can be listed.
    pub(crate) fn words(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Switch => Some(SWITCH),
            Self::Word(words) | Self::Words(words) => Some(words),
            _ => None,
        }
    }

    /// A value of the file as the text that a flag would give.
    pub(crate) fn read_toml(self, value: &Value) -> Result<String, String> {
        let text = match (self, value) {
            (Self::Switch, Value::Boolean(on)) => on.to_string(),
            (form, Value::Array(list)) if form.is_list() => {
                let words: Option<Vec<_>> = list.iter().map(Value::as_str).collect();
                words.filter(|words| !words.is_empty()).ok_or_else(|| self.expected())?.join(",")
            }
            (Self::Size { .. } | Self::Seconds | Self::Count, Value::Integer(number)) => {
                number.to_string()
            }
            (Self::Switch, _) => return Err(self.expected()),
            (_, Value::String(text)) => text.clone(),
            _ => return Err(self.expected()),
        };
        self.check(&text).map(|()| text)
    }

    /// A text as the file has it.
    pub(crate) fn write_toml(self, text: &str) -> String {
        let value = match self {
            Self::Switch => Value::Boolean(text == "true"),
            Self::Seconds | Self::Count => {
                text.parse().map_or_else(|_| Value::from(text), Value::Integer)
            }
            form if form.is_list() => Value::Array(text.split(',').map(Value::from).collect()),
            _ => Value::from(text),
        };
        value.to_string()
    }

    /// What the file may have.
    fn expected(self) -> String {
        match self {
            Self::Switch => "it must be true or false, without quotes".into(),
            Self::Words(words) => format!("it must be a list of {}", list(words)),
            Self::Origins => "it must be a list of origins, as [\"http://localhost:6274\"]".into(),
            Self::Hosts => "it must be a list of names, as [\"db.example.com\"]".into(),
            Self::Word(words) => format!("it must be one of {}, in quotes", list(words)),
            Self::Size { .. } => "it must be a size, as \"512MiB\"".into(),
            Self::Seconds => "it must be a number of seconds".into(),
            Self::Count => "it must be a number".into(),
            _ => "it must be a text, in quotes".into(),
        }
    }
}

const SWITCH: &[&str] = &["true", "false"];

fn one_of(text: &str, words: &[&str]) -> Result<(), String> {
    match words.contains(&text) {
        true => Ok(()),
        false => Err(format!("\"{text}\" is none of {}", list(words))),
    }
}

fn list(words: &[&str]) -> String {
    words.join(", ")
}

/// An origin as browsers send it: a scheme, a host, and a port unless it is the usual one.
fn origin(text: &str) -> Result<(), String> {
    let place = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let is_origin = place.is_some_and(|place| mcp_serve::Host::parse(place).is_some());
    match is_origin {
        true => Ok(()),
        false => Err(format!("\"{text}\" is not an origin, as http://localhost:6274")),
    }
}

fn host(text: &str) -> Result<(), String> {
    let host = mcp_serve::Host::parse(text).map(drop);
    host.ok_or_else(|| format!("\"{text}\" is not a name of a host, as db.example.com"))
}

/// So many bytes: a number with or without a unit.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit: Option<u64> = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "kib" => Some(1 << 10),
        "mib" => Some(1 << 20),
        "gib" => Some(1 << 30),
        "tib" => Some(1 << 40),
        "kb" => Some(1_000),
        "mb" => Some(1_000_000),
        "gb" => Some(1_000_000_000),
        "tb" => Some(1_000_000_000_000),
        _ => None,
    };
    let bytes = digits.parse::<u64>().ok().zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    bytes.ok_or_else(|| format!("\"{text}\" is not a size, as 512MiB, 2GB or a number of bytes"))
}

/// So many seconds.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let seconds = text.parse::<u64>().ok().filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
    seconds.ok_or_else(|| format!("\"{text}\" is not a number of seconds from 1 to {SECONDS_MAX}"))
}

/// So many of something.
pub(crate) fn count(text: &str) -> Result<u32, String> {
    let count = text.parse::<u32>().ok().filter(|count| *count > 0);
    count.ok_or_else(|| format!("\"{text}\" is not a number from 1 to {}", u32::MAX))
}

/// A day is as long as anything may take.
const SECONDS_MAX: u64 = 24 * 3600;

/// An address of this machine: `IP:PORT` or `localhost:PORT`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let localhost = |port: &str| Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port.parse().ok()?)));
    let named = text.strip_prefix("localhost:").and_then(localhost);
    named
        .or_else(|| text.parse().ok())
        .ok_or_else(|| format!("\"{text}\" is not an address and a port, as 127.0.0.1:32349"))
}

fn place(text: &str) -> Result<(), String> {
    let parts = text.rsplit_once(':').filter(|(host, _)| {
        !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c == '/')
    });
    let port = parts.and_then(|(_, port)| port.parse::<u16>().ok()).filter(|port| *port != 0);
    port.map(drop).ok_or_else(|| format!("\"{text}\" is not a host and a port, as 127.0.0.1:32048"))
}

/// A node's URL: `http://HOST:PORT`, or `HOST:PORT`.
pub(crate) fn node_url(text: &str) -> Result<Url, String> {
    let full = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let url = Url::parse(&full)
        .map_err(|error| format!("\"{text}\" is not a URL, as http://127.0.0.1:32349: {error}"))?;
    match url.scheme() {
        "http" => Ok(url),
        other => Err(format!("\"{text}\" begins with {other}://, but nodes speak http://")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_of_this_machine_by_number_or_as_localhost() {
        assert_eq!(address("localhost:80"), Ok("127.0.0.1:80".parse().unwrap()));
        assert_eq!(address("[::1]:0"), Ok("[::1]:0".parse().unwrap()));
        for wrong in ["", "127.0.0.1", ":80", "example.com:80", "127.0.0.1:99999", "localhost:"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_node_is_a_url_with_or_without_its_scheme() {
        assert_eq!(node_url("localhost:32349").unwrap().as_str(), "http://localhost:32349/");
        assert_eq!(node_url("http://[::1]:1").unwrap().as_str(), "http://[::1]:1/");
        for wrong in ["", "https://a", "ftp://a", "a b", "http://"] {
            assert!(node_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_size_is_a_number_with_or_without_a_unit() {
        let sizes = [("0", 0), ("512MiB", 512 << 20), ("1gib", 1 << 30), ("2 GB", 2_000_000_000)];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "MiB", "-1", "1.5GiB", "1 XB", "99999999999TiB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
        assert!(Form::Size { min: 10 }.check("9").is_err());
        assert_eq!(seconds("60"), Ok(60));
        assert!(seconds("0").is_err() && seconds("1d").is_err());
        assert_eq!(count("8"), Ok(8));
        assert!(count("0").is_err() && count("-1").is_err() && count("many").is_err());
    }

    #[test]
    fn a_place_is_a_host_and_a_port() {
        for right in ["127.0.0.1:32048", "master.example.com:1", "[::1]:5"] {
            place(right).unwrap();
        }
        for wrong in ["", "host", "host:", ":1", "a b:1", "http://a:1", "host:0", "host:70000"] {
            assert!(place(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_written_to_the_file_is_read_back() {
        for (form, text) in [
            (Form::Text, "a \"b\" \\ c"),
            (Form::Switch, "false"),
            (Form::Size { min: 0 }, "64MiB"),
            (Form::Seconds, "60"),
            (Form::Count, "8"),
            (Form::Words(&["a", "b"]), "a,b"),
            (Form::Origins, "http://localhost:6274,https://app.example.com"),
            (Form::Hosts, "db.example.com,db:80"),
            (Form::Word(&["a"]), "a"),
        ] {
            let table: toml::Table = format!("k = {}", form.write_toml(text)).parse().unwrap();
            assert_eq!(form.read_toml(&table["k"]).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        for (form, value) in [
            (Form::Switch, Value::from("true")),
            (Form::Text, Value::from(1)),
            (Form::Words(&["a"]), Value::Array(vec![])),
            (Form::Words(&["a"]), Value::Array(vec![Value::from(1)])),
            (Form::Words(&["a"]), Value::from("b")),
            (Form::Origins, Value::Array(vec![])),
            (Form::Origins, Value::from("localhost:6274")),
            (Form::Origins, Value::from("http://localhost:6274/page")),
            (Form::Hosts, Value::from("http://db.example.com")),
            (Form::Word(&["a"]), Value::from(true)),
        ] {
            assert!(form.read_toml(&value).is_err(), "{form:?} {value}");
        }
    }
}
