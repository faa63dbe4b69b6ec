//! Gathers the rows of a text until a piece is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::source::{Place, Source};
use super::{Chunk, ChunkOptions, Error, Format, Live, csv, json};
use crate::decode::{self, Input};

/// The rows of a text that are still to come.
pub(super) struct Rows {
    source: Source,
    layout: Layout,
    cut: ChunkOptions,
    next_row: u64,
    bytes_read: Arc<AtomicU64>,
    /// Of a text that comes over time.
    live: Option<Live>,
}

/// How rows follow each other.
enum Layout {
    /// With the header, as it stands in every piece.
    Csv(Vec<u8>),
    Lines,
    /// The items of a list, until its end.
    List {
        is_first: bool,
        ended: bool,
    },
    /// Values one after the other.
    Values,
}

impl Rows {
    /// The rows of a text.
    pub(super) fn new(
        mut source: Source,
        format: Format,
        cut: ChunkOptions,
        bytes_read: Arc<AtomicU64>,
    ) -> Result<Self, Error> {
        let layout = match format {
            Format::Csv => Layout::Csv(header(&mut source)?),
            Format::Ndjson => Layout::Lines,
            _ if source.skip_space()? == Some(b'[') => {
                source.advance(1);
                Layout::List { is_first: true, ended: false }
            }
            _ => Layout::Values,
        };
        let mut rows = Self { source, layout, cut, next_row: 1, bytes_read, live: None };
        let mut skipped = Vec::new();
        while rows.next_row <= cut.skip && rows.row(&mut skipped)?.is_some() {
            rows.next_row += 1;
            skipped.clear();
        }
        Ok(rows)
    }

    /// The same rows, which come over time.
    pub(super) fn live(self, live: Live) -> Self {
        Self { live: Some(live), ..self }
    }

    /// The next piece, if there is one.
    pub(super) fn piece(&mut self) -> Result<Option<Chunk>, Error> {
        let mut body = self.open();
        let (first_row, mut lines) = (self.next_row, Vec::new());
        let mut end = None;
        while lines.is_empty() || !self.is_full(lines.len(), body.len()) {
            if !self.has_come(end)? {
                break;
            }
            if !lines.is_empty() {
                body.extend_from_slice(self.between());
            }
            let Some(line) = self.row(&mut body)? else { break };
            lines.push(line);
            end = end.or_else(|| self.live.as_ref().map(Live::end_of_piece));
        }
        if lines.is_empty() {
            return Ok(None);
        }
        self.close(&mut body);
        let rows = lines.len();
        self.next_row += rows as u64;
        let bytes_read = self.bytes_read.load(Ordering::Relaxed);
        Ok(Some(Chunk { input: self.input(), body, first_row, rows, lines, bytes_read }))
    }

    /// Whether the next row has come whole, or the end, before the piece ends. Without a live text it is
    /// waited for when it is read.
    fn has_come(&mut self, end: Option<Instant>) -> Result<bool, Error> {
        let Some(live) = self.live.clone() else { return Ok(true) };
        if end.is_some_and(|end| end <= Instant::now()) {
            return Ok(false);
        }
        live.wait_until(end);
        let is_line_end = |byte: u8| matches!(byte, b'\n' | b'\r');
        let has_come = match &self.layout {
            Layout::Csv(_) => {
                let mut scan = csv::Scan::default();
                self.source.has(after(is_line_end, move |bytes| scan.end(bytes)))
            }
            Layout::Lines => {
                let end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
                self.source.has(after(|byte| byte.is_ascii_whitespace(), end))
            }
            Layout::List { ended: true, .. } => Ok(true),
            Layout::List { is_first, .. } => {
                let mut item = json::NextItem::new(*is_first);
                self.source.has(|bytes| item.end(bytes))
            }
            Layout::Values => {
                let mut scan = json::Scan::default();
                let end = move |bytes: &[u8]| scan.value_end(bytes);
                self.source.has(after(|byte| byte.is_ascii_whitespace(), end))
            }
        };
        live.wait_until(None);
        has_come
    }

    fn is_full(&self, rows: usize, bytes: usize) -> bool {
        rows >= self.cut.rows_max || bytes >= self.cut.bytes_max
    }

    /// Adds the text of the next row, if there is one, and returns its line.
    pub(super) fn row(&mut self, to: &mut Vec<u8>) -> Result<Option<u64>, Error> {
        match &mut self.layout {
            Layout::Csv(_) => csv_row(&mut self.source, to),
            Layout::Lines => line(&mut self.source, to),
            Layout::Values => value(&mut self.source, to),
            Layout::List { ended: true, .. } => Ok(None),
            Layout::List { is_first, ended } => {
                let item = item(&mut self.source, is_first, to)?;
                *ended = item.is_none();
                Ok(item)
            }
        }
    }

    fn input(&self) -> Input {
        match self.layout {
            Layout::Csv(_) => Input::Csv,
            Layout::Lines => Input::Lines,
            Layout::List { .. } | Layout::Values => Input::Json,
        }
    }

