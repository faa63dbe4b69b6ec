//! The captured exchanges, as they stand in `xtask/replay/rest.jsonl`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

const CAPTURES: &str = include_str!("../../replay/rest.jsonl");

/// One request to EdgeLake and what it answered.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Exchange {
    pub(crate) id: String,
    pub(crate) node: String,
    pub(crate) method: String,
    pub(crate) path: String,
    /// A header that is null was not sent.
    headers: BTreeMap<String, Option<String>>,
    body: Option<String>,
    /// Absent when EdgeLake closed the connection without an answer.
    pub(crate) status: Option<u16>,
    pub(crate) reply: String,
    edgelake_is_wrong: Option<String>,
}

impl Exchange {
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let sent = self.headers.iter();
        sent.filter_map(|(name, value)| Some((name.as_str(), value.as_deref()?)))
    }

    pub(crate) fn body(&self) -> &str {
        self.body.as_deref().unwrap_or_default()
    }

    /// Whether the answer must not be copied.
    pub(crate) fn is_wrong(&self) -> bool {
        self.edgelake_is_wrong.is_some()
    }

    /// The command, from wherever the request has it: a header, the address, a body of JSON.
    pub(crate) fn command(&self) -> Option<String> {
        let mut headers = self.headers();
        let header = headers.find(|(name, _)| name.eq_ignore_ascii_case("command"));
        header
            .map(|(_, command)| command.to_owned())
            .or_else(|| self.command_in_path())
            .or_else(|| self.command_in_body())
    }

    fn command_in_path(&self) -> Option<String> {
        let (_, command) = self.path.split_once("command=")?;
        Some(command.replace("%20", " "))
    }

    fn command_in_body(&self) -> Option<String> {
        let body: Value = serde_json::from_str(self.body()).ok()?;
        Some(body.get("command")?.as_str()?.to_owned())
    }
}

/// All exchanges, in the order they are replayed in.
pub(crate) fn load() -> Result<Vec<Exchange>> {
    let lines = CAPTURES.lines().enumerate();
    let parsed = lines.map(|(index, line)| {
        serde_json::from_str(line).with_context(|| format!("rest.jsonl, line {}", index + 1))
    });
    let mut exchanges: Vec<Exchange> = parsed.collect::<Result<_>>()?;
    // 600 and above were captured on a network that was started anew: they come before 400 and
    // above, which change the ledger. The sort is stable: all else keeps the order of the file.
    exchanges.sort_by_key(|exchange| act(&exchange.id));
    Ok(exchanges)
}

/// Which part of the replay an exchange belongs to, by the number its id begins with.
fn act(id: &str) -> u8 {
    match id.as_bytes().first() {
        Some(b'0'..=b'3') => 1,
        Some(b'6') => 2,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(id: &str) -> Exchange {
        load().unwrap().into_iter().find(|exchange| exchange.id == id).unwrap()
    }

    #[test]
    fn every_line_is_an_exchange() {
        assert_eq!(load().unwrap().len(), 274);
    }

    #[test]
    fn a_command_is_found_wherever_it_stands() {
        assert_eq!(find("001_status").command().unwrap(), "get status");
        assert_eq!(find("256_post_sql_body").command().unwrap(), "get status");
        assert_eq!(find("259_url_command").command().unwrap(), "get status");
        assert_eq!(find("258_post_incr_body").command(), None);
        assert_eq!(find("600_options").command(), None);
    }

    #[test]
    fn the_network_started_anew_comes_before_the_ledger_changes() {
        let ids: Vec<String> = load().unwrap().into_iter().map(|exchange| exchange.id).collect();
        let place = |id: &str| ids.iter().position(|other| other == id).unwrap();
        assert!(place("379_test_network_table") < place("600_options"));
        assert!(place("619_almgm") < place("400_bc_insert_inline"));
        assert!(place("489_rows_small_json") < place("f01_version"));
    }
}
