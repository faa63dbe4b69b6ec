//! Cuts a file of rows into chunks that are sent one after the other, so that a file of any size
//! needs little memory. It knows where rows begin and end; `decode` knows what they mean.
//!
//! 1. `source` reads text bit by bit, and knows the current line.
//! 2. `csv` and `json` find the end of a row, as `decode` will read it; `text` gathers rows until a
//!    chunk is full. Each chunk is an input of its own: a CSV chunk has the header.
//! 3. `parquet` reads batches, and makes an Arrow stream of each.
//! 4. `live` reads what comes over time: a chunk of it is full after a while, whatever it holds.
//!
//! The same file with the same [`ChunkOptions`] gives the same chunks, and an error in a file changes
//! none of the chunks before it. So a chunk has an idempotency [`key`](Chunk::key).

mod csv;
mod error;
mod hash;
mod json;
mod live;
mod parquet;
mod source;
mod text;

use std::fs::File;
use std::io::{Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use flate2::read::MultiGzDecoder;

use crate::decode::Input;
use source::{Counted, Source};

pub use error::Error;
pub use hash::content_hash;
pub use live::Live;

/// How the rows of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines of values, after a line of names.
    Csv,
    /// A list of objects, one object, or objects one after the other.
    Json,
    /// An object a line.
    Ndjson,
    /// Parquet.
    Parquet,
}

/// How a file is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkOptions {
    /// The most rows of a piece.
    pub rows_max: usize,
    /// A piece is full when it has so many bytes.
    pub bytes_max: usize,
    /// How many rows at the start are left out.
    pub skip: u64,
}

/// Some rows of a file, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// What the bytes are.
    pub input: Input,
    /// The rows, as an input of its own.
    pub body: Vec<u8>,
    /// The number of the first row in the file, from 1.
    pub first_row: u64,
    /// How many rows there are.
    pub rows: usize,
    /// The line that each row begins in, from 1; none where a file has no lines.
    pub lines: Vec<u64>,
    /// How much of the file was read for this piece and those before it.
    pub bytes_read: u64,
}

impl Chunk {
    /// A name for this piece of a file: of its content, its place and the file's own name.
    #[must_use]
    pub fn key(&self, file: &str) -> String {
        hash::key(self, file)
    }

    /// The number in the file of a row of this piece, both from 1, and its line.
    #[must_use]
    pub fn place(&self, row: usize) -> (u64, Option<u64>) {
        let index = row.saturating_sub(1);
        (self.first_row + index as u64, self.lines.get(index).copied())
    }
}

/// The pieces of a file.
pub struct Chunks(Kind);

enum Kind {
    Text(text::Rows),
    Parquet(parquet::Batches),
}

impl Chunks {
    /// The pieces of a file. Text may be compressed with gzip.
    pub fn open(path: &Path, format: Format, cut: ChunkOptions) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::Io)?;
        match format {
            Format::Parquet => Ok(Self(Kind::Parquet(parquet::Batches::open(file, cut)?))),
            _ => Self::of_text(file, format, cut),
        }
    }

    /// The pieces of a text that comes from anywhere. Parquet is read from its end, and cannot.
    pub fn of_text(
        reader: impl Read + Send + 'static,
        format: Format,
        cut: ChunkOptions,
    ) -> Result<Self, Error> {
        let count = Arc::new(AtomicU64::new(0));
        let reader = inflated(Counted::new(reader, Arc::clone(&count)))?;
        let source = Source::new(reader)?;
        Ok(Self(Kind::Text(text::Rows::new(source, format, cut, count)?)))
    }

    /// The pieces of a text that comes over time, as from a pipe. A piece ends after a while with the
    /// rows that have come whole. None come any more when it was stopped.
    pub fn of_live<R: Read>(
        open: impl FnOnce() -> std::io::Result<R> + Send + 'static,
        format: Format,
        cut: ChunkOptions,
        live: &Live,
    ) -> Result<Self, Error> {
        let reader = live.reader(open).map_err(Error::Io)?;
        let pieces = match Self::of_text(reader, format, cut) {
            // Nothing but the beginning had come when it was stopped.
            Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                Self::of_text(std::io::empty(), format, cut)?
            }
            pieces => pieces?,
        };
        Ok(match pieces.0 {
            Kind::Text(rows) => Self(Kind::Text(rows.live(live.clone()))),
            parquet => Self(parquet),
        })
    }
}

impl Iterator for Chunks {
    type Item = Result<Chunk, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            Kind::Text(rows) => rows.piece().transpose(),
            Kind::Parquet(batches) => batches.piece().transpose(),
        }
    }
}

/// The text inside what may be compressed, which its first bytes tell.
fn inflated(mut reader: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>, Error> {
    const GZIP: [u8; 2] = [0x1f, 0x8b];
    let mut start = Vec::with_capacity(GZIP.len());
    reader.by_ref().take(GZIP.len() as u64).read_to_end(&mut start).map_err(Error::Io)?;
    let is_gzip = start == GZIP;
    let whole = Cursor::new(start).chain(reader);
    Ok(if is_gzip { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
}
