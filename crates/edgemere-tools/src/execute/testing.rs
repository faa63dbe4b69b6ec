//! `testing: true`: every call in the log, from its arguments to its answer.

use clap_serve::program::{Program, Ran};
use mcp_serve::Outcome;
use serde_json::{Map, Value};

use crate::bound::Bound;

/// How many bytes of a reply or an answer are logged.
const BYTES_MAX: usize = 4000;

/// Logs calls of a tool, or does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Testing<'a> {
    pub(super) tool: &'a str,
    pub(super) is_on: bool,
}

impl Testing<'_> {
    pub(super) fn called(self, arguments: &Map<String, Value>) {
        if self.is_on {
            let arguments = Value::Object(arguments.clone()).to_string();
            tracing::info!(tool = self.tool, arguments = shortened(&arguments), "called");
        }
    }

    pub(super) fn bound(self, bound: &Bound) {
        if self.is_on {
            let destination = bound.destination.as_deref().unwrap_or("this node");
            tracing::info!(
                tool = self.tool,
                command = shortened(&bound.command),
                destination,
                "bound"
            );
        }
    }

    /// The name of a program and its words, which no shell reads.
    pub(super) fn runs(self, program: &Program) {
        if self.is_on {
            let (path, words) = (program.path.display(), format!("{:?}", program.args));
            tracing::info!(tool = self.tool, program = %path, words = shortened(&words), "bound");
        }
    }

    pub(super) fn ran(self, ran: &Ran) {
        if self.is_on {
            let (stdout, stderr) = (shortened(&ran.stdout.text), shortened(&ran.stderr.text));
            tracing::info!(tool = self.tool, end = ?ran.end, stdout, stderr, "ran");
        }
    }

    pub(super) fn replied(self, reply: &Value) {
        if self.is_on {
            tracing::info!(tool = self.tool, reply = shortened(&reply.to_string()), "replied");
        }
    }

    pub(super) fn answered(self, outcome: &Outcome) {
        if self.is_on {
            let answer = match &outcome.structured {
                Some(structured) => structured.to_string(),
                None => format!("{:?}", outcome.content),
            };
            let is_error = outcome.is_error;
            tracing::info!(tool = self.tool, is_error, answer = shortened(&answer), "answered");
        }
    }
}

fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(BYTES_MAX)).unwrap_or(text)
}
