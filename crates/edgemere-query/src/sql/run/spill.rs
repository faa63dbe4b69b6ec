//! Files that queries spill to, verified: what is read back is what was written, or the query fails.
//!
//! DataFusion writes and reads them as streams of bytes, and believes what it reads. Each piece that is
//! written has its checksum, in memory, since the file lives no longer than its query.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::DiskManager;
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures_util::stream::{self, Stream, StreamExt};
use twox_hash::XxHash3_64;

/// Pieces are put together until they have so many bytes, so that there are few checksums.
const PIECE_BYTES: usize = 64 * 1024;

/// Makes files of another's that are verified.
pub(crate) struct Verified(pub(crate) Arc<DiskManager>);

impl TempFileFactory for Verified {
    fn create_temp_file(&self, description: &str) -> Result<Arc<dyn SpillFile>> {
        let file = self.0.create_tmp_file(description)?;
        Ok(Arc::new(Spilled { file, sums: Arc::default() }))
    }
}

/// A file, and the checksums of what was written to it.
struct Spilled {
    file: Arc<dyn SpillFile>,
    sums: Arc<Mutex<Vec<Sum>>>,
}

/// The checksum of a piece.
#[derive(Clone, Copy, Debug)]
struct Sum {
    bytes: usize,
    xxh3: u64,
}

fn lock(sums: &Mutex<Vec<Sum>>) -> MutexGuard<'_, Vec<Sum>> {
    sums.lock().unwrap_or_else(PoisonError::into_inner)
}

impl SpillFile for Spilled {
    fn path(&self) -> Option<&Path> {
        self.file.path()
    }

    fn size(&self) -> Option<u64> {
        self.file.size()
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        let (to, sums) = (self.file.open_writer()?, Arc::clone(&self.sums));
        Ok(Box::new(Writer { to, sums, piece: Vec::new() }))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        let reader = Reader {
            from: self.file.read_stream()?,
            sums: Arc::clone(&self.sums),
            verified: 0,
            read: VecDeque::new(),
            is_over: false,
            name: self.file.path().map(|path| path.display().to_string()).unwrap_or_default(),
        };
        Ok(Box::pin(stream::try_unfold(reader, Reader::next)))
    }
}

/// Writes pieces, and notes their checksums.
struct Writer {
    to: Box<dyn SpillWriter>,
    sums: Arc<Mutex<Vec<Sum>>>,
    piece: Vec<u8>,
}

impl Writer {
    /// Writes what has gathered. Who reads at the same time sees it with its checksum, or not at all.
    fn write_piece(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let mut sums = lock(&self.sums);
        self.to.write_all(&self.piece)?;
        sums.push(Sum { bytes: self.piece.len(), xxh3: XxHash3_64::oneshot(&self.piece) });
        self.piece.clear();
        Ok(())
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.write_piece()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_piece()?;
        self.to.flush()
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        self.flush()?;
        self.to.finish()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Who does not finish has either flushed, or does not want the rest.
        let _ = self.write_piece();
    }
}

/// Reads pieces, and passes on those whose checksums fit.
struct Reader {
    from: Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>,
    sums: Arc<Mutex<Vec<Sum>>>,
    /// How many pieces were passed on.
    verified: usize,
    /// What was read and is not verified.
    read: VecDeque<u8>,
    is_over: bool,
    name: String,
}

impl Reader {
    async fn next(mut self) -> Result<Option<(Bytes, Self)>> {
        loop {
            if let Some(piece) = self.piece()? {
                return Ok(Some((piece, self)));
            }
            if self.is_over {
                return match self.read.is_empty() && !self.is_behind() {
                    true => Ok(None),
                    false => Err(self.damaged("it is cut off")),
                };
            }
            match self.from.next().await {
                Some(bytes) => self.read.extend(&*bytes?),
                None => self.is_over = true,
            }
        }
    }

    /// The next piece, when all of it was read.
    fn piece(&mut self) -> Result<Option<Bytes>> {
        let sum = lock(&self.sums).get(self.verified).copied();
        let Some(sum) = sum.filter(|sum| sum.bytes <= self.read.len()) else { return Ok(None) };
        let rest = self.read.split_off(sum.bytes);
        let piece = Vec::from(std::mem::replace(&mut self.read, rest));
        if XxHash3_64::oneshot(&piece) != sum.xxh3 {
            return Err(self.damaged("it does not hold what was written"));
        }
        self.verified += 1;
        Ok(Some(piece.into()))
    }

    /// Whether more was written than was read.
    fn is_behind(&self) -> bool {
        lock(&self.sums).len() > self.verified
    }

    fn damaged(&self, reason: &str) -> DataFusionError {
        let message = format!("the file \"{}\" that the query spilled to: {reason}", self.name);
        io::Error::new(io::ErrorKind::InvalidData, message).into()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};

    use super::*;

    async fn read(file: &Arc<dyn SpillFile>) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        let mut stream = file.read_stream()?;
        while let Some(bytes) = stream.next().await {
            all.extend_from_slice(&bytes?);
        }
        Ok(all)
    }

    #[tokio::test]
    async fn what_is_read_back_is_what_was_written_or_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mode = DiskManagerMode::Directories(vec![folder.path().to_owned()]);
        let disk = DiskManagerBuilder::default().with_mode(mode).build().unwrap();
        let file = Verified(Arc::new(disk)).create_temp_file("a test").unwrap();
        assert_eq!(read(&file).await.unwrap(), b"");
        let content: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8).collect();
        let mut writer = file.open_writer().unwrap();
        let mut written = 0;
        for size in [1, 7, 100, 65_536, 3, 70_000, 164_353] {
            writer.write_all(&content[written..written + size]).unwrap();
            written += size;
        }
        writer.finish().unwrap();
        assert_eq!(written, content.len());
        assert_eq!(file.size(), Some(content.len() as u64));
        for _ in 0..2 {
            assert!(read(&file).await.unwrap() == content);
        }
        let path = file.path().unwrap().to_owned();
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(9_973) {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            fs::write(&path, changed).unwrap();
            let error = read(&file).await.unwrap_err().to_string();
            assert!(error.contains("does not hold what was written"), "byte {at}: {error}");
        }
        for length in [0, 10, 100_000, whole.len() - 1] {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&file).await.unwrap_err().to_string().contains("cut off"), "{length}");
        }
        fs::write(&path, &whole).unwrap();
        assert!(read(&file).await.unwrap() == content);
    }
}
