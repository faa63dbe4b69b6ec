//! How the bytes of Parquet files come to a query. What the system has in memory is taken at once, by
//! the thread that wants it; only what has to come from the disk is waited for by another thread.
//! Handing over to another thread and back takes longer than copying what a short query needs.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::error::Result;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ParquetMetaData;

use crate::storage::DataFile;

/// Opens files. What is at the end of a file is read once, not by every query: a file never changes.
#[derive(Debug)]
pub(super) struct Files {
    patient: CachedParquetFileReaderFactory,
}

impl Files {
    pub(super) fn new(runtime: &RuntimeEnv) -> Result<Self> {
        let store = runtime.object_store(Self::url())?;
        let ends = runtime.cache_manager.get_file_metadata_cache();
        Ok(Self { patient: CachedParquetFileReaderFactory::new(store, ends) })
    }

    /// Where they are, for DataFusion.
    pub(super) fn url() -> ObjectStoreUrl {
        ObjectStoreUrl::local_filesystem()
    }
}

impl ParquetFileReaderFactory for Files {
    fn create_reader(
        &self,
        partition: usize,
        piece: PartitionedFile,
        hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let file = piece.extension::<Arc<DataFile>>().and_then(|file| Open::new(&file.path).ok());
        let patient = self.patient.create_reader(partition, piece, hint, metrics)?;
        Ok(Box::new(Reader { file, patient }))
    }
}

/// Reads a file.
struct Reader {
    /// None when it cannot be opened: the other says why.
    file: Option<Open>,
    patient: Box<dyn AsyncFileReader + Send>,
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        match self.file.as_ref().and_then(|file| file.at_once(&range)) {
            Some(bytes) => ready(Ok(bytes)).boxed(),
            None => self.patient.get_bytes(range),
        }
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        let read = |file: &Open| ranges.iter().map(|range| file.at_once(range)).collect();
        match self.file.as_ref().and_then(read) {
            Some(bytes) => ready(Ok(bytes)).boxed(),
            None => self.patient.get_byte_ranges(ranges),
        }
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        self.patient.get_metadata(options)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("file", &self.file).finish_non_exhaustive()
    }
}

/// An open file.
#[derive(Debug)]
struct Open {
    file: File,
    bytes: u64,
}

impl Open {
    fn new(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }

    /// A part of the file, if it is there without waiting for the disk.
    fn at_once(&self, range: &Range<u64>) -> Option<Bytes> {
        // What a damaged file says of itself is not believed.
        let end = Some(range.end).filter(|end| *end <= self.bytes)?;
        let mut bytes = vec![0; usize::try_from(end.checked_sub(range.start)?).ok()?];
        let (mut rest, mut at) = (bytes.as_mut_slice(), range.start);
        while !rest.is_empty() {
            let read = read_at_once(&self.file, rest, at).filter(|read| *read > 0)?;
            rest = rest.get_mut(read..)?;
            at += read as u64;
        }
        Some(bytes.into())
    }
}

/// Reads what the system has in memory, and says how much that is.
#[cfg(target_os = "linux")]
fn read_at_once(file: &File, into: &mut [u8], at: u64) -> Option<usize> {
    use rustix::io::{ReadWriteFlags, preadv2};

    preadv2(file, &mut [io::IoSliceMut::new(into)], at, ReadWriteFlags::NOWAIT).ok()
}

/// Other systems do not tell whether they would wait.
#[cfg(not(target_os = "linux"))]
fn read_at_once(_: &File, _: &mut [u8], _: u64) -> Option<usize> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn what_was_just_written_is_there_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let written: Vec<u8> = (0..1 << 20).map(|at| (at % 251) as u8).collect();
        std::fs::write(&path, &written).unwrap();
        let file = Open::new(&path).unwrap();
        for range in [0..1, 0..1 << 20, 4095..4097, 77..77, 1_000_000..1_048_576] {
            let read = file.at_once(&range).unwrap();
            assert_eq!(read, written[range.start as usize..range.end as usize]);
        }
    }

    #[test]
    fn what_is_not_in_the_file_is_not_made_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"short").unwrap();
        let file = Open::new(&path).unwrap();
        for range in [0..6, 5..6, 100..200, 0..u64::MAX, Range { start: 3, end: 2 }] {
            assert_eq!(file.at_once(&range), None, "{range:?}");
        }
    }
}
