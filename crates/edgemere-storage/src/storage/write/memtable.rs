//! What a table holds at a moment, in memory: its columns, its files, and its memtable rows in chunks.
//!
//! It is changed by transactions that have come through, and read by snapshots. It knows nothing of
//! disks.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::schema::{Column, Schema};
use crate::storage::DataFile;
use crate::storage::Error;
use crate::storage::Retention;
use crate::storage::TableStats;
use crate::storage::options::CHUNK_ROWS;
use crate::storage::parquet_files::sort;
use crate::storage::persist::record::Counters;
use crate::storage::tables::widening::Widening;
use crate::storage::write::block;

/// A moment of a table: every row that it has, exactly once.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The table's columns.
    pub schema: Arc<Schema>,
    /// The same for Arrow, with the system columns in front.
    pub arrow: SchemaRef,
    /// The flushed rows. The files stay while the snapshot holds them.
    pub files: Vec<Arc<DataFile>>,
    /// The memtable rows, with all columns.
    pub memtable: Vec<RecordBatch>,
    /// How many rows there are in all.
    pub rows: u64,
}

/// Fresh rows of one or some blocks.
#[derive(Clone, Debug)]
pub(crate) struct MemtableChunk {
    /// The numbers of the first and the last block.
    pub(crate) blocks: (u64, u64),
    /// When the oldest was inserted, in microseconds.
    pub(crate) inserted: i64,
    /// What they were counted for.
    pub(crate) bytes: u64,
    /// The rows.
    pub(crate) batch: RecordBatch,
}

/// What a table holds.
#[derive(Debug)]
pub(crate) struct TableState {
    pub(crate) schema: Arc<Schema>,
    pub(crate) arrow: SchemaRef,
    pub(crate) files: Vec<Arc<DataFile>>,
    pub(crate) counters: Counters,
    pub(crate) dropped: bool,
    /// How much is kept, where the table says it itself.
    pub(crate) retention: Retention,
    /// Chunks that are being flushed, so that they stay as they are. They come before the others.
    sealed: Vec<MemtableChunk>,
    memtable: Vec<MemtableChunk>,
}

impl TableState {
    pub(crate) fn new(schema: Schema, counters: Counters, files: Vec<Arc<DataFile>>) -> Self {
        let arrow = schema.arrow_with_system();
        let schema = Arc::new(schema);
        Self {
            schema,
            arrow,
            files,
            counters,
            dropped: false,
            retention: Retention::default(),
            sealed: vec![],
            memtable: vec![],
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            schema: Arc::clone(&self.schema),
            arrow: Arc::clone(&self.arrow),
            files: self.files.clone(),
            memtable: self.chunks().map(|chunk| chunk.batch.clone()).collect(),
            rows: self.file_rows() + self.memtable_rows(),
        }
    }

    pub(crate) fn stats(&self) -> TableStats {
        let damaged = || self.files.iter().filter(|file| file.damage().is_some());
        TableStats {
            rows: self.file_rows() + self.memtable_rows(),
            memtable_rows: self.memtable_rows(),
            memtable_bytes: self.chunks().map(|chunk| chunk.bytes).sum(),
            files: self.files.len(),
            file_bytes: self.files.iter().map(|file| file.bytes).sum(),
            damaged_files: damaged().count(),
            damaged_rows: damaged().map(|file| file.rows).sum(),
        }
    }

    /// When the oldest memtable row was inserted.
    pub(crate) fn oldest(&self) -> Option<i64> {
        self.chunks().map(|chunk| chunk.inserted).min()
    }

    /// Adds the rows of a block, and joins small chunks: each is larger than what comes after it, so
    /// that a row is copied a few times at most.
    pub(crate) fn push(&mut self, chunk: MemtableChunk) {
        self.memtable.push(chunk);
        while let Some([before, last]) = self.memtable.last_chunk()
            && before.batch.num_rows() <= 2 * last.batch.num_rows()
            && before.batch.num_rows() + last.batch.num_rows() <= CHUNK_ROWS
        {
            // Chunks that cannot be joined stay apart, which is as well.
            let Ok(batch) = sort::join(&self.arrow, &[&before.batch, &last.batch]) else { break };
            let joined = MemtableChunk {
                blocks: (before.blocks.0, last.blocks.1),
                inserted: before.inserted.min(last.inserted),
                bytes: before.bytes + last.bytes,
                batch,
            };
            self.memtable.truncate(self.memtable.len() - 2);
            self.memtable.push(joined);
        }
    }

