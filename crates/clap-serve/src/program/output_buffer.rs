//! The buffer of an output stream: all of it, or its first and last bytes within the limit.

use std::collections::VecDeque;

use super::clean;

/// The output of a program on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The text: UTF-8 without colours and control characters. A line marks the place of a cut.
    pub text: String,
    /// Whether the text was cut.
    pub truncated: bool,
    /// The number of bytes written, as far as they were read.
    pub bytes: u64,
}

impl Output {
    /// The output with at most this many bytes of text.
    pub(super) fn within(self, bytes_max: usize) -> Self {
        if self.text.len() <= bytes_max {
            return self;
        }
        let mut buffer = OutputBuffer::new(bytes_max);
        buffer.push(self.text.as_bytes());
        buffer.seen = buffer.seen.max(self.bytes);
        Self { bytes: self.bytes, ..buffer.output() }
    }
}

/// A buffer of the first and the last bytes of a stream.
#[derive(Debug)]
pub(super) struct OutputBuffer {
    half: usize,
    first: Vec<u8>,
    last: VecDeque<u8>,
    seen: u64,
}

impl OutputBuffer {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { half: bytes_max / 2, first: Vec::new(), last: VecDeque::new(), seen: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        let room = self.half - self.first.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.first.extend_from_slice(first);
        let rest = rest.get(rest.len().saturating_sub(self.half)..).unwrap_or_default();
        let too_much = (self.last.len() + rest.len()).saturating_sub(self.half);
        self.last.drain(..too_much);
        self.last.extend(rest);
    }

    /// The number of bytes pushed.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// The buffered output as text.
    pub(super) fn output(self) -> Output {
        let kept = (self.first.len() + self.last.len()) as u64;
        let last = Vec::from(self.last);
        if kept == self.seen {
            let text = clean::text(&[self.first, last].concat());
            return Output { text, truncated: false, bytes: self.seen };
        }
        // Invalid UTF-8 becomes longer as text, so both halves are cut again.
        let first = clean::text(whole_characters(&self.first));
        let last = clean::text(whole_lines(&last));
        let first = clean::cut(&first, self.half);
        let last = last.get(last.ceil_char_boundary(last.len().saturating_sub(self.half))..);
        let last = last.unwrap_or_default();
        let (shown, seen) = (first.len() + last.len(), self.seen);
        let text = format!(
            "{first}\n[… cut: {shown} of {seen} bytes are shown, the beginning and the end. Ask for \
             less, or for one part at a time …]\n{last}"
        );
        Output { text, truncated: true, bytes: self.seen }
    }
}

/// The bytes without an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let end = bytes.utf8_chunks().last().map_or(0, |last| match bytes.len() {
        // Up to three invalid bytes can be the start of a character.
        length if last.invalid().len() < 4 => length - last.invalid().len(),
        length => length,
    });
    bytes.get(..end).unwrap_or(bytes)
}

/// The bytes from the first whole line on, or else from the first whole character on.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let line = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
    let line = line.filter(|at| *at < bytes.len() / 2);
    let character = || bytes.iter().position(|byte| byte & 0xc0 != 0x80);
    let start = line.or_else(character).unwrap_or_default();
    bytes.get(start..).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffered(bytes_max: usize, chunks: &[&[u8]]) -> Output {
        let mut buffer = OutputBuffer::new(bytes_max);
        chunks.iter().for_each(|chunk| buffer.push(chunk));
        buffer.output()
    }

    #[test]
    fn what_fits_is_whole() {
        let whole = |text: &str| Output {
            text: text.to_owned(),
            truncated: false,
            bytes: text.len() as u64,
        };
        assert_eq!(buffered(10, &[]), whole(""));
        assert_eq!(buffered(10, &[b"hello", b"world"]), whole("helloworld"));
        assert_eq!(buffered(10, &[b"hel", b"lowor", b"ld"]), whole("helloworld"));
        // A character on both sides of the middle.
        assert_eq!(buffered(10, &["abcd日本".as_bytes()]), whole("abcd日本"));
    }

    #[test]
    fn of_what_is_too_much_the_beginning_and_the_end_are_kept() {
        for size in [1, 3, 7, 100, 1000] {
            let bytes: Vec<u8> = (0..1000).flat_map(|n| format!("{n:03}\n").into_bytes()).collect();
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
            let output = buffered(40, &chunks);
            assert!(output.truncated);
            assert_eq!(output.bytes, 4000);
            let lines: Vec<&str> = output.text.lines().collect();
            assert_eq!(lines[..5], ["000", "001", "002", "003", "004"], "{}", output.text);
            assert!(lines[6].contains("cut: 36 of 4000 bytes are shown"), "{}", output.text);
            assert_eq!(lines[7..], ["996", "997", "998", "999"], "{}", output.text);
        }
    }

    #[test]
    fn a_cut_is_between_characters_and_never_longer_than_allowed() {
        let text = "日".repeat(1000);
        let output = buffered(20, &[text.as_bytes()]);
        assert!(output.text.starts_with("日日日\n[…"), "{}", output.text);
        assert!(output.text.ends_with("]\n日日日"), "{}", output.text);
        let noise = buffered(1000, &[&[0xff; 5000]]);
        assert!(noise.text.len() < 1200, "{}", noise.text.len());
        assert!(buffered(0, &[b"something"]).truncated);
    }

    #[test]
    fn what_was_kept_can_be_cut_once_more() {
        let whole = buffered(100, &[b"0123456789"]);
        assert_eq!(whole.clone().within(10), whole);
        let cut = whole.within(4);
        assert!(cut.truncated && cut.bytes == 10);
        assert!(cut.text.starts_with("01\n[…") && cut.text.ends_with("]\n89"), "{}", cut.text);
    }
}
