//! The result of a run as the result of a tool call.

use mcp_serve::{Content, Outcome};
use serde_json::{Map, Value, json};

use super::{End, Ran, RunError, json};

/// The key in `_meta` of the run's figures: `exit_code` or `signal`, or `stopped` with `time` or `output`;
/// `time_ms`, `truncated`, `stdout_bytes` and `stderr_bytes`.
pub const META: &str = "clap-serve/run";

impl Ran {
    /// The JSON on stdout: an object, an array, or two or more lines with an object each, as an array. None for
    /// other or truncated output, and if a number would change.
    pub fn json(&self) -> Option<Value> {
        if self.stdout.truncated {
            return None;
        }
        json::recognised(&self.stdout.text)
    }

    /// The result of the tool call.
    ///
    /// The first text is stdout, the second stderr if there is any. After a failure the first text is the
    /// failure with stderr, the second stdout. JSON on stdout is structured content too: an object as it is,
    /// everything else as `{"result": …}`.
    pub fn outcome(self) -> Outcome {
        let structured = self.json().map(json::structured);
        let meta = Map::from_iter([(META.to_owned(), self.figures())]);
        let wrong = self.wrong();
        let (stdout, stderr) = (self.stdout.text, self.stderr.text);
        let is_error = wrong.is_some();
        let content = match wrong {
            Some(wrong) => with_rest(joined(wrong, &stderr), "stdout", &stdout),
            None if is_blank(&stdout) => with_rest("(no output)".to_owned(), "stderr", &stderr),
            None => with_rest(stdout, "stderr", &stderr),
        };
        Outcome { content, structured, is_error, meta }
    }

    /// The failure, if there was one.
    fn wrong(&self) -> Option<String> {
        match self.end {
            End::Code(0) => None,
            End::Code(code) => Some(format!("exited with code {code}")),
            End::Signal(signal) => Some(format!("ended by signal {signal}")),
            End::OutOfTime => {
                let seconds = self.limits.time_max.as_secs_f64();
                Some(format!("ran longer than {seconds} s and was stopped"))
            }
            End::Flood => {
                let bytes = self.limits.flood_bytes_max;
                Some(format!("wrote more than {bytes} bytes and was stopped"))
            }
        }
    }

    fn figures(&self) -> Value {
        let mut figures = json!({
            "time_ms": u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX),
            "truncated": self.stdout.truncated || self.stderr.truncated,
            "stdout_bytes": self.stdout.bytes,
            "stderr_bytes": self.stderr.bytes,
        });
        let (name, value) = match self.end {
            End::Code(code) => ("exit_code", json!(code)),
            End::Signal(signal) => ("signal", json!(signal)),
            End::OutOfTime => ("stopped", json!("time")),
            End::Flood => ("stopped", json!("output")),
        };
        if let Some(figures) = figures.as_object_mut() {
            figures.insert(name.to_owned(), value);
        }
        figures
    }
}

impl RunError {
    /// The result of a tool call whose program could not be started.
    pub fn outcome(&self) -> Outcome {
        let reason = std::error::Error::source(self).map(|reason| format!(": {reason}"));
        Outcome::error(format!("{self}{}", reason.unwrap_or_default()))
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn joined(first: String, rest: &str) -> String {
    match is_blank(rest) {
        true => first,
        false => format!("{first}\n{rest}"),
    }
}

fn with_rest(first: String, name: &str, rest: &str) -> Vec<Content> {
    let mut content = vec![Content::text(first)];
    if !is_blank(rest) {
        content.push(Content::text(format!("{name}:\n{rest}")));
    }
    content
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::program::{Output, RunLimits};

    fn ran(stdout: &str, stderr: &str, end: End) -> Ran {
        let output = |text: &str| Output {
            text: text.to_owned(),
            truncated: false,
            bytes: text.len() as u64,
        };
        Ran {
            stdout: output(stdout),
            stderr: output(stderr),
            end,
            time: Duration::from_millis(12),
            limits: RunLimits::default(),
        }
    }

    fn texts(outcome: &Outcome) -> Vec<&str> {
        let mut texts = Vec::new();
        for content in &outcome.content {
            let Content::Text(text) = content else { panic!("{content:?}") };
            texts.push(text.as_str());
        }
        texts
    }

    #[test]
    fn what_went_well_is_stdout_first() {
        let outcome = ran("rows\n", "a warning\n", End::Code(0)).outcome();
        assert_eq!(texts(&outcome), ["rows\n", "stderr:\na warning\n"]);
        assert!(!outcome.is_error);
        assert_eq!(
            outcome.meta[META],
            json!({
                "exit_code": 0, "time_ms": 12, "truncated": false, "stdout_bytes": 5,
                "stderr_bytes": 10
            })
        );
        assert_eq!(texts(&ran("\n", "", End::Code(0)).outcome()), ["(no output)"]);
    }

    #[test]
    fn what_went_wrong_is_told_first_with_the_reason() {
        let outcome = ran("half\n", "no such file\n", End::Code(3)).outcome();
        assert_eq!(texts(&outcome), ["exited with code 3\nno such file\n", "stdout:\nhalf\n"]);
        assert!(outcome.is_error);
        for (end, text, figure) in [
            (End::Signal(9), "ended by signal 9", json!({ "signal": 9 })),
            (End::OutOfTime, "ran longer than 60 s and was stopped", json!({ "stopped": "time" })),
            (
                End::Flood,
                "wrote more than 67108864 bytes and was stopped",
                json!({ "stopped": "output" }),
            ),
        ] {
            let outcome = ran("", "", end).outcome();
            assert_eq!(texts(&outcome), [text]);
            assert!(outcome.is_error);
            for (name, value) in figure.as_object().unwrap() {
                assert_eq!(&outcome.meta[META][name], value);
            }
        }
    }

    #[test]
    fn json_is_structured_and_stays_the_text_that_it_was() {
        let outcome = ran("{ \"a\": 1.50 }\n", "", End::Code(0)).outcome();
        assert_eq!(outcome.structured, Some(json!({ "a": 1.5 })));
        assert_eq!(texts(&outcome), ["{ \"a\": 1.50 }\n"]);
        let outcome = ran("{\"a\":1}\n{\"a\":2}\n", "", End::Code(0)).outcome();
        assert_eq!(outcome.structured, Some(json!({ "result": [{ "a": 1 }, { "a": 2 }] })));
        let mut cut = ran("[1]", "", End::Code(0));
        cut.stdout.truncated = true;
        assert_eq!(cut.outcome().structured, None);
    }
}
