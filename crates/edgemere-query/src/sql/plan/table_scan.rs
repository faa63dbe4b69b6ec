//! A table's snapshot as DataFusion reads it: the Parquet files, with what their statistics rule out
//! left aside, and the rows of the memtable.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{DFSchema, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;

use crate::sql::plan::missing::{self, Missing, Name};
use crate::sql::run::page_cache_reader::Files;
use edgemere_storage::storage::{DataFile, Snapshot};

/// A snapshot of a table. It keeps the snapshot's files on disk as long as it lives.
#[derive(Debug)]
pub(crate) struct LocalTable {
    name: Arc<Name>,
    snapshot: Snapshot,
    schema: SchemaRef,
    missing: Missing,
}

/// A file of a table, as the scan knows it.
#[derive(Debug)]
pub(crate) struct Flushed {
    pub(crate) table: Arc<Name>,
    pub(crate) file: Arc<DataFile>,
}

impl LocalTable {
    pub(crate) fn new(name: Name, snapshot: Snapshot, missing: Missing) -> Self {
        let schema = Arc::clone(&snapshot.arrow);
        Self { name: Arc::new(name), snapshot, schema, missing }
    }

    /// How many rows it has.
    pub(crate) fn rows(&self) -> u64 {
        let fresh = self.snapshot.memtable.iter().map(|batch| batch.num_rows() as u64);
        self.flushed_rows() + fresh.sum::<u64>()
    }

    fn flushed_rows(&self) -> u64 {
        self.snapshot.files.iter().map(|file| file.rows).sum()
    }

    /// The files that a scan reads: all, or without those that are damaged, when the filter rules
    /// them out or the rows of the others are wanted.
    fn readable(
        &self,
        filter: Option<&Arc<dyn PhysicalExpr>>,
        is_counted: bool,
    ) -> Result<Vec<&Arc<DataFile>>> {
        if is_counted {
            // The number of rows comes from the manifest, and no file is opened for it.
            self.snapshot.files.iter().for_each(|file| _ = file.check_length());
        }
        let files = self.snapshot.files.iter();
        let (whole, damaged) = files.partition::<Vec<_>, _>(|file| file.damage().is_none());
        let Snapshot { schema, arrow, .. } = &self.snapshot;
        let needed = missing::needed(damaged, filter, schema, arrow)?;
        self.missing.leave_out(&self.name, &needed)?;
        Ok(whole)
    }

    /// The scan of the files; none when there are none that can be read.
    fn files(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let filter = match conjunction(filters.to_vec()) {
            Some(filter) => {
                let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
                Some(state.create_physical_expr(filter, &schema)?)
            }
            None => None,
        };
        let files = self.readable(filter.as_ref(), projection.is_some_and(Vec::is_empty))?;
        if files.is_empty() {
            return Ok(None);
        }
        let mut source = ParquetSource::new(Arc::clone(&self.schema))
            .with_parquet_file_reader_factory(Arc::new(Files::new(state.runtime_env())));
        if let Some(filter) = filter {
            source = source.with_predicate(filter);
        }
        let threads = state.config().target_partitions().max(1);
        let rows: u64 = files.iter().map(|file| file.rows).sum();
        // A large file is shared by the threads, and many small ones are shared out.
        let share =
            |file: &DataFile| (threads as u64).saturating_mul(file.rows).div_ceil(rows.max(1));
        let files = files.into_iter().map(|file| pieces(&self.name, file, share(file)));
        let pieces = files.collect::<Result<Vec<_>>>()?;
        let groups = FileGroup::new(pieces.concat()).split_files(threads);
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows = Precision::Exact(usize::try_from(rows).unwrap_or(usize::MAX));
        let config = FileScanConfigBuilder::new(Files::url(), Arc::new(source))
            .with_file_groups(groups)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .with_statistics(statistics)
            .build();
        Ok(Some(DataSourceExec::from_data_source(config)))
    }

    fn fresh(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let partitions = state.config().target_partitions().max(1);
        let mut parts = vec![Vec::new(); partitions.min(self.snapshot.memtable.len()).max(1)];
        let count = parts.len();
        for (index, batch) in self.snapshot.memtable.iter().enumerate() {
            if let Some(part) = parts.get_mut(index % count) {
                part.push(batch.clone());
            }
        }
        let schema = Arc::clone(&self.schema);
        Ok(MemorySourceConfig::try_new_exec(&parts, schema, projection.cloned())?)
    }
}

