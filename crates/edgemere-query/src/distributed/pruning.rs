//! Filters that go with a scan, so that an operator need not read the files that they rule out. They
//! only save work: the plan filters again, so one that cannot be sent or used is left out.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::Column;
use datafusion::common::tree_node::TreeNode;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion_proto::logical_plan::DefaultLogicalExtensionCodec;
use datafusion_proto::logical_plan::from_proto::parse_exprs;
use datafusion_proto::logical_plan::to_proto::serialize_exprs;
use datafusion_proto::protobuf::LogicalExprNode;

/// Filters, and the columns that they are about as the query node knows them.
#[derive(Clone, Debug)]
pub(super) struct Filters {
    filters: Vec<Expr>,
    columns: SchemaRef,
}

impl Filters {
    pub(super) fn none() -> Self {
        Self { filters: vec![], columns: Arc::new(Schema::empty()) }
    }

    /// Those of a table's filters that can be sent.
    pub(super) fn new(filters: &[Expr], table: &SchemaRef) -> Result<Self> {
        let filters: Vec<_> =
            filters.iter().filter(|filter| is_sendable(filter)).map(unqualified).collect();
        let mut used: Vec<_> = filters.iter().flat_map(Expr::column_refs).collect();
        let mut seen = HashSet::new();
        used.retain(|column| seen.insert(column.name.clone()));
        let positions = used.iter().map(|column| Ok(table.index_of(&column.name)?));
        let columns = table.project(&positions.collect::<Result<Vec<_>>>()?)?;
        Ok(Self { filters, columns: Arc::new(columns) })
    }

    /// Those that mean the same for a table with these columns.
    pub(super) fn for_table(&self, held: &Schema) -> Vec<Expr> {
        let is_same = |column: &&Column| {
            let there = held.field_with_name(&column.name);
            let here = self.columns.field_with_name(&column.name);
            matches!((there, here), (Ok(a), Ok(b)) if a.data_type() == b.data_type())
        };
        let usable = self.filters.iter().filter(|filter| filter.column_refs().iter().all(is_same));
        usable.cloned().collect()
    }

    pub(super) fn to_proto(&self) -> Result<(Vec<LogicalExprNode>, &SchemaRef)> {
        let written = serialize_exprs(&self.filters, &DefaultLogicalExtensionCodec {});
        Ok((written.map_err(external)?, &self.columns))
    }

    pub(super) fn from_proto(
        filters: &[LogicalExprNode],
        columns: SchemaRef,
        context: &TaskContext,
    ) -> Result<Self> {
        let filters = parse_exprs(filters, context, &DefaultLogicalExtensionCodec {});
        Ok(Self { filters: filters.map_err(external)?, columns })
    }
}

/// Whether a filter is the same at an operator: made of columns, values and functions.
fn is_sendable(filter: &Expr) -> bool {
    let is_other = |expr: &Expr| {
        let inner = matches!(
            expr,
            Expr::ScalarSubquery(_)
                | Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Placeholder(_)
        );
        Ok(inner)
    };
    let is_sendable = filter.exists(is_other).is_ok_and(|found| !found);
    is_sendable && serialize_exprs([filter], &DefaultLogicalExtensionCodec {}).is_ok()
}

/// The filter with columns by their names alone: at the operator there is one table.
fn unqualified(filter: &Expr) -> Expr {
    use datafusion::common::tree_node::Transformed;
    let renamed = filter.clone().transform(|expr| {
        Ok(match expr {
            Expr::Column(column) => Transformed::yes(Expr::Column(Column::from_name(column.name))),
            other => Transformed::no(other),
        })
    });
    // Nothing in here fails.
    renamed.map_or_else(|_| filter.clone(), |renamed| renamed.data)
}

fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
