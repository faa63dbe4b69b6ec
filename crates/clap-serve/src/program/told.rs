//! The lines of a program as progress. Who reads them slowly holds up nothing: lines for which there is
//! no room are not told, and the number of a line says how many there were before it.

use std::time::{Duration, Instant};

use mcp_serve::Context;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::clean;

/// The lines that wait for the client.
const LINES_WAITING_MAX: usize = 64;

/// The lines that are told in a second: nobody reads more.
const LINES_PER_SECOND_MAX: u32 = 100;

/// How long lines that wait may hold up the answer after the program has ended.
const REST_TIME_MAX: Duration = Duration::from_millis(50);

/// A line, and its number.
type Line = (u64, String);

/// Where the lines of both streams come together.
#[derive(Debug)]
pub(super) struct Lines {
    /// None when nobody wants to hear of them.
    sender: Option<Sender<Line>>,
    number: u64,
    /// The second that is being counted, and its lines.
    second: (Instant, u32),
}

impl Lines {
    fn tell(&mut self, line: &[u8]) {
        let Some(sender) = &self.sender else { return };
        let text = clean::text(line);
        let text = text.trim_end();
        if text.is_empty() {
            return;
        }
        self.number += 1;
        if self.second.0.elapsed() >= Duration::from_secs(1) {
            self.second = (Instant::now(), 0);
        }
        self.second.1 += 1;
        if self.second.1 <= LINES_PER_SECOND_MAX {
            // No room is no harm: the answer has the line.
            let _ = sender.try_send((self.number, text.to_owned()));
        }
    }

    /// No more lines will come.
    pub(super) fn end(&mut self) {
        self.sender = None;
    }
}

/// The line of one stream that is not whole yet. What is written over counts as a line as well: so a
/// bar is told while it moves.
#[derive(Debug)]
pub(super) struct Begun {
    line: Vec<u8>,
    bytes_max: usize,
}

impl Begun {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { line: Vec::new(), bytes_max }
    }

    pub(super) fn push(&mut self, bytes: &[u8], lines: &mut Lines) {
        if lines.sender.is_none() {
            return;
        }
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let room = self.bytes_max.saturating_sub(self.line.len());
            self.line.extend_from_slice(piece.get(..room).unwrap_or(piece));
            if matches!(piece.last(), Some(b'\n' | b'\r')) {
                self.end(lines);
            }
        }
    }

    /// The line is whole.
    pub(super) fn end(&mut self, lines: &mut Lines) {
        lines.tell(&self.line);
        self.line.clear();
    }
}

/// The lines on their way to the client.
#[derive(Debug)]
pub(super) struct Teller<'a> {
    context: &'a Context,
    receiver: Receiver<Line>,
}

/// A way for lines to the client of a call.
pub(super) fn way(context: &Context) -> (Lines, Teller<'_>) {
    let (sender, receiver) = mpsc::channel(LINES_WAITING_MAX);
    let sender = context.wants_progress().then_some(sender);
    let lines = Lines { sender, number: 0, second: (Instant::now(), 0) };
    (lines, Teller { context, receiver })
}

impl Teller<'_> {
    /// Tells lines until there will be no more.
    pub(super) async fn tell(&mut self) {
        while let Some((number, line)) = self.receiver.recv().await {
            self.context.progress(number as f64, None, Some(line)).await;
        }
    }

    /// Tells those that still wait, when that does not take long.
    pub(super) async fn tell_rest(&mut self) {
        let _ = tokio::time::timeout(REST_TIME_MAX, self.tell()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(chunks: &[&[u8]], bytes_max: usize) -> Vec<Line> {
        let (sender, mut receiver) = mpsc::channel(LINES_WAITING_MAX);
        let mut lines = Lines { sender: Some(sender), number: 0, second: (Instant::now(), 0) };
        let mut begun = Begun::new(bytes_max);
        chunks.iter().for_each(|chunk| begun.push(chunk, &mut lines));
        begun.end(&mut lines);
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|(_, line)| line.as_str()).collect()
    }

    #[test]
    fn lines_are_put_together_and_cleaned() {
        let lines = told(&[b"on", b"e\ntwo\r", b"\nth\x1b[31mree\x1b[0m\n\n", b"four"], 100);
        assert_eq!(texts(&lines), ["one", "two", "three", "four"]);
        assert_eq!(lines.last().map(|(number, _)| *number), Some(4));
        assert_eq!(texts(&told(&[b"10%\r50%\r", b"100%\n"], 100)), ["10%", "50%", "100%"]);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        assert_eq!(texts(&told(&[&[b'x'; 1000], b"yyy\nnext\n"], 4)), ["xxxx", "next"]);
    }

    #[test]
    fn lines_without_room_are_not_told_and_hold_up_nothing() {
        let many = "line\n".repeat(1000);
        assert_eq!(told(&[many.as_bytes()], 100).len(), LINES_WAITING_MAX);
    }
}
