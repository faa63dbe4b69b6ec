//! A session with a server, in the way of the captured client: it begins with the call that opens it.

use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use crate::http::Client;

/// The header that names a session.
const HEADER: &str = "mcp-session-id";
/// A session that nobody has opened.
const UNKNOWN: &str = "00000000000000000000000000000000";

/// Which session a call is made in.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Which {
    /// The one that was opened last.
    #[default]
    Own,
    /// One that nobody has opened.
    Unknown,
}

/// What a server answered.
pub(super) struct Reply {
    pub(super) status: u16,
    /// The message; nothing when there was none.
    pub(super) message: Value,
}

/// A session with a server.
pub(super) struct Session {
    client: Client,
    url: String,
    id: Option<String>,
}

impl Session {
    pub(super) fn new(node: &str) -> Self {
        Self { client: Client::new(), url: format!("{node}/mcp"), id: None }
    }

    /// Sends what a client sends. A call that opens a session opens one.
    pub(super) fn ask(&mut self, request: &str, which: Which) -> Result<Reply> {
        let message: Value = serde_json::from_str(request).unwrap_or_default();
        let opens = message.get("method").is_some_and(|method| method == "initialize");
        if opens {
            self.id = None;
        }
        let id = match which {
            Which::Own => self.id.as_deref(),
            Which::Unknown => Some(UNKNOWN),
        };
        let answer = self.client.send("POST", &self.url, &headers(id), request)?;
        if opens {
            self.id = answer.header(HEADER);
            let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            self.client.send("POST", &self.url, &headers(self.id.as_deref()), ready)?;
        }
        Ok(Reply { status: answer.status.as_u16(), message: message_in(&answer.body) })
    }
}

fn headers(session: Option<&str>) -> Vec<(String, String)> {
    let mut headers = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    headers.extend(session.map(|id| (HEADER, id)));
    headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The message in a body: the body itself, or the last event of a stream.
fn message_in(body: &str) -> Value {
    if let Ok(message) = serde_json::from_str(body) {
        return message;
    }
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    events.filter_map(|data| serde_json::from_str(data.trim()).ok()).next_back().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_found_in_both_kinds_of_bodies() {
        assert_eq!(message_in(r#"{"id": 1}"#), json!({ "id": 1 }));
        let stream = "event: message\ndata: {\"id\": 1}\n\ndata: {\"id\": 2}\n\n";
        assert_eq!(message_in(stream), json!({ "id": 2 }));
        assert_eq!(message_in("not found"), Value::Null);
    }
}
