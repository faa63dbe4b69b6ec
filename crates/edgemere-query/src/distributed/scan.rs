//! The scan of a table on an operator. On the query node it is only a description, which is planned
//! with and sent; on the operator [`super::replan`] puts the rows in its place. Nowhere is it run as
//! it stands.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
    StatisticsArgs,
};

use super::pruning::Filters;
use super::shards::Shards;

/// With one partition DataFusion would plan what has no first half to run elsewhere.
const PARTITIONS_MIN: usize = 2;

/// The scan of a table on operators.
#[derive(Clone, Debug)]
pub(super) struct OperatorScan {
    /// The database.
    pub(super) dbms: String,
    /// The table.
    pub(super) table: String,
    /// How many rows are enough, of each operator.
    pub(super) fetch: Option<usize>,
    /// The operator that is to run it, once that is decided. It runs nowhere else.
    pub(super) operator: Option<String>,
    /// What rules out files, at each operator.
    pub(super) filters: Filters,
    /// Who holds the table: known on the query node, empty on an operator.
    pub(super) parts: Shards,
    properties: Arc<PlanProperties>,
}

impl OperatorScan {
    /// The scan of these columns of a table.
    pub(super) fn new(dbms: &str, table: &str, schema: SchemaRef, parts: Shards) -> Self {
        let partitions = parts.len().max(PARTITIONS_MIN);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self {
            dbms: dbms.to_owned(),
            table: table.to_owned(),
            fetch: None,
            operator: None,
            filters: Filters::none(),
            parts,
            properties: Arc::new(properties),
        }
    }

    /// The same, of a table with these columns, where files that filters rule out need not be read.
    pub(super) fn with_filters(self, filters: &[Expr], table: &SchemaRef) -> Result<Self> {
        Ok(Self { filters: Filters::new(filters, table)?, ..self })
    }

    /// The same, to be run on one operator.
    pub(super) fn pinned(&self, operator: &str) -> Self {
        Self { operator: Some(operator.to_owned()), parts: Arc::new([]), ..self.clone() }
    }

    fn rows(&self) -> Option<usize> {
        let rows = self.parts.iter().map(|part| part.rows).sum::<Option<u64>>()?;
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        Some(self.fetch.map_or(rows, |fetch| rows.min(fetch * self.parts.len())))
    }
}

impl DisplayAs for OperatorScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema();
        let columns: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "Scan: {}.{} [{}]", self.dbms, self.table, columns.join(", "))?;
        self.fetch.map_or(Ok(()), |fetch| write!(f, ", fetch={fetch}"))
    }
}

impl ExecutionPlan for OperatorScan {
    fn name(&self) -> &'static str {
        "OperatorScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("the scan of {}.{} has not been given to an operator", self.dbms, self.table)
    }

    /// Never exact: a number that is wrong may make a plan slow, and must not make it wrong.
    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        if let (Some(rows), None) = (self.rows(), args.partition()) {
            statistics.num_rows = Precision::Inexact(rows);
        }
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { fetch: limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }
}
