//! Rows that a node sends while they come: a message a line, the first of which names the columns.

use edgemere_command::Kind;
use edgemere_tools::{Answer, Events, Failure};
use futures_util::StreamExt;
use futures_util::stream::unfold;
use reqwest::Response;
use serde::{Deserialize, Serialize};

use super::strange;

/// How long a message may be.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// The first message.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Names {
    pub(crate) columns: Vec<String>,
}

/// Reads the first message, and leaves the others to whoever takes them.
pub(super) async fn read(response: Response, address: &str) -> Result<Answer, Failure> {
    let mut lines = Lines { response, waiting: Vec::new() };
    let first = lines.next().await?.unwrap_or_default();
    let Names { columns } =
        serde_json::from_str(&first).map_err(|_| strange(address, "sent rows in another form"))?;
    let messages = unfold(Some(lines), |lines| async move {
        let mut lines = lines?;
        match lines.next().await {
            Ok(Some(line)) => Some((Ok(line), Some(lines))),
            Ok(None) => None,
            Err(failure) => Some((Err(failure), None)),
        }
    });
    Ok(Answer::Events(Events { columns, messages: messages.boxed() }))
}

/// The lines of an answer, as they come.
struct Lines {
    response: Response,
    waiting: Vec<u8>,
}

impl Lines {
    async fn next(&mut self) -> Result<Option<String>, Failure> {
        // What was looked through already has no end of a line in it.
        let mut seen = 0;
        loop {
            let fresh = self.waiting.get(seen..).unwrap_or_default();
            if let Some(end) = fresh.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.waiting.drain(..=seen + end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).trim_end().to_owned()));
            }
            seen = self.waiting.len();
            match self.response.chunk().await {
                Ok(Some(piece)) if seen + piece.len() <= MESSAGE_BYTES_MAX => {
                    self.waiting.extend_from_slice(&piece);
                }
                Ok(None) if self.waiting.is_empty() => return Ok(None),
                _ => return Err(cut_off()),
            }
        }
    }
}

fn cut_off() -> Failure {
    let message = "the rows were cut off by the node";
    let hint = "ask again; what came is not the whole result";
    Failure::new(Kind::Unavailable, message, Some(hint.into()))
}