    fn open(&self) -> Vec<u8> {
        match &self.layout {
            Layout::Csv(header) => header.clone(),
            Layout::Lines => Vec::new(),
            Layout::List { .. } | Layout::Values => b"[".to_vec(),
        }
    }

    fn between(&self) -> &'static [u8] {
        match self.layout {
            Layout::Csv(_) | Layout::Lines => b"",
            Layout::List { .. } | Layout::Values => b",\n",
        }
    }

    /// Ends a piece; what was put between its last row and one that did not come goes.
    fn close(&self, body: &mut Vec<u8>) {
        if self.input() == Input::Json {
            let length = body.trim_ascii_end().len();
            body.truncate(length);
            if body.ends_with(b",") {
                body.pop();
            }
            body.push(b']');
        }
    }
}

/// The end of what comes after the bytes that are passed over in front of it.
fn after(
    is_passed: impl Fn(u8) -> bool,
    mut end: impl FnMut(&[u8]) -> Option<usize>,
) -> impl FnMut(&[u8]) -> Option<usize> {
    let mut has_begun = false;
    move |bytes| {
        let passed = match has_begun {
            true => 0,
            false => bytes.iter().take_while(|byte| is_passed(**byte)).count(),
        };
        has_begun |= passed < bytes.len();
        end(bytes.get(passed..).filter(|_| has_begun)?)
    }
}

/// The header of a CSV, with the end of its line.
fn header(source: &mut Source) -> Result<Vec<u8>, Error> {
    let mut header = Vec::new();
    csv_row(source, &mut header)?;
    if !header.is_empty() && !header.ends_with(b"\n") {
        header.push(b'\n');
    }
    Ok(header)
}

fn csv_row(source: &mut Source, to: &mut Vec<u8>) -> Result<Option<u64>, Error> {
    loop {
        let mut scan = csv::Scan::default();
        let length = source.find(|bytes| scan.end(bytes))?;
        let line = source.place().line;
        if length == 0 {
            return Ok(None);
        }
        if scan.is_open() {
            return Err(Error::OpenQuote { line });
        }
        let row = source.text(length)?;
        let is_empty = matches!(row, "\n" | "\r\n");
        if !is_empty {
            to.extend_from_slice(row.as_bytes());
        }
        source.advance(length);
        if !is_empty {
            return Ok(Some(line));
        }
    }
}

fn line(source: &mut Source, to: &mut Vec<u8>) -> Result<Option<u64>, Error> {
    loop {
        let end = |bytes: &[u8]| Some(bytes.iter().position(|byte| *byte == b'\n')? + 1);
        let length = source.find(end)?;
        if length == 0 {
            return Ok(None);
        }
        let line = source.place().line;
        let text = source.text(length)?.trim_ascii_end();
        let is_empty = text.is_empty();
        if !is_empty {
            to.extend_from_slice(text.as_bytes());
            to.push(b'\n');
        }
        source.advance(length);
        if !is_empty {
            return Ok(Some(line));
        }
    }
}

fn value(source: &mut Source, to: &mut Vec<u8>) -> Result<Option<u64>, Error> {
    if source.skip_space()?.is_none() {
        return Ok(None);
    }
    let mut scan = json::Scan::default();
    let length = source.find(|bytes| scan.value_end(bytes))?;
    take_json(source, length, to).map(Some)
}

/// The next item of a list; after the last one the text must end.
fn item(source: &mut Source, is_first: &mut bool, to: &mut Vec<u8>) -> Result<Option<u64>, Error> {
    let next = source.skip_space()?;
    if next == Some(b']') {
        source.advance(1);
        return match source.skip_space()? {
            None => Ok(None),
            Some(_) => Err(fault(source.place(), "unexpected text after the list")),
        };
    }
    if !std::mem::take(is_first) {
        if next != Some(b',') {
            return Err(fault(source.place(), END_OF_LIST));
        }
        source.advance(1);
    }
    match source.skip_space()? {
        None => return Err(fault(source.place(), END_OF_LIST)),
        Some(b',' | b']') => return Err(fault(source.place(), "expected a value")),
        Some(_) => {}
    }
    let mut scan = json::Scan::default();
    let length = source.find(|bytes| scan.item_end(bytes))?;
    take_json(source, length, to).map(Some)
}

const END_OF_LIST: &str = "the list is not closed";

/// Adds a value that must be JSON, and steps over it.
fn take_json(source: &mut Source, length: usize, to: &mut Vec<u8>) -> Result<u64, Error> {
    let place = source.place();
    let text = source.text(length)?;
    if let Err((at, reason)) = decode::check_json(text) {
        let before = text.as_bytes().get(..at).unwrap_or_default();
        return Err(fault(place.after(before), reason));
    }
    to.extend_from_slice(text.trim_ascii_end().as_bytes());
    source.advance(length);
    Ok(place.line)
}

fn fault(place: Place, reason: &'static str) -> Error {
    Error::Json { reason, line: place.line, column: place.column }
}
