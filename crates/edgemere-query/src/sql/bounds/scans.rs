//! Takes costly expressions out of the scans of files again. DataFusion moves what is computed of the
//! columns into the scan, where nothing bounds it and nothing stops it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::physical_plan::{
    FileScanConfig, FileScanConfigBuilder, FileSource, ParquetSource,
};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;

use crate::sql::bounds::steps::Terms;

/// A scan that gives columns, with a step above that computes; any other step as it is.
pub(in crate::sql) fn plain_scan(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(scan) = plan.downcast_ref::<DataSourceExec>() else { return Ok(plan) };
    let Some((config, files)) = scan.downcast_to_file_source::<ParquetSource>() else {
        return Ok(plan);
    };
    match files.projection() {
        Some(computed) if Terms::of(computed.expr_iter())?.is_costly() => {
            taken_out(config, files, computed)
        }
        _ => Ok(plan),
    }
}

fn taken_out(
    config: &FileScanConfig,
    files: &ParquetSource,
    computed: &ProjectionExprs,
) -> Result<Arc<dyn ExecutionPlan>> {
    let mut bare = ParquetSource::new(files.table_schema().clone())
        .with_table_parquet_options(files.table_parquet_options().clone());
    if let Some(reader) = files.parquet_file_reader_factory() {
        bare = bare.with_parquet_file_reader_factory(Arc::clone(reader));
    }
    if let Some(filter) = files.filter() {
        bare = bare.with_predicate(filter);
    }
    let columns = computed.column_indices();
    let config = FileScanConfigBuilder::from(config.clone())
        .with_source(Arc::new(bare))
        .with_projection_indices(Some(columns.clone()))?
        .build();
    let expressions = computed.iter().map(|one| {
        let expr = placed(Arc::clone(&one.expr), &columns)?;
        Ok(ProjectionExpr::new(expr, one.alias.clone()))
    });
    let expressions = expressions.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(ProjectionExec::try_new(expressions, DataSourceExec::from_data_source(config))?))
}

/// An expression whose columns are where they are among these.
fn placed(expression: Arc<dyn PhysicalExpr>, columns: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    let placed = expression.transform_up(|part| {
        let Some(column) = part.downcast_ref::<Column>() else { return Ok(Transformed::no(part)) };
        let place = columns.iter().position(|index| *index == column.index());
        let place = place.unwrap_or_else(|| column.index());
        Ok(Transformed::yes(Arc::new(Column::new(column.name(), place)) as _))
    })?;
    Ok(placed.data)
}
