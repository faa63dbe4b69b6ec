//! Filling gaps, as a step that runs. It is given the groups sorted, one after the other, holds one of
//! them at a time in memory that is accounted for, and gives its rows in batches.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::{SortOptions, concat_batches};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::row::{OwnedRow, RowConverter, Rows, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_err};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, LexOrdering, OrderingRequirements, Partitioning,
    PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use futures_util::{StreamExt, stream};

use crate::sql::bounds::{longest_copied, value_bytes};
use crate::sql::functions::gapfill::fill::fill;
use crate::sql::functions::gapfill::node::Fill;

/// How many rows are given at once.
const ROWS_AT_ONCE: usize = 8192;

/// About how many bytes are given at once.
const BYTES_AT_ONCE: usize = 16 << 20;

/// Fills the gaps of groups.
#[derive(Debug)]
pub(super) struct FillGaps {
    input: Arc<dyn ExecutionPlan>,
    fills: Vec<Fill>,
    /// When the buckets begin that are filled.
    starts: Arc<[i64]>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl FillGaps {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        fills: Vec<Fill>,
        starts: Vec<i64>,
    ) -> Result<Self> {
        if input.schema().fields().len() != fills.len() {
            return exec_err!("a step that fills gaps has other columns than its groups");
        }
        let fields = input.schema();
        let fields = fields.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { input, fills, starts: starts.into(), schema, properties: Arc::new(properties) })
    }

    /// The places of the columns that are filled in some way.
    fn places(&self, wanted: Fill) -> impl Iterator<Item = usize> {
        let places = self.fills.iter().enumerate();
        places.filter(move |(_, fill)| **fill == wanted).map(|(place, _)| place)
    }
}

impl DisplayAs for FillGaps {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FillGaps: buckets={}", self.starts.len())
    }
}

impl ExecutionPlan for FillGaps {
    fn name(&self) -> &'static str {
        "FillGaps"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    /// One group after the other, and each in the order of time.
    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let schema = self.input.schema();
        let columns = self.places(Fill::Group).chain(self.places(Fill::Time));
        let keys = columns.filter_map(|place| {
            let name = schema.fields().get(place)?.name();
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(name, place));
            let options = SortOptions { descending: false, nulls_first: false };
            Some(PhysicalSortExpr::new(column, options))
        });
        vec![LexOrdering::new(keys).map(OrderingRequirements::from)]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) => {
                Ok(Arc::new(Self::new(input, self.fills.clone(), self.starts.to_vec())?))
            }
            None => exec_err!("a step that fills gaps has groups to fill"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.schema();
        let groups: Vec<_> = self.places(Fill::Group).collect();
        let fields = groups.iter().filter_map(|place| input.fields().get(*place));
        let fields = fields.map(|field| SortField::new(field.data_type().clone())).collect();
        let filling = Filling {
            coming: None,
            rows: self.input.execute(partition, Arc::clone(&context))?,
            converter: RowConverter::new(fields)?,
            groups,
            group: None,
            held: Vec::new(),
            ready: VecDeque::new(),
            reservation: MemoryConsumer::new("FillGaps").register(context.memory_pool()),
            fills: self.fills.clone(),
            starts: Arc::clone(&self.starts),
            input,
            schema: Arc::clone(&self.schema),
            is_at_end: false,
        };
        let batches = stream::try_unfold(filling, |mut filling| async move {
            Ok(filling.next().await?.map(|batch| (batch, filling)))
        });
        let schema = Arc::clone(&self.schema);
        Ok(make_cooperative(Box::pin(RecordBatchStreamAdapter::new(schema, batches))))
    }
}

/// Rows that came, and how many of them were taken.
struct Coming {
    batch: RecordBatch,
    /// The keys of their groups; none when all rows are of one.
    rows: Option<Rows>,
    from: usize,
}

/// How far it is.
struct Filling {
    coming: Option<Coming>,
    rows: SendableRecordBatchStream,
    converter: RowConverter,
    /// The places of the columns that tell groups apart.
    groups: Vec<usize>,
    /// The group whose rows are held.
    group: Option<OwnedRow>,
    held: Vec<RecordBatch>,
    /// Rows of groups that are whole.
    ready: VecDeque<RecordBatch>,
    reservation: MemoryReservation,
    fills: Vec<Fill>,
    starts: Arc<[i64]>,
    input: SchemaRef,
    schema: SchemaRef,
    is_at_end: bool,
}

impl Filling {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if self.is_at_end {
                return Ok(None);
            }
            if let Some(coming) = self.coming.take() {
                self.take(coming)?;
                continue;
            }
            match self.rows.next().await.transpose()? {
                Some(batch) => self.coming = Some(self.with_keys(batch)?),
                None => {
                    self.is_at_end = true;
                    self.finish_group()?;
                }
            }
        }
    }

    /// Takes rows until a group is whole and ready: the rest waits until its rows were given.
    fn take(&mut self, mut coming: Coming) -> Result<()> {
        let Some(rows) = &coming.rows else { return self.hold(coming.batch) };
        while coming.from < coming.batch.num_rows() {
            let key = rows.row(coming.from);
            if self.group.as_ref().is_some_and(|group| group.row() != key) {
                self.finish_group()?;
                self.group = None;
                self.coming = Some(coming);
                return Ok(());
            }
            let others = coming.from..coming.batch.num_rows();
            let same = others.take_while(|row| rows.row(*row) == key).count();
            self.group = Some(key.owned());
            self.hold(coming.batch.slice(coming.from, same))?;
            coming.from += same;
        }
        Ok(())
    }

    /// Rows with the keys of their groups.
    fn with_keys(&self, batch: RecordBatch) -> Result<Coming> {
        let columns = self.groups.iter().filter_map(|place| batch.columns().get(*place)).cloned();
        let columns: Vec<_> = columns.collect();
        let rows = match columns.is_empty() {
            true => None,
            false => Some(self.converter.convert_columns(&columns)?),
        };
        Ok(Coming { batch, rows, from: 0 })
    }

    fn hold(&mut self, rows: RecordBatch) -> Result<()> {
        self.reservation.try_grow(bytes(&rows))?;
        self.held.push(rows);
        Ok(())
    }

    /// The group that is held is whole. Without columns that tell groups apart there is always one.
    fn finish_group(&mut self) -> Result<()> {
        if self.held.is_empty() && !self.groups.is_empty() {
            return Ok(());
        }
        // Before anything is made: a long text may be there in every bucket.
        let places = self.held.iter().map(RecordBatch::num_rows).sum::<usize>() + self.starts.len();
        let each = self.held.iter().map(longest).max().unwrap_or(0);
        self.reservation.try_grow(places.saturating_mul(each))?;
        let rows = concat_batches(&self.input, &std::mem::take(&mut self.held))?;
        let filled = fill(&rows, &self.fills, &self.starts, &self.schema)?;
        let (rows, bytes) = (filled.num_rows(), bytes(&filled));
        self.reservation.try_resize(bytes)?;
        let each = bytes.checked_div(rows).unwrap_or(0).max(1);
        let at_once = (BYTES_AT_ONCE / each).clamp(1, ROWS_AT_ONCE);
        let batches = (0..rows).step_by(at_once);
        self.ready.extend(batches.map(|from| filled.slice(from, at_once.min(rows - from))));
        Ok(())
    }
}

/// The bytes of a row that has the longest value of each column.
fn longest(rows: &RecordBatch) -> usize {
    rows.columns().iter().map(longest_copied).sum()
}

fn bytes(rows: &RecordBatch) -> usize {
    let columns = rows.columns().iter();
    columns.map(|column| value_bytes(column)).sum()
}
