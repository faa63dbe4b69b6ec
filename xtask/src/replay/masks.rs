//! What in a reply depends on the run, and why: the only things that are not compared.

use anyhow::Result;
use regex_lite::Regex;

use crate::replay::class::begins;

/// A part of some replies that is replaced on both sides before they are compared. JSON is
/// written without spaces when the pattern meets it, and a table cell by cell.
struct Mask {
    /// How the commands begin whose replies have it.
    commands: &'static [&'static str],
    pattern: &'static str,
    with: &'static str,
    /// Read by whoever wonders whether a mask hides a bug.
    reason: &'static str,
}

const MASKS: &[Mask] = &[
    Mask {
        commands: &["blockchain get device", "get !p7"],
        pattern: r#""date":"[^"]*""#,
        with: r#""date":"…""#,
        reason: "the moment the policy was made in this run",
    },
    Mask {
        commands: &["get metadata version", "test network metadata version", "test node"],
        pattern: r"\b[0-9a-f]{32,64}\b",
        with: "…",
        reason: "a digest of the ledger's history, dates included",
    },
    Mask {
        commands: &["sql"],
        pattern: r#"(Time(?:"|&quot;):(?:"|&quot;))\d\d:\d\d:\d\d"#,
        with: "${1}00:00:00",
        reason: "how long a query took",
    },
    Mask {
        commands: &["get cpu usage"],
        pattern: r#""Core \d+":[\d.]+,"#,
        with: "",
        reason: "machines differ in the number of cores, and in their load",
    },
    Mask {
        commands: &["get cpu usage"],
        pattern: r#""Average":[\d.]+"#,
        with: r#""Average":0"#,
        reason: "the load of the machine",
    },
    Mask {
        commands: &["get memory info", "get disk usage"],
        pattern: r"\d[\d,]*",
        with: "0",
        reason: "the size of the machine",
    },
    Mask {
        commands: &["get status"],
        pattern: r#""(Start timestamp|Query timestamp|Total events|New events)":\d+"#,
        with: r#""$1":0"#,
        reason: "clocks and counters of the run",
    },
    Mask {
        commands: &["get status"],
        pattern: r"\d\d:\d\d:\d\d \(H:M:S\)",
        with: "00:00:00 (H:M:S)",
        reason: "how long the node has been up",
    },
];

/// The masks, ready to use.
pub(crate) struct Masks(Vec<(&'static Mask, Regex)>);

impl Masks {
    pub(crate) fn new() -> Result<Self> {
        let compiled = MASKS.iter().map(|mask| Ok((mask, Regex::new(mask.pattern)?)));
        Ok(Self(compiled.collect::<Result<_>>()?))
    }

    /// What is masked, and why.
    pub(crate) fn reasons() -> impl Iterator<Item = String> {
        MASKS.iter().map(|mask| format!("{}: {}", mask.commands.join(", "), mask.reason))
    }

    /// The text of a command's reply without what depends on the run.
    pub(crate) fn apply(&self, command: &str, text: &str) -> String {
        let mut text = text.to_owned();
        for (mask, pattern) in &self.0 {
            if mask.commands.iter().any(|start| begins(command, start)) {
                text = pattern.replace_all(&text, mask.with).into_owned();
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::{exchange, form::Form};

    #[test]
    fn what_depends_on_the_run_is_masked_and_nothing_else() {
        let masks = Masks::new().unwrap();
        let policy = r#"[{"device":{"name":"d","id":"1","date":"2026-11-15T19:50:06Z"}}]"#;
        let masked = masks.apply("blockchain get device", policy);
        assert_eq!(masked, r#"[{"device":{"name":"d","id":"1","date":"…"}}]"#);
        assert_eq!(masks.apply("blockchain get operator", policy), policy);
    }

    #[test]
    fn a_machine_with_more_cores_is_no_difference() {
        let masks = Masks::new().unwrap();
        let two = masks.apply("get cpu usage", r#"{"Core 1":0.0,"Core 2":9.5,"Average":4.7}"#);
        let one = masks.apply("get cpu usage", r#"{"Core 1":3.0,"Average":3.0}"#);
        assert_eq!(two, one);
    }

    #[test]
    fn every_mask_has_a_reason_and_a_use() {
        let exchanges = exchange::load().unwrap();
        for mask in MASKS {
            assert!(!mask.reason.is_empty());
            let pattern = Regex::new(mask.pattern).unwrap();
            let used = exchanges.iter().any(|exchange| {
                let command = exchange.command().unwrap_or_default();
                let masked = mask.commands.iter().any(|start| begins(&command, start));
                masked && pattern.is_match(&Form::of(&exchange.reply).to_string())
            });
            assert!(used, "no captured reply has {}", mask.pattern);
        }
    }
}
