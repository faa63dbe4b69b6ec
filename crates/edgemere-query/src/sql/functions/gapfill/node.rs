//! Filling gaps, as the optimizer sees it: nothing is moved through it, and all of its columns are
//! needed. It becomes a step when its range is known.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Schema, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, DFSchemaRef, Result, ScalarValue, plan_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNode,
    UserDefinedLogicalNodeCore,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use crate::sql::functions::buckets::Buckets;
use crate::sql::functions::gapfill::range::Range;
use crate::sql::functions::gapfill::step::FillGaps;
use crate::sql::functions::time_bucket::width;

/// How many buckets are filled at most, for each group.
const BUCKETS_MAX: usize = 100_000;

/// What a column has in a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Fill {
    /// The beginning of the bucket.
    Time,
    /// What it has in all rows of the group.
    Group,
    Null,
    /// The last value before.
    Carried,
    /// A number on the line between the value before and the one after.
    Interpolated,
}

/// Groups whose gaps are filled.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GapFill {
    input: LogicalPlan,
    /// One for each column.
    fills: Vec<Fill>,
    range: Range,
    schema: DFSchemaRef,
}

impl GapFill {
    pub(super) fn new(input: LogicalPlan, fills: Vec<Fill>, range: Range) -> Result<Self> {
        let fields = input.schema().iter();
        let fields = fields.map(|(relation, field)| {
            (relation.cloned(), Arc::new(field.as_ref().clone().with_nullable(true)))
        });
        let schema = DFSchema::new_with_metadata(fields.collect(), Default::default())?;
        if fills.len() != schema.fields().len() {
            return plan_err!("a step that fills gaps has other columns than its groups");
        }
        Ok(Self { input, fills, range, schema: Arc::new(schema) })
    }

    pub(super) fn input(&self) -> &LogicalPlan {
        &self.input
    }

    /// Adds a column, made of those that are there.
    pub(super) fn add(&mut self, column: Expr, fill: Fill) -> Result<()> {
        let columns = self.input.schema().columns().into_iter().map(Expr::Column);
        let columns: Vec<_> = columns.chain([column]).collect();
        let input = LogicalPlanBuilder::from(self.input.clone()).project(columns)?.build()?;
        let fills = self.fills.iter().copied().chain([fill]).collect();
        *self = Self::new(input, fills, self.range.clone())?;
        Ok(())
    }
}

impl PartialOrd for GapFill {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for GapFill {
    fn name(&self) -> &str {
        "FillGaps"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let Range { width, zone, start, finish, .. } = &self.range;
        let all = [Some(width), Some(start), Some(finish), zone.as_ref()];
        all.into_iter().flatten().cloned().collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { width, start, finish, .. } = &self.range;
        write!(f, "FillGaps: width={width}, start={start}, finish={finish}")
    }

    fn with_exprs_and_inputs(&self, exprs: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let (mut exprs, mut inputs) = (exprs.into_iter(), inputs.into_iter());
        let (Some(width), Some(start), Some(finish), Some(input)) =
            (exprs.next(), exprs.next(), exprs.next(), inputs.next())
        else {
            return plan_err!("a step that fills gaps has a width, a start, a finish and groups");
        };
        let time = self.range.time.clone();
        let range = Range { width, time, zone: exprs.next(), start, finish };
        Self::new(input, self.fills.clone(), range)
    }
}

/// Plans steps as DataFusion does, and those that fill gaps.
#[derive(Debug)]
pub(in crate::sql) struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(Self)]);
        planner.create_physical_plan(plan, session).await
    }
}

#[async_trait]
impl ExtensionPlanner for Planner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (Some(node), Some(input)) = (node.as_any().downcast_ref::<GapFill>(), inputs.first())
        else {
            return Ok(None);
        };
        let value = |expr: &Expr| -> Result<ScalarValue> {
            let expr = planner.create_physical_expr(expr, &DFSchema::empty(), session, context)?;
            let one = RecordBatchOptions::new().with_row_count(Some(1));
            let row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &one)?;
            match expr.evaluate(&row)? {
                ColumnarValue::Scalar(value) => Ok(value),
                ColumnarValue::Array(values) => ScalarValue::try_from_array(&values, 0),
            }
        };
        let starts = starts(&node.range, value)?;
        Ok(Some(Arc::new(FillGaps::new(Arc::clone(input), node.fills.clone(), starts)?)))
    }
}

/// When all the buckets of a range begin.
fn starts(range: &Range, value: impl Fn(&Expr) -> Result<ScalarValue>) -> Result<Vec<i64>> {
    let Some(width) = width(&value(&range.width)?)? else {
        return plan_err!("time_bucket_gapfill needs a width as '1 hour'");
    };
    let cast = |expr: &Expr, to: &DataType| value(expr)?.cast_to(to);
    let zone = match range.zone.as_ref().map(|zone| cast(zone, &DataType::Utf8)).transpose()? {
        Some(ScalarValue::Utf8(Some(zone))) => Some(zone),
        Some(_) => return plan_err!("time_bucket_gapfill needs a zone as 'Europe/Rome'"),
        None => None,
    };
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let time = |expr: &Expr| match cast(expr, &micros)? {
        ScalarValue::TimestampMicrosecond(Some(time), _) => Ok(time),
        _ => plan_err!("time_bucket_gapfill needs a start and a finish that are not NULL"),
    };
    let (start, finish) = (time(&range.start)?, time(&range.finish)?);
    let buckets = Buckets::new(width, zone.as_deref(), None)?;
    let mut starts = Vec::new();
    let mut next = buckets.start(start);
    while let Some(start) = next.filter(|start| *start < finish) {
        if starts.len() == BUCKETS_MAX {
            return plan_err!(
                "time_bucket_gapfill fills {BUCKETS_MAX} buckets at most, and there are more \
                 between the start and the finish: take a larger width or a shorter range"
            );
        }
        starts.push(start);
        next = buckets.next(start);
    }
    Ok(starts)
}
