//! The file of a job's rows: appended to by one, read by any number, and thrown away whoever reads.
//!
//! Each piece that was written has a checksum, which is in memory as the job is. Nothing is read that
//! does not fit it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use tokio::task::spawn_blocking;
use twox_hash::XxHash3_64;

use super::error::Error;

/// A file that is being read as the Arrow IPC stream that it is.
pub(super) type Stream = StreamReader<Checked>;

/// What was written at once.
#[derive(Clone, Copy, Debug)]
struct Piece {
    bytes: usize,
    checksum: u64,
}

/// What was written so far, in order.
type Pieces = Arc<Mutex<Vec<Piece>>>;

/// The file of a job's rows. It is open only while a client writes or reads: jobs are many.
#[derive(Debug)]
pub(super) struct RowsFile {
    path: Arc<PathBuf>,
    pieces: Pieces,
}

/// Writes a file, from its beginning to its end.
#[derive(Debug)]
pub(super) struct Writer {
    file: Arc<File>,
    pieces: Pieces,
}

impl Writer {
    /// Writes more at the end. Who reads the file then finds it.
    pub(super) async fn append(&self, bytes: Vec<u8>) -> Result<(), Error> {
        let (file, pieces) = (Arc::clone(&self.file), Arc::clone(&self.pieces));
        let write = move || {
            let piece = Piece { bytes: bytes.len(), checksum: XxHash3_64::oneshot(&bytes) };
            (&*file).write_all(&bytes)?;
            pieces.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
            Ok(())
        };
        blocking("write", write).await
    }
}

impl RowsFile {
    /// A new file.
    pub(super) async fn create(path: PathBuf) -> Result<(Self, Writer), Error> {
        let create = move || {
            let file =
                edgemere_storage::private::options().write(true).create_new(true).open(&path)?;
            let pieces = Pieces::default();
            let writer = Writer { file: Arc::new(file), pieces: Arc::clone(&pieces) };
            Ok((Self { path: Arc::new(path), pieces }, writer))
        };
        blocking("create a file for", create).await
    }

    /// Opens it once more, from its beginning, which must have been written.
    pub(super) async fn open(&self) -> Result<Stream, Error> {
        let (path, pieces) = (Arc::clone(&self.path), Arc::clone(&self.pieces));
        let open = move || {
            let file = File::open(path.as_path())?;
            let checked = Checked { file, pieces, next: 0, piece: Cursor::default() };
            StreamReader::try_new(checked, None).map_err(io_error)
        };
        blocking("read", open).await
    }

    /// Gives its room on the disk back, also when somebody has it open.
    pub(super) fn throw_away(&self) {
        let path = self.path.as_path();
        let emptied = OpenOptions::new().write(true).truncate(true).open(path);
        match emptied.and_then(|_| fs::remove_file(path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(file = %path.display(), %error, "cannot remove a job's rows");
            }
            _ => {}
        }
    }
}

/// Reads a file piece by piece, each of which is compared with its checksum before any of it is used.
#[derive(Debug)]
pub(super) struct Checked {
    file: File,
    pieces: Pieces,
    /// Which piece comes next.
    next: usize,
    /// The one that is being used.
    piece: Cursor<Vec<u8>>,
}

impl Checked {
    /// Takes the next piece; false when there is none.
    fn advance(&mut self) -> io::Result<bool> {
        let next = {
            let pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
            pieces.get(self.next).copied()
        };
        let Some(Piece { bytes, checksum }) = next else { return Ok(false) };
        let mut read = vec![0; bytes];
        self.file.read_exact(&mut read)?;
        if XxHash3_64::oneshot(&read) != checksum {
            let reason = "the file is damaged: its checksum does not fit";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        self.next += 1;
        self.piece = Cursor::new(read);
        Ok(true)
    }
}

impl Read for Checked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = self.piece.read(into)?;
            if read > 0 || into.is_empty() || !self.advance()? {
                return Ok(read);
            }
        }
    }
}

/// The next batch of a stream that is known to have one, and the stream for those that follow.
pub(super) async fn next(mut stream: Stream) -> Result<(Stream, arrow::array::RecordBatch), Error> {
    let read = move || match stream.next() {
        Some(Ok(batch)) => Ok((stream, batch)),
        Some(Err(error)) => Err(io_error(error)),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    };
    blocking("read", read).await
}

fn io_error(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}

/// Works on a file where waiting for the disk holds up nobody else.
async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let done = spawn_blocking(work).await.map_err(io::Error::other).flatten();
    done.map_err(|error| Error::file(what, error))
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};
    use arrow::ipc::writer::StreamWriter;

    use super::*;

    fn rows() -> RecordBatch {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..500));
        RecordBatch::try_from_iter([("n", numbers)]).unwrap()
    }

    async fn read(file: &RowsFile) -> Result<RecordBatch, Error> {
        next(file.open().await?).await.map(|(_, batch)| batch)
    }

    #[tokio::test]
    async fn no_changed_byte_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows");
        let (file, writer) = RowsFile::create(path.clone()).await.unwrap();
        let mut stream = StreamWriter::try_new(Vec::new(), &rows().schema()).unwrap();
        writer.append(std::mem::take(stream.get_mut())).await.unwrap();
        stream.write(&rows()).unwrap();
        writer.append(std::mem::take(stream.get_mut())).await.unwrap();
        let whole = fs::read(&path).unwrap();
        assert_eq!(read(&file).await.unwrap(), rows());
        for at in (0..whole.len()).step_by(13) {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&path, changed).unwrap();
            assert!(matches!(read(&file).await, Err(Error::File { .. })), "byte {at}");
        }
        fs::write(&path, &whole).unwrap();
        assert_eq!(read(&file).await.unwrap(), rows());
    }
}
