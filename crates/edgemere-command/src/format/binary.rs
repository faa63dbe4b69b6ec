//! The rows of a query in formats that are not text: an Arrow stream, and a Parquet file. Both are made
//! piece by piece, as the rows come.

use edgemere_query::sql::{ArrowStream, Batch, Error as SqlError, ParquetStream, Rows as _};
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};

use super::rows::Rows;
use super::source::Source;
use super::{Content, Media, Rendered, Sources};
use crate::error::Error;

/// Rows as an Arrow IPC stream: the columns at once, then the rows as they come.
pub(super) fn arrow(rows: Rows) -> Rendered {
    pieces::<ArrowStream>(rows, Media::ArrowStream)
}

/// Rows as a Parquet file.
pub(super) fn parquet(rows: Rows) -> Rendered {
    pieces::<ParquetStream>(rows, Media::Parquet)
}

/// What makes bytes of rows.
trait Encoder: Sized + Send + 'static {
    /// One for rows like these, and the first bytes.
    fn begin(like: &Batch) -> Result<(Self, Vec<u8>), SqlError>;
    /// The bytes that some rows make.
    fn rows(&mut self, batch: &Batch) -> Result<Vec<u8>, SqlError>;
    /// The last bytes.
    fn end(self) -> Result<Vec<u8>, SqlError>;
}

impl Encoder for ArrowStream {
    fn begin(like: &Batch) -> Result<(Self, Vec<u8>), SqlError> {
        let mut stream = Self::new(like)?;
        let first = stream.take();
        Ok((stream, first))
    }

    fn rows(&mut self, batch: &Batch) -> Result<Vec<u8>, SqlError> {
        Self::rows(self, batch)
    }

    fn end(mut self) -> Result<Vec<u8>, SqlError> {
        Self::end(&mut self)
    }
}

impl Encoder for ParquetStream {
    fn begin(like: &Batch) -> Result<(Self, Vec<u8>), SqlError> {
        Ok((Self::new(like)?, Vec::new()))
    }

    fn rows(&mut self, batch: &Batch) -> Result<Vec<u8>, SqlError> {
        Self::rows(self, batch)
    }

    fn end(self) -> Result<Vec<u8>, SqlError> {
        Self::end(self)
    }
}

/// What is sent next.
enum Part<E> {
    Beginning(Source),
    Rows(Source, Box<E>),
}

fn pieces<E: Encoder>(rows: Rows, media: Media) -> Rendered {
    let sources = Sources::of_rows(&rows.query);
    let announced = rows.query.missing().len();
    let beginning = Some(Part::<E>::Beginning(rows.query));
    let pieces: BoxStream<'static, _> = unfold(beginning, move |part| async move {
        match piece(part?, announced).await {
            Ok((piece, next)) => Some((Ok(piece), next)),
            // After an error there is nothing more: the reply must not look whole.
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed();
    Rendered { media, content: Content::Stream(pieces), sources }
}

/// The next piece, of a reply of which so many operators are known to be missing.
async fn piece<E: Encoder>(
    part: Part<E>,
    announced: usize,
) -> Result<(Vec<u8>, Option<Part<E>>), Error> {
    match part {
        Part::Beginning(source) => {
            let (encoder, first) = E::begin(&source.no_rows())?;
            Ok((first, Some(Part::Rows(source, Box::new(encoder)))))
        }
        Part::Rows(mut source, mut encoder) => match source.next().await.transpose()? {
            Some(batch) => Ok((encoder.rows(&batch)?, Some(Part::Rows(source, encoder)))),
            None => {
                source.check_missing(announced)?;
                Ok((encoder.end()?, None))
            }
        },
    }
}