/// A file in so many pieces, if it has as many groups of rows. A group is of the piece in which it
/// begins. All groups but the last are alike, so a piece ends in the middle between the beginnings of
/// two; where they are otherwise, a thread has less to do.
fn pieces(table: &Arc<Name>, file: &Arc<DataFile>, count: u64) -> Result<Vec<PartitionedFile>> {
    let path = object_store::path::Path::from_absolute_path(&file.path)
        .map_err(|error| DataFusionError::External(Box::new(error)))?;
    let flushed = Flushed { table: Arc::clone(table), file: Arc::clone(file) };
    let whole = PartitionedFile::new(path.to_string(), file.bytes).with_extension(flushed);
    let groups = file.row_groups();
    let count = i64::try_from(count).unwrap_or(i64::MAX).min(groups);
    let Ok(bytes) = i64::try_from(file.bytes) else { return Ok(vec![whole]) };
    if count <= 1 {
        return Ok(vec![whole]);
    }
    let begins = |piece: i64| match piece * groups / count {
        0 => 0,
        group if group == groups => bytes,
        group => bytes / (2 * groups) * (2 * group - 1),
    };
    let pieces = (0..count).map(|at| whole.clone().with_range(begins(at), begins(at + 1)));
    Ok(pieces.collect())
}

#[async_trait]
impl TableProvider for LocalTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let fresh = self.fresh(state, projection)?;
        if self.snapshot.files.is_empty() {
            return Ok(fresh);
        }
        match self.files(state, projection, filters, limit)? {
            // All files are damaged.
            None => Ok(fresh),
            Some(files) if self.snapshot.memtable.is_empty() => Ok(files),
            Some(files) => UnionExec::try_new(vec![files, fresh]),
        }
    }

    /// Filters rule out files and parts of files; what is left is filtered again.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::Engine;
    use edgemere_storage::schema::{Column, Kind, Schema};

    /// The file of a table with so many rows.
    async fn file(engine: &Engine, rows: i64) -> Arc<DataFile> {
        let column = |name: &str, kind| Column::new(name, kind);
        let columns = vec![column("n", Kind::Int), column("v", Kind::Decimal)];
        let name = format!("t{rows}");
        let table = engine.storage().create_table("d", &name, Schema { columns }).await.unwrap();
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let values = (0..rows).map(|n| (n * 7919 % 1_000_003) as f64 / 7.0);
        let values: ArrayRef = Arc::new(Float64Array::from_iter_values(values));
        let batch = RecordBatch::try_from_iter([("n", numbers), ("v", values)]).unwrap();
        table.append(batch).await.unwrap();
        engine.storage().flush(&table).await.unwrap();
        Arc::clone(&table.snapshot().files[0])
    }

    #[tokio::test]
    async fn pieces_are_the_whole_file_and_each_has_as_many_groups() {
        let scratch = tempfile::tempdir().unwrap();
        let (engine, _) = Engine::open(scratch.path()).unwrap();
        let name = Arc::new(Name { dbms: "d".into(), table: "t".into() });
        for (rows, groups) in [(10, 1), (70_000, 2), (140_000, 4)] {
            let file = file(&engine, rows).await;
            let open = File::open(&file.path).unwrap();
            let read = ParquetRecordBatchReaderBuilder::try_new(open).unwrap();
            let begins = read.metadata().row_groups().iter().map(|group| {
                let first = group.column(0);
                first.dictionary_page_offset().unwrap_or_else(|| first.data_page_offset())
            });
            let begins: Vec<i64> = begins.collect();
            assert_eq!((begins.len(), file.row_groups()), (groups, groups as i64));
            for count in [0, 1, 2, 3, 4, 64] {
                let pieces = pieces(&name, &file, count as u64).unwrap();
                assert_eq!(pieces.len(), count.clamp(1, groups));
                if pieces.len() == 1 {
                    assert_eq!(pieces[0].range, None);
                    continue;
                }
                let mut end = 0;
                let mut counts = Vec::new();
                for piece in &pieces {
                    let range = piece.range.as_ref().unwrap();
                    assert_eq!(range.start, end);
                    end = range.end;
                    counts.push(begins.iter().filter(|at| range.contains(**at)).count());
                }
                assert_eq!((end as u64, counts.iter().sum()), (file.bytes, groups));
                let (least, most) = (counts.iter().min(), counts.iter().max());
                assert!(most.unwrap() - least.unwrap() <= 1, "{count} pieces: {counts:?}");
            }
        }
    }

    #[tokio::test]
    async fn every_row_is_read_once() {
        let scratch = tempfile::tempdir().unwrap();
        let (engine, _) = Engine::open(scratch.path()).unwrap();
        for rows in [1, 65_536, 65_537, 140_000] {
            file(&engine, rows).await;
            let sql =
                format!("select count(n) as a, count(distinct n) as b, sum(n) as c from t{rows}");
            let mut query = engine.sql().query("d", &sql, None).await.unwrap();
            let batch = query.next().await.unwrap().unwrap();
            let sum = rows * (rows - 1) / 2;
            let row = batch.json_lists(crate::sql::Times::Plain).unwrap();
            assert_eq!(row.trim(), format!("[{rows},{rows},{sum}]"));
        }
    }
}
