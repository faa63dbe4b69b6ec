//! EXPLAIN: the plan of a query as rows, a step a row, with the node that does it. EXPLAIN ANALYZE runs
//! the query first, and tells how many rows and how much time each step took.
//!
//! Of what operators do, the query node knows what came of it: each operator has a row for that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream, displayable};
use futures_util::{StreamExt, stream};

use crate::distributed::{Explained, Operator, Progress};
use crate::sql::dialect::Explain;
use crate::sql::plan::explain::{shortened, without_folders};

/// How many steps of a plan are reported, and how long each may be, in bytes.
const STEPS_MAX: usize = 2_000;
const STEP_BYTES_MAX: usize = 4 * 1024;

/// What is known of a plan before it is run.
pub(crate) struct Planned<'a> {
    pub(crate) logical: &'a LogicalPlan,
    pub(crate) physical: &'a Arc<dyn ExecutionPlan>,
    /// What operators do, when it is on the network.
    pub(crate) network: Option<&'a Explained>,
}

/// A row.
#[derive(Default)]
struct Step {
    node: String,
    text: String,
    rows: Option<i64>,
    time: Option<Duration>,
}

/// The columns of an EXPLAIN.
pub(crate) fn schema(explain: Explain) -> SchemaRef {
    let mut fields =
        vec![Field::new("node", DataType::Utf8, false), Field::new("plan", DataType::Utf8, false)];
    if explain.analyze {
        fields.push(Field::new("rows", DataType::Int64, true));
        fields.push(Field::new("time_ms", DataType::Float64, true));
    }
    Arc::new(Schema::new(fields))
}

/// The rows of an EXPLAIN of a query that does not run.
pub(crate) fn explained(
    planned: &Planned<'_>,
    explain: Explain,
) -> Result<SendableRecordBatchStream> {
    let mut steps = logical_steps(planned, explain);
    steps.extend(tree(planned.physical, here(planned), 0));
    steps.extend(operators_steps(planned));
    let batch = batch(steps, explain)?;
    let rows = stream::once(async move { Ok(batch) });
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema(explain), rows)))
}

/// The rows of an EXPLAIN ANALYZE: `running` is run to its end first.
pub(crate) fn analyzed(
    planned: &Planned<'_>,
    explain: Explain,
    mut running: SendableRecordBatchStream,
    progress: Progress,
) -> SendableRecordBatchStream {
    let before = logical_steps(planned, explain);
    let (physical, node) = (Arc::clone(planned.physical), here(planned));
    let after = operators_steps(planned);
    let rows = stream::once(async move {
        let (started, mut count) = (Instant::now(), 0_i64);
        while let Some(batch) = running.next().await {
            count = count.saturating_add(i64::try_from(batch?.num_rows()).unwrap_or(i64::MAX));
        }
        let mut steps = before;
        let (text, time) = ("Result".to_owned(), Some(started.elapsed()));
        steps.push(Step { node: node.to_owned(), text, rows: Some(count), time });
        steps.extend(tree(&physical, node, 1));
        steps.extend(after);
        steps.extend(progress.shares().into_iter().map(|share| Step {
            node: share.operator.name,
            text: format!("Answer: {} rows read, {} bytes sent", share.rows_read, share.bytes),
            rows: i64::try_from(share.rows).ok(),
            time: Some(share.time),
        }));
        batch(steps, explain)
    });
    Box::pin(RecordBatchStreamAdapter::new(schema(explain), rows))
}

fn here(planned: &Planned<'_>) -> &'static str {
    if planned.network.is_some() { "query node" } else { "this node" }
}

/// The logical plan, when that is wanted.
fn logical_steps(planned: &Planned<'_>, explain: Explain) -> Vec<Step> {
    if !explain.verbose {
        return Vec::new();
    }
    let text = planned.logical.display_indent().to_string();
    text.lines().map(|line| Step::new("logical plan", line)).collect()
}

/// A plan's steps, each further in than the one that takes its rows.
fn tree(plan: &Arc<dyn ExecutionPlan>, node: &str, depth: usize) -> Vec<Step> {
    // What lets others run, and counts bytes, is no step of the query's.
    let is_own = !plan.is::<CooperativeExec>() && plan.name() != "Metered";
    let mut steps = Vec::new();
    if is_own {
        let text = displayable(plan.as_ref()).one_line().to_string();
        let metrics = plan.metrics();
        let count = metrics.as_ref().and_then(|metrics| metrics.output_rows());
        let nanos = metrics.as_ref().and_then(|metrics| metrics.elapsed_compute());
        let step = Step::new(node, &format!("{}{}", "  ".repeat(depth), text.trim_end()));
        steps.push(Step {
            rows: count.and_then(|count| i64::try_from(count).ok()),
            time: nanos.map(|nanos| Duration::from_nanos(nanos as u64)),
            ..step
        });
    }
    let depth = depth + usize::from(is_own);
    steps.extend(plan.children().into_iter().flat_map(|child| tree(child, node, depth)));
    steps
}

/// What operators do.
fn operators_steps(planned: &Planned<'_>) -> Vec<Step> {
    let mut steps = Vec::new();
    for part in planned.network.iter().flat_map(|network| &network.parts) {
        let names: Vec<_> = part.operators.iter().map(|one: &Operator| one.name.as_str()).collect();
        let node = shortened(names.join(", "), STEP_BYTES_MAX);
        steps.extend(part.plan.lines().map(|line| Step::new(&node, line)));
    }
    steps
}

impl Step {
    fn new(node: &str, text: &str) -> Self {
        // A text must not speak to the terminal.
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        let text = shortened(without_folders(&text), STEP_BYTES_MAX);
        Self { node: node.to_owned(), text, ..Self::default() }
    }
}

fn batch(mut steps: Vec<Step>, explain: Explain) -> Result<RecordBatch> {
    if steps.len() > STEPS_MAX {
        let more = steps.len() - STEPS_MAX;
        steps.truncate(STEPS_MAX);
        steps.push(Step::new("", &format!("… and {more} steps more")));
    }
    let text = |of: fn(&Step) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(steps.iter().map(of)))
    };
    let mut columns = vec![text(|step| &step.node), text(|step| &step.text)];
    if explain.analyze {
        let time = |step: &Step| step.time.map(|time| (time.as_secs_f64() * 1e6).round() / 1e3);
        columns.push(Arc::new(steps.iter().map(|step| step.rows).collect::<Int64Array>()));
        columns.push(Arc::new(steps.iter().map(time).collect::<Float64Array>()));
    }
    RecordBatch::try_new(schema(explain), columns).map_err(DataFusionError::from)
}
