//! A text that is read bit by bit: as much of it is held as one row needs.

use std::io::{ErrorKind, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Error;

/// How much is read at once.
const READ_BYTES: usize = 256 << 10;

/// The most bytes of one row. A row that is longer lacks a quote or a bracket at its end.
pub(super) const ROW_BYTES_MAX: usize = 16 << 20;

/// What some editors put in front of a text.
const MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// A text, and the place in it.
pub(super) struct Source {
    reader: Box<dyn Read + Send>,
    /// Where it is read into.
    chunk: Vec<u8>,
    /// What has been read, of which the first part is done with.
    buffer: Vec<u8>,
    at: usize,
    place: Place,
}

/// A place in a text, both from 1. A column is counted in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Place {
    /// The place after some bytes.
    pub(super) fn after(self, bytes: &[u8]) -> Self {
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let tail = bytes.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
        match lines {
            0 => Self { line: self.line, column: self.column + tail },
            _ => Self { line: self.line + lines, column: tail + 1 },
        }
    }
}

impl Source {
    /// The start of a text.
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Result<Self, Error> {
        let place = Place { line: 1, column: 1 };
        let mut source =
            Self { reader, chunk: vec![0; READ_BYTES], buffer: Vec::new(), at: 0, place };
        while source.rest().len() < MARK.len() && source.fill_if_wanted()? {}
        if source.rest().starts_with(MARK) {
            source.at = MARK.len();
        }
        Ok(source)
    }

    /// Where it stands.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// The next byte, which stays the next one.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, Error> {
        while self.rest().is_empty() {
            if !self.fill_if_wanted()? {
                return Ok(None);
            }
        }
        Ok(self.rest().first().copied())
    }

    /// Steps over white space, and returns what comes then.
    pub(super) fn skip_space(&mut self) -> Result<Option<u8>, Error> {
        while let Some(byte) = self.peek()? {
            if !matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
                return Ok(Some(byte));
            }
            self.advance(1);
        }
        Ok(None)
    }

    /// The length of what comes up to where `end` says that it ends, or up to the end of the text.
    /// `end` is shown every byte once, in some portions.
    pub(super) fn find(
        &mut self,
        mut end: impl FnMut(&[u8]) -> Option<usize>,
    ) -> Result<usize, Error> {
        let mut seen = 0;
        loop {
            if let Some(length) = end(self.rest().get(seen..).unwrap_or_default()) {
                return Ok(seen + length);
            }
            seen = self.rest().len();
            if seen > ROW_BYTES_MAX {
                return Err(Error::TooLong { line: self.place.line, limit: ROW_BYTES_MAX });
            }
            if !self.fill_if_wanted()? {
                return Ok(seen);
            }
        }
    }

    /// Whether what `end` looks for has come, or the end of the text, or too much, before the reader says
    /// that it would wait. Nothing is stepped over.
    pub(super) fn has(
        &mut self,
        mut end: impl FnMut(&[u8]) -> Option<usize>,
    ) -> Result<bool, Error> {
        let mut seen = 0;
        loop {
            if end(self.rest().get(seen..).unwrap_or_default()).is_some() {
                return Ok(true);
            }
            seen = self.rest().len();
            match self.fill() {
                _ if seen > ROW_BYTES_MAX => return Ok(true),
                Ok(true) => {}
                Ok(false) => return Ok(true),
                Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// The next bytes, as text.
    pub(super) fn text(&self, length: usize) -> Result<&str, Error> {
        let bytes = self.rest().get(..length).unwrap_or_default();
        str::from_utf8(bytes).map_err(|error| {
            let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let Place { line, column } = self.place.after(before);
            Error::NotUtf8 { line, column }
        })
    }

    /// Steps over bytes.
    pub(super) fn advance(&mut self, length: usize) {
        let bytes = self.buffer.get(self.at..self.at + length).unwrap_or_default();
        self.place = self.place.after(bytes);
        self.at += bytes.len();
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.at..).unwrap_or_default()
    }

    /// Reads more; false at the end of the text, or when no more of it is wanted.
    fn fill_if_wanted(&mut self) -> Result<bool, Error> {
        match self.fill() {
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            filled => filled,
        }
    }

    /// Reads more; false at the end of the text.
    fn fill(&mut self) -> Result<bool, Error> {
        self.buffer.drain(..self.at);
        self.at = 0;
        let read = loop {
            match self.reader.read(&mut self.chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read.map_err(Error::Io)?,
            }
        };
        self.buffer.extend_from_slice(self.chunk.get(..read).unwrap_or_default());
        Ok(read > 0)
    }
}

/// A reader that says how much was read.
pub(super) struct Counted<R> {
    reader: R,
    count: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    pub(super) fn new(reader: R, count: Arc<AtomicU64>) -> Self {
        Self { reader, count }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_over_lines() {
        let start = Place { line: 3, column: 5 };
        for (bytes, line, column) in
            [("", 3, 5), ("ab", 3, 7), ("a\n", 4, 1), ("a\nb\ncd", 5, 3), ("é", 3, 7)]
        {
            assert_eq!(start.after(bytes.as_bytes()), Place { line, column }, "{bytes}");
        }
    }

    #[test]
    fn a_mark_in_front_is_no_text() {
        let source = |bytes: &'static [u8]| Source::new(Box::new(bytes)).unwrap();
        assert_eq!(source(b"\xef\xbb\xbfa").peek().unwrap(), Some(b'a'));
        assert_eq!(source(b"\xef\xbb").peek().unwrap(), Some(0xef));
        assert_eq!(source(b"").peek().unwrap(), None);
    }
}
