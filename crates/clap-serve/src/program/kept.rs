//! What is kept of a stream: all of it, or the first and the last half of what may be kept.

use std::collections::VecDeque;

use super::clean;

/// What a program wrote to one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The text: without colours and control characters, always UTF-8, and with a line that says so
    /// where something was left out.
    pub text: String,
    /// Whether something was left out.
    pub truncated: bool,
    /// How many bytes it wrote, as far as they were read.
    pub bytes: u64,
}

impl Output {
    /// With so many bytes of text at most.
    pub(super) fn within(self, bytes_max: usize) -> Self {
        if self.text.len() <= bytes_max {
            return self;
        }
        let mut kept = Kept::new(bytes_max);
        kept.push(self.text.as_bytes());
        kept.seen = kept.seen.max(self.bytes);
        Self { bytes: self.bytes, ..kept.output() }
    }
}

/// The bytes that are kept while they come.
#[derive(Debug)]
pub(super) struct Kept {
    half: usize,
    first: Vec<u8>,
    last: VecDeque<u8>,
    seen: u64,
}

impl Kept {
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

    /// How many bytes there were.
    pub(super) fn seen(&self) -> u64 {
        self.seen
    }

    /// What was kept, as text.
    pub(super) fn output(self) -> Output {
        let kept = (self.first.len() + self.last.len()) as u64;
        let last = Vec::from(self.last);
        if kept == self.seen {
            let text = clean::text(&[self.first, last].concat());
            return Output { text, truncated: false, bytes: self.seen };
        }
        // What does not look like text becomes longer by being made text.
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

/// Without the beginning of a character whose end is not there.
fn whole_characters(bytes: &[u8]) -> &[u8] {
    let end = bytes.utf8_chunks().last().map_or(0, |last| match bytes.len() {
        // Up to three bytes are a beginning; more are no text.
        length if last.invalid().len() < 4 => length - last.invalid().len(),
        length => length,
    });
    bytes.get(..end).unwrap_or(bytes)
}

/// From the first line that is whole, when there is one; else from the first character.
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

    fn kept(bytes_max: usize, chunks: &[&[u8]]) -> Output {
        let mut kept = Kept::new(bytes_max);
        chunks.iter().for_each(|chunk| kept.push(chunk));
        kept.output()
    }

    #[test]
    fn what_fits_is_whole() {
        let whole = |text: &str| Output {
            text: text.to_owned(),
            truncated: false,
            bytes: text.len() as u64,
        };
        assert_eq!(kept(10, &[]), whole(""));
        assert_eq!(kept(10, &[b"hello", b"world"]), whole("helloworld"));
        assert_eq!(kept(10, &[b"hel", b"lowor", b"ld"]), whole("helloworld"));
        // A character on both sides of the middle.
        assert_eq!(kept(10, &["abcd日本".as_bytes()]), whole("abcd日本"));
    }

    #[test]
    fn of_what_is_too_much_the_beginning_and_the_end_are_kept() {
        for size in [1, 3, 7, 100, 1000] {
            let bytes: Vec<u8> = (0..1000).flat_map(|n| format!("{n:03}\n").into_bytes()).collect();
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
            let output = kept(40, &chunks);
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
        let output = kept(20, &[text.as_bytes()]);
        assert!(output.text.starts_with("日日日\n[…"), "{}", output.text);
        assert!(output.text.ends_with("]\n日日日"), "{}", output.text);
        let noise = kept(1000, &[&[0xff; 5000]]);
        assert!(noise.text.len() < 1200, "{}", noise.text.len());
        assert!(kept(0, &[b"something"]).truncated);
    }

    #[test]
    fn what_was_kept_can_be_cut_once_more() {
        let whole = kept(100, &[b"0123456789"]);
        assert_eq!(whole.clone().within(10), whole);
        let cut = whole.within(4);
        assert!(cut.truncated && cut.bytes == 10);
        assert!(cut.text.starts_with("01\n[…") && cut.text.ends_with("]\n89"), "{}", cut.text);
    }
}
