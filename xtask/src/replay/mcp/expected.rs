//! What is right: the captured answer; and where EdgeLake failed, answered nothing or answered in
//! another form, what stands in `xtask/replay/mcp.toml`.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::Value;

use super::{
    capture::Call,
    session::{Reply, Which},
};
use crate::replay::{compare::settled, form::Form, masks::Masks, ports::Ports, same::same};

const EXPECTED: &str = include_str!("../../../replay/mcp.toml");

/// What is right where it is not the captured answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    #[serde(rename = "right")]
    rights: Vec<Right>,
}

/// What is right for some calls, and why it is not what EdgeLake answered.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Right {
    ids: Vec<String>,
    reason: String,
    #[serde(default)]
    session: Which,
    /// The status of the reply.
    #[serde(default = "ok")]
    status: u16,
    /// The code of an error of the protocol.
    code: Option<i64>,
    /// Whether the tool says that it failed.
    #[serde(default)]
    fails: bool,
    /// Whether EdgeLake gave an answer, and we do not, on purpose.
    #[serde(default)]
    is_refused: bool,
    /// What the answer, or the error, must say in its text, with captured ports.
    #[serde(default)]
    says: Vec<String>,
    /// What must stand at places of the result, with captured ports.
    #[serde(default)]
    holds: BTreeMap<String, Value>,
}

fn ok() -> u16 {
    200
}

impl Expected {
    pub(super) fn load() -> Result<Self> {
        toml::from_str(EXPECTED).context("mcp.toml")
    }

    /// Every id names a call, once, and says something of its answer; and without an entry there is
    /// a captured answer to compare with.
    pub(super) fn check(&self, calls: &[Call]) -> Result<()> {
        for right in &self.rights {
            let says = right.code.is_some() || right.fails || right.status != ok();
            if !(says || !right.says.is_empty() || !right.holds.is_empty()) {
                bail!("mcp.toml says nothing of the answer to {}", right.ids.join(", "));
            }
            if right.reason.is_empty() {
                bail!("mcp.toml says no reason for {}", right.ids.join(", "));
            }
        }
        let ids: Vec<_> = self.rights.iter().flat_map(|right| &right.ids).collect();
        for (place, id) in ids.iter().enumerate() {
            if !calls.iter().any(|call| call.id == **id) {
                bail!("mcp.toml names {id}, which is no call");
            }
            if ids.iter().skip(place + 1).any(|other| other == id) {
                bail!("mcp.toml names {id} twice");
            }
        }
        match calls.iter().find(|call| self.find(&call.id).is_none() && call.text().is_none()) {
            Some(call) => bail!("{} has no answer to compare with: see mcp.toml", call.id),
            None => Ok(()),
        }
    }

    /// Whether a call that EdgeLake answers is refused on purpose.
    pub(super) fn is_refused(&self, id: &str) -> bool {
        self.find(id).is_some_and(|right| right.is_refused)
    }

    /// Which session a call is made in.
    pub(super) fn session(&self, id: &str) -> Which {
        self.find(id).map(|right| right.session).unwrap_or_default()
    }

    /// Why an answer is not right, when it is not.
    pub(super) fn broken_by(
        &self,
        call: &Call,
        reply: &Reply,
        ports: &Ports,
        masks: &Masks,
    ) -> Option<String> {
        match self.find(&call.id) {
            Some(right) => right.broken_by(reply, ports),
            None => differs(call, reply, ports, masks),
        }
    }

    fn find(&self, id: &str) -> Option<&Right> {
        self.rights.iter().find(|right| right.ids.iter().any(|other| other == id))
    }
}

impl Right {
    fn broken_by(&self, reply: &Reply, ports: &Ports) -> Option<String> {
        let message = &reply.message;
        if reply.status != self.status {
            return Some(format!("status {}, not {}", reply.status, self.status));
        }
        let code = message.pointer("/error/code").and_then(Value::as_i64);
        if code != self.code {
            return Some(format!("the code of the error is {code:?}, not {:?}", self.code));
        }
        if fails(message) != self.fails {
            return Some(format!("that it fails is {}", !self.fails));
        }
        let text = text(message);
        if let Some(missing) = self.says.iter().find(|part| !text.contains(&ports.rewrite(part))) {
            return Some(format!("it does not say \"{missing}\""));
        }
        let wrong = self.holds.iter().find(|(place, value)| {
            let value = ports.rewrite(&value.to_string());
            let found = message.pointer(&format!("/result{place}"));
            found.is_none_or(|found| !same(&Form::of(&found.to_string()), &Form::of(&value)))
        });
        wrong.map(|(place, value)| format!("at {place} stands not {value}"))
    }
}

/// Whether an answer says something else than the captured one.
fn differs(call: &Call, reply: &Reply, ports: &Ports, masks: &Masks) -> Option<String> {
    if reply.status != ok() || fails(&reply.message) || reply.message.get("error").is_some() {
        return Some("it fails".to_owned());
    }
    let exchange = call.exchange().ok()?;
    let theirs = settled(&exchange, &ports.rewrite(&exchange.reply), masks);
    let ours = settled(&exchange, &text(&reply.message), masks);
    (!same(&theirs, &ours)).then(|| format!("{ours} is not {theirs}"))
}

fn fails(message: &Value) -> bool {
    message.pointer("/result/isError").and_then(Value::as_bool).unwrap_or(false)
}

/// What a message says in words.
fn text(message: &Value) -> String {
    let text = message.pointer("/result/content/0/text").or(message.pointer("/error/message"));
    text.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::replay::mcp::capture;

    #[test]
    fn every_call_has_a_right_answer() {
        Expected::load().unwrap().check(&capture::load().unwrap()).unwrap();
    }

    #[test]
    fn an_answer_is_held_against_all_that_is_said_of_it() {
        let right: Right = toml::from_str(
            r#"
            ids = ["x"]
            reason = "y"
            says = ["two"]
            holds."/structuredContent/n" = 33148
            "#,
        )
        .unwrap();
        let mut ports = Ports::default();
        ports.set(33148, 7);
        let broken = |status, message| right.broken_by(&Reply { status, message }, &ports);
        let answer = |text: &str, n: u16| {
            let content = json!([{ "type": "text", "text": text }]);
            json!({ "result": { "content": content, "structuredContent": { "n": n } } })
        };
        assert_eq!(broken(200, answer("one two", 7)), None);
        assert!(broken(200, answer("one", 7)).unwrap().contains("two"));
        assert!(broken(200, answer("two", 8)).unwrap().contains("33148"));
        assert!(broken(404, answer("two", 7)).unwrap().contains("404"));
        let error = json!({ "error": { "code": -32601, "message": "two" } });
        assert!(broken(200, error).unwrap().contains("-32601"));
        let failed = json!({ "result": { "isError": true, "content": [] } });
        assert!(broken(200, failed).is_some());
    }
}
