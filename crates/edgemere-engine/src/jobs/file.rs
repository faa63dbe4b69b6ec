//! The file of a job's rows: appended to by one, read by any number, and thrown away whoever reads.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use tokio::task::spawn_blocking;

use super::error::Error;

/// A file that is being read as the Arrow IPC stream that it is.
pub(super) type Stream = StreamReader<File>;

/// The file of a job's rows. It is open only while somebody writes or reads: jobs are many.
#[derive(Debug)]
pub(super) struct RowsFile {
    path: Arc<PathBuf>,
}

/// Writes a file, from its beginning to its end.
#[derive(Debug)]
pub(super) struct Writer {
    file: Arc<File>,
}

impl Writer {
    /// Writes more at the end. Who reads the file then finds it.
    pub(super) async fn append(&self, bytes: Vec<u8>) -> Result<(), Error> {
        let file = Arc::clone(&self.file);
        blocking("write", move || (&*file).write_all(&bytes)).await
    }
}

impl RowsFile {
    /// A new file.
    pub(super) async fn create(path: PathBuf) -> Result<(Self, Writer), Error> {
        let create = move || {
            let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            Ok((Self { path: Arc::new(path) }, Writer { file: Arc::new(file) }))
        };
        blocking("create a file for", create).await
    }

    /// Opens it once more, from its beginning, which must have been written.
    pub(super) async fn open(&self) -> Result<Stream, Error> {
        let path = Arc::clone(&self.path);
        let open =
            move || StreamReader::try_new(File::open(path.as_path())?, None).map_err(io_error);
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