    /// Keeps all memtable rows as they are from now on, until they are flushed.
    pub(crate) fn seal(&mut self) {
        self.sealed.append(&mut self.memtable);
    }

    /// The first sealed rows, up to about so many bytes.
    pub(crate) fn sealed(&self, bytes_max: u64) -> Vec<MemtableChunk> {
        let mut bytes = 0;
        let fits = |chunk: &&MemtableChunk| {
            let first = bytes == 0;
            bytes += chunk.bytes;
            first || bytes <= bytes_max
        };
        self.sealed.iter().take_while(fits).cloned().collect()
    }

    /// Puts a file in the place of so many sealed chunks.
    pub(crate) fn flush(&mut self, chunks: usize, file: Arc<DataFile>) {
        self.sealed.drain(..chunks.min(self.sealed.len()));
        self.files.push(file);
    }

    /// Takes files out and puts others in, in the order of their row ids.
    pub(crate) fn replace(&mut self, old: &[Arc<DataFile>], new: Option<Arc<DataFile>>) {
        self.files.retain(|file| !old.iter().any(|old| Arc::ptr_eq(old, file)));
        self.files.extend(new);
        self.files.sort_by_key(|file| file.row_ids);
    }

    /// The state's schema with more columns and with wider ones, and all memtable rows with them.
    pub(crate) fn widened(&self, added: &[Column], wider: &[Widening]) -> Result<Wider, Error> {
        let mut schema = Schema::clone(&self.schema);
        for column in &mut schema.columns {
            if let Some(widening) = wider.iter().find(|widening| widening.name == column.name) {
                column.kind = widening.to;
            }
        }
        schema.columns.extend_from_slice(added);
        let arrow = schema.arrow_with_system();
        let pad = |chunk: &MemtableChunk| {
            Ok(MemtableChunk { batch: block::pad(&chunk.batch, &arrow)?, ..chunk.clone() })
        };
        let sealed = self.sealed.iter().map(pad).collect::<Result<_, Error>>()?;
        let memtable = self.memtable.iter().map(pad).collect::<Result<_, Error>>()?;
        Ok(Wider { schema: Arc::new(schema), arrow, sealed, memtable })
    }

    pub(crate) fn widen(&mut self, wider: Wider) {
        self.schema = wider.schema;
        self.arrow = wider.arrow;
        self.sealed = wider.sealed;
        self.memtable = wider.memtable;
    }

    /// Takes other columns and files in the place of all that it has, and returns the bytes that the
    /// memtable rows had.
    pub(crate) fn rewrite(
        &mut self,
        schema: Schema,
        arrow: SchemaRef,
        files: Vec<Arc<DataFile>>,
    ) -> u64 {
        let bytes = self.chunks().map(|chunk| chunk.bytes).sum();
        self.schema = Arc::new(schema);
        self.arrow = arrow;
        self.files = files;
        self.files.sort_by_key(|file| file.row_ids);
        self.sealed.clear();
        self.memtable.clear();
        bytes
    }

    /// Forgets everything, and returns the bytes of the memtable rows.
    pub(crate) fn drop_all(&mut self) -> u64 {
        let bytes = self.chunks().map(|chunk| chunk.bytes).sum();
        self.dropped = true;
        self.sealed.clear();
        self.memtable.clear();
        self.files.drain(..).for_each(|file| file.disown());
        bytes
    }

    /// The numbers of the first and the last memtable block.
    pub(crate) fn blocks(&self) -> Option<(u64, u64)> {
        Some((self.chunks().next()?.blocks.0, self.chunks().last()?.blocks.1))
    }

    pub(crate) fn chunks(&self) -> impl Iterator<Item = &MemtableChunk> {
        self.sealed.iter().chain(&self.memtable)
    }

    fn memtable_rows(&self) -> u64 {
        self.chunks().map(|chunk| chunk.batch.num_rows() as u64).sum()
    }

    fn file_rows(&self) -> u64 {
        self.files.iter().map(|file| file.rows).sum()
    }
}

/// What a state becomes when columns are added or widen.
#[derive(Debug)]
pub(crate) struct Wider {
    pub(crate) schema: Arc<Schema>,
    arrow: SchemaRef,
    sealed: Vec<MemtableChunk>,
    memtable: Vec<MemtableChunk>,
}
