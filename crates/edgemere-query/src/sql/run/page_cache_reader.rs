//! How the bytes of Parquet files come to a query: compared with their checksums, all of them. What the
//! system has in memory is taken at once, by the thread that wants it; only what has to come from the
//! disk is waited for by another thread. Handing over to another thread and back takes longer than
//! copying what a short query needs.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::object_store::ObjectStoreUrl;
use datafusion::datasource::physical_plan::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::CachedParquetMetaData;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::cache::cache_manager::{CachedFileMetadataEntry, FileMetadataCache};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder};

use crate::sql::plan::missing::{self, Name};
use crate::sql::plan::table_scan::Flushed;
use edgemere_storage::storage::{DataFile, Verified};

/// Opens files. What is at the end of a file is read once, not by every query: a file never changes.
#[derive(Debug)]
pub(crate) struct Files {
    ends: Arc<FileMetadataCache>,
}

impl Files {
    pub(crate) fn new(runtime: &RuntimeEnv) -> Self {
        Self { ends: runtime.cache_manager.get_file_metadata_cache() }
    }

    /// Where they are, for DataFusion.
    pub(crate) fn url() -> ObjectStoreUrl {
        ObjectStoreUrl::local_filesystem()
    }
}

impl ParquetFileReaderFactory for Files {
    fn create_reader(
        &self,
        _: usize,
        piece: PartitionedFile,
        _: Option<usize>,
        _: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let Some(flushed) = piece.extension::<Flushed>() else {
            return datafusion::common::internal_err!("a scan of a file that is not the storage's");
        };
        let Flushed { table, file } = flushed;
        let open = Verified::open(file).map_err(|error| {
            DataFusionError::External(Box::new(missing::found(table, file, error)))
        })?;
        let (table, file, open) = (Arc::clone(table), Arc::clone(file), Arc::new(open));
        Ok(Box::new(Reader { table, file, open, piece, ends: Arc::clone(&self.ends) }))
    }
}

/// Reads a file.
struct Reader {
    table: Arc<Name>,
    file: Arc<DataFile>,
    open: Arc<Verified>,
    piece: PartitionedFile,
    ends: Arc<FileMetadataCache>,
}

impl Reader {
    fn parts(&self, parts: Vec<Range<u64>>) -> BoxFuture<'static, ParquetResult<Vec<Bytes>>> {
        let (table, file) = (Arc::clone(&self.table), Arc::clone(&self.file));
        let failed =
            move |error| ParquetError::External(Box::new(missing::found(&table, &file, error)));
        if let Some(read) = self.open.at_once(&parts) {
            return ready(read.map_err(failed)).boxed();
        }
        let open = Arc::clone(&self.open);
        async move {
            let read = tokio::task::spawn_blocking(move || open.read(&parts)).await;
            read.map_err(|error| ParquetError::External(error.into()))?.map_err(failed)
        }
        .boxed()
    }

    /// What is at the end of the file, if it was read before.
    fn known_end(&self, pages: PageIndexPolicy) -> Option<Arc<ParquetMetaData>> {
        let known = self.ends.get(&self.piece.object_meta.location)?;
        if !known.is_valid_for(&self.piece.object_meta) {
            return None;
        }
        let end = known.file_metadata.as_any().downcast_ref::<CachedParquetMetaData>()?;
        let end = end.parquet_metadata();
        let has_pages = end.column_index().is_some() && end.offset_index().is_some();
        (has_pages || pages == PageIndexPolicy::Skip).then(|| Arc::clone(end))
    }

    async fn end(&self, pages: PageIndexPolicy) -> ParquetResult<Arc<ParquetMetaData>> {
        if let Some(known) = self.known_end(pages) {
            return Ok(known);
        }
        let object = &self.piece.object_meta;
        let mut decoder =
            ParquetMetaDataPushDecoder::try_new(object.size)?.with_page_index_policy(pages);
        let end = loop {
            match decoder.try_decode()? {
                DecodeResult::Data(end) => break Arc::new(end),
                DecodeResult::NeedsData(parts) => {
                    let bytes = self.parts(parts.clone()).await?;
                    decoder.push_ranges(parts, bytes)?;
                }
                DecodeResult::Finished => {
                    return Err(ParquetError::General("the file has no end".to_owned()));
                }
            }
        };
        let kept = Arc::new(CachedParquetMetaData::new(Arc::clone(&end)));
        self.ends.put(&object.location, CachedFileMetadataEntry::new(object.clone(), kept));
        Ok(end)
    }
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        let read = self.parts(vec![range]);
        let none = || ParquetError::General("nothing was read".to_owned());
        async move { read.await?.pop().ok_or_else(none) }.boxed()
    }

    fn get_byte_ranges(
        &mut self,
        ranges: Vec<Range<u64>>,
    ) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.parts(ranges)
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        // Pages are looked up again and again, so where they are is kept too.
        let pages = options.map_or(PageIndexPolicy::Optional, |set| set.column_index_policy());
        self.end(pages).boxed()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("file", &self.file).finish_non_exhaustive()
    }
}
