//! The lines of a program as progress notifications. A slow client delays nothing: lines that do not fit
//! into the queue are dropped, and each notification has the number of its line.

use std::time::{Duration, Instant};

use mcp_serve::Context;
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::clean;

/// The length of the queue.
const QUEUED_LINES_MAX: usize = 64;

/// The maximum rate of notifications: nobody reads faster.
const LINES_PER_SECOND_MAX: u32 = 100;

/// How long queued lines may delay the result after the program has ended.
const FLUSH_TIME_MAX: Duration = Duration::from_millis(50);

/// A line with its number.
type Line = (u64, String);

/// The lines of both streams, on their way to the queue.
#[derive(Debug)]
pub(super) struct Lines {
    /// None if the client does not want progress.
    sender: Option<Sender<Line>>,
    number: u64,
    /// The start of the current second, and its number of lines.
    second: (Instant, u32),
}

impl Lines {
    fn push(&mut self, line: &[u8]) {
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
            // A dropped line does no harm: the result has it.
            let _ = sender.try_send((self.number, text.to_owned()));
        }
    }

    /// Ends the queue.
    pub(super) fn close(&mut self) {
        self.sender = None;
    }
}

/// The incomplete last line of one stream. A carriage return ends a line too, so that progress bars are
/// reported while they move.
#[derive(Debug)]
pub(super) struct PartialLine {
    line: Vec<u8>,
    bytes_max: usize,
}

impl PartialLine {
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

    /// Completes the line.
    pub(super) fn end(&mut self, lines: &mut Lines) {
        lines.push(&self.line);
        self.line.clear();
    }
}

/// Sends the queued lines to the client.
#[derive(Debug)]
pub(super) struct ProgressReporter<'a> {
    context: &'a Context,
    receiver: Receiver<Line>,
}

/// The queue of lines for the client of a call, and its sender to the client.
pub(super) fn queue(context: &Context) -> (Lines, ProgressReporter<'_>) {
    let (sender, receiver) = mpsc::channel(QUEUED_LINES_MAX);
    let sender = context.wants_progress().then_some(sender);
    let lines = Lines { sender, number: 0, second: (Instant::now(), 0) };
    (lines, ProgressReporter { context, receiver })
}

impl ProgressReporter<'_> {
    /// Reports lines until the queue ends.
    pub(super) async fn run(&mut self) {
        while let Some((number, line)) = self.receiver.recv().await {
            self.context.progress(number as f64, None, Some(line)).await;
        }
    }

    /// Reports the rest of the queue, for a short time at most.
    pub(super) async fn flush(&mut self) {
        let _ = tokio::time::timeout(FLUSH_TIME_MAX, self.run()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queued(chunks: &[&[u8]], bytes_max: usize) -> Vec<Line> {
        let (sender, mut receiver) = mpsc::channel(QUEUED_LINES_MAX);
        let mut lines = Lines { sender: Some(sender), number: 0, second: (Instant::now(), 0) };
        let mut partial = PartialLine::new(bytes_max);
        chunks.iter().for_each(|chunk| partial.push(chunk, &mut lines));
        partial.end(&mut lines);
        std::iter::from_fn(|| receiver.try_recv().ok()).collect()
    }

    fn texts(lines: &[Line]) -> Vec<&str> {
        lines.iter().map(|(_, line)| line.as_str()).collect()
    }

    #[test]
    fn lines_are_put_together_and_cleaned() {
        let lines = queued(&[b"on", b"e\ntwo\r", b"\nth\x1b[31mree\x1b[0m\n\n", b"four"], 100);
        assert_eq!(texts(&lines), ["one", "two", "three", "four"]);
        assert_eq!(lines.last().map(|(number, _)| *number), Some(4));
        assert_eq!(texts(&queued(&[b"10%\r50%\r", b"100%\n"], 100)), ["10%", "50%", "100%"]);
    }

    #[test]
    fn a_long_line_is_cut_and_the_next_one_is_whole() {
        assert_eq!(texts(&queued(&[&[b'x'; 1000], b"yyy\nnext\n"], 4)), ["xxxx", "next"]);
    }

    #[test]
    fn lines_beyond_the_queue_are_dropped_and_delay_nothing() {
        let many = "line\n".repeat(1000);
        assert_eq!(queued(&[many.as_bytes()], 100).len(), QUEUED_LINES_MAX);
    }
}
