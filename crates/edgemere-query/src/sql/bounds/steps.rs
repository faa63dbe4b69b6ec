//! Which steps of a plan may make much of little, and how much each may be given at once.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::expressions::{Column, InListExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use crate::sql::bounds::estimate::{longest, value_bytes};
use crate::sql::bounds::function::Bounded;
use crate::sql::bounds::meter::{BATCH_BYTES_MAX, Excess};
use crate::sql::bounds::metered::Metered;
use crate::sql::run::deadline::Deadline;

/// How many terms a step may have before it is looked at what they make.
const TERMS_FEW: usize = 8;

/// How many bytes of constants a step may have before it is looked at what they make.
const CONSTANTS_FEW_BYTES: usize = 4 << 10;

/// How many values all terms of a step may compute at once.
const VALUES_MAX: usize = 4 << 20;

/// How many rows a function is given at once that can make much of little.
const EXPLOSIVE_ROWS_MAX: usize = 1024;

/// How many rows a step puts together of those that it keeps.
const COALESCED_ROWS: usize = 8192;

/// How many bytes the rows may have that a step puts together.
const COALESCED_BYTES_MAX: usize = 512 << 20;

/// Puts metered steps around one whose expressions may grow.
pub(in crate::sql) fn metered(
    plan: Arc<dyn ExecutionPlan>,
    stop: &Deadline,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(cut) = Cut::of(&plan)? else { return Ok(plan) };
    let inputs = plan.children().into_iter();
    let inputs = inputs.map(|input| Arc::new(Metered::below(input, stop, &cut)) as _).collect();
    let plan = replace_children_if_necessary(plan, inputs)?;
    Ok(Arc::new(Metered::above(plan, stop)))
}

/// How a step is given its batches.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    /// How often all values of a batch may be there in what the step makes of it.
    weight: usize,
    /// The bytes of constants that may be there in every row.
    constant_bytes: usize,
    rows_max: usize,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Each row becomes one, or none.
    Plain,
    /// A row may be there again and again.
    Joined,
    /// Rows are put together until there are enough.
    Coalesced,
    /// Lists become rows; the places of the lists.
    Unnested(Vec<usize>),
    /// All rows are held; whether texts or lists are among the results.
    Held { wide: bool },
    /// A value of one row may be there in many that follow.
    Running,
}

/// What came before, in the same stream.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The bytes and rows that may have been put together.
    coalesced: (usize, usize),
    held_bytes: usize,
    rows: usize,
    longest: usize,
}

impl Cut {
    /// How a step is to be given its batches; none when that is of no importance.
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        if plan.children().is_empty() || plan.is::<Metered>() {
            return Ok(None);
        }
        let mut terms = Terms::default();
        plan.apply_expressions(&mut |expression| {
            terms.add(expression)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        let kind = kind(plan);
        if kind == Kind::Plain && !terms.is_costly() {
            return Ok(None);
        }
        let rows_max = if terms.is_explosive { EXPLOSIVE_ROWS_MAX } else { usize::MAX };
        let rows_max = rows_max.min(VALUES_MAX / terms.count.max(1)).max(1);
        let (weight, constant_bytes) = (terms.weight.max(1), terms.constant_bytes);
        Ok(Some(Self { weight, constant_bytes, rows_max, kind }))
    }

    /// How many rows of a batch the step is given at once.
    pub(super) fn rows(&self, batch: &RecordBatch, seen: &mut Seen) -> Result<usize> {
        self.check(batch, seen)?;
        let mut rows = batch.num_rows().min(self.rows_max);
        loop {
            let bytes = match rows == batch.num_rows() {
                true => self.bytes(batch, seen),
                false => self.bytes(&batch.slice(0, rows), seen),
            };
            match bytes <= BATCH_BYTES_MAX {
                true => return Ok(rows),
                false if rows <= 1 => {
                    return Err(Excess::error("a row", bytes, BATCH_BYTES_MAX));
                }
                false => rows = (rows / 2).min(shared(rows, BATCH_BYTES_MAX, bytes)).max(1),
            }
        }
    }

    /// About how much the step makes of some rows.
    fn bytes(&self, rows: &RecordBatch, seen: &Seen) -> usize {
        let count = rows.num_rows();
        match &self.kind {
            Kind::Unnested(lists) => {
                let elements = lists.iter().filter_map(|place| rows.columns().get(*place));
                let elements = elements.map(|list| elements_of(list)).max().unwrap_or(count);
                let others = rows.columns().iter().enumerate();
                let others = others.filter(|(place, _)| !lists.contains(place));
                let each = others.map(|(_, column)| copied_bytes(column)).sum::<usize>();
                elements.max(count).saturating_mul(each.saturating_add(16))
            }
            Kind::Running => count.saturating_mul(seen.longest.saturating_add(8)),
            // Rows that are only held or put together are not made again.
            Kind::Held { .. } | Kind::Coalesced | Kind::Joined if self.weight <= 1 => 0,
            _ => {
                let bytes = rows.columns().iter().map(|one| value_bytes(one)).sum::<usize>();
                let constants = count.saturating_mul(self.constant_bytes);
                bytes.saturating_mul(self.weight).saturating_add(constants)
            }
        }
    }

    /// Takes note of a batch, and refuses one that cannot be handled in any number of pieces.
    fn check(&self, batch: &RecordBatch, seen: &mut Seen) -> Result<()> {
        match self.kind {
            Kind::Joined => {
                let row = batch.columns().iter().map(longest_copied).sum::<usize>();
                let bytes = row.saturating_mul(COALESCED_ROWS);
                if bytes > COALESCED_BYTES_MAX {
                    return Err(Excess::error(
                        "a join of a long text or list",
                        bytes,
                        COALESCED_BYTES_MAX,
                    ));
                }
            }
            Kind::Running | Kind::Held { wide: true } => {
                let row = batch.columns().iter().map(|column| longest(column)).sum::<usize>();
                seen.longest = seen.longest.max(row);
            }
            Kind::Coalesced => {
                let bytes = batch.columns().iter().map(|one| copied_bytes(one)).sum::<usize>();
                let (held, rows) = seen.coalesced;
                let (held, rows) = (held.saturating_add(bytes), rows + batch.num_rows());
                if held > COALESCED_BYTES_MAX {
                    return Err(Excess::error(
                        "rows of long texts or lists",
                        held,
                        COALESCED_BYTES_MAX,
                    ));
                }
                seen.coalesced = if rows >= COALESCED_ROWS { (0, 0) } else { (held, rows) };
            }
            _ => {}
        }
        Ok(())
    }

    /// What the step holds with this piece, if it holds anything.
    pub(super) fn held(&self, piece: &RecordBatch, seen: &mut Seen) -> Option<usize> {
        let Kind::Held { wide } = self.kind else { return None };
        let bytes = piece.columns().iter().map(|one| copied_bytes(one)).sum::<usize>();
        seen.held_bytes = seen.held_bytes.saturating_add(bytes);
        seen.rows += piece.num_rows();
        let results = if wide { seen.rows.saturating_mul(seen.longest) } else { 0 };
        Some(seen.held_bytes.saturating_mul(2).saturating_add(results))
    }
}

/// So many rows of `rows`, that `bytes` become `limit`.
fn shared(rows: usize, limit: usize, bytes: usize) -> usize {
    let part = limit as f64 / bytes as f64 * rows as f64;
    part as usize
}

/// What a step does with rows.
fn kind(plan: &Arc<dyn ExecutionPlan>) -> Kind {
    let wide = || plan.children().iter().any(|input| has_copied(&input.schema()));
    if plan.is::<HashJoinExec>() || plan.is::<CrossJoinExec>() || plan.is::<NestedLoopJoinExec>() {
        return if wide() { Kind::Joined } else { Kind::Plain };
    }
    if plan.is::<FilterExec>() || plan.is::<RepartitionExec>() {
        return if wide() { Kind::Coalesced } else { Kind::Plain };
    }
    if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
        let lists = unnest.list_column_indices().iter();
        return Kind::Unnested(lists.map(|list| list.index_in_input_schema).collect());
    }
    if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
        let mut results = window.window_expr().iter().filter_map(|expr| expr.field().ok());
        return Kind::Held { wide: results.any(|field| is_long(field.data_type())) };
    }
    if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() {
        let mut results = window.window_expr().iter().filter_map(|expr| expr.field().ok());
        if results.any(|field| is_long(field.data_type())) {
            return Kind::Running;
        }
    }
    Kind::Plain
}

/// Whether a value can be of any length.
fn is_long(data_type: &DataType) -> bool {
    !data_type.is_primitive() && !matches!(data_type, DataType::Boolean | DataType::Null)
}

/// Whether there are columns that are copied where rows are put together: texts and lists that are no
/// views.
fn has_copied(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| is_copied(field.data_type()))
}

fn is_copied(data_type: &DataType) -> bool {
    is_long(data_type) && !matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}

/// The bytes of an array that are copied where rows are put together.
fn copied_bytes(array: &dyn Array) -> usize {
    match array.data_type() {
        DataType::Utf8View | DataType::BinaryView => 16 * array.len(),
        _ => value_bytes(array),
    }
}

/// The bytes of the longest value that is copied where rows are put together.
pub(in crate::sql) fn longest_copied(array: &Arc<dyn Array>) -> usize {
    match is_copied(array.data_type()) {
        true => longest(array),
        false => 0,
    }
}

fn elements_of(array: &dyn Array) -> usize {
    if let Some(list) = array.as_list_opt::<i32>() {
        let offsets = list.value_offsets();
        let ends = offsets.first().zip(offsets.last());
        return ends.map_or(0, |(from, until)| usize::try_from(until - from).unwrap_or(0));
    }
    if let Some(list) = array.as_fixed_size_list_opt() {
        return list.values().len();
    }
    value_bytes(array)
}

/// What the expressions of a step are made of.
#[derive(Debug, Default)]
pub(super) struct Terms {
    count: usize,
    weight: usize,
    constant_bytes: usize,
    has_functions: bool,
    is_explosive: bool,
}

impl Terms {
    pub(super) fn of(expressions: impl Iterator<Item = Arc<dyn PhysicalExpr>>) -> Result<Self> {
        let mut terms = Self::default();
        for expression in expressions {
            terms.add(&expression)?;
        }
        Ok(terms)
    }

    /// Whether they may make much, or take long.
    pub(super) fn is_costly(&self) -> bool {
        self.weight >= TERMS_FEW || self.constant_bytes > CONSTANTS_FEW_BYTES || self.has_functions
    }

    fn add(&mut self, expression: &Arc<dyn PhysicalExpr>) -> Result<()> {
        expression.apply(|part| {
            self.count += 1;
            if let Some(list) = part.downcast_ref::<InListExpr>()
                && list.list().iter().all(|one| one.is::<Literal>())
            {
                // However many constants there are, each row is looked up among them once.
                self.weight += 1;
                self.add(list.expr())?;
                return Ok(TreeNodeRecursion::Jump);
            }
            if let Some(literal) = part.downcast_ref::<Literal>() {
                self.constant_bytes = self.constant_bytes.saturating_add(literal.value().size());
            } else if let Some(call) = part.downcast_ref::<ScalarFunctionExpr>() {
                let bounded = call.fun().inner().downcast_ref::<Bounded>();
                self.weight += bounded.map_or(1, Bounded::weight);
                self.has_functions |= bounded.is_some();
                self.is_explosive |= bounded.is_some_and(Bounded::is_explosive);
            } else if !part.is::<Column>() {
                self.weight += 1;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use datafusion::physical_expr::expressions::{binary, col, in_list, lit};

    use super::*;

    fn schema() -> Schema {
        Schema::new(vec![arrow::datatypes::Field::new("n", DataType::Int64, true)])
    }

    fn terms(expression: Arc<dyn PhysicalExpr>) -> Terms {
        Terms::of(std::iter::once(expression)).unwrap()
    }

    #[test]
    fn a_list_of_constants_is_one_term_and_other_terms_cut_the_rows() {
        let (schema, n) = (schema(), col("n", &schema()).unwrap());
        let list = (0..50_000_i64).map(lit).collect();
        let listed = terms(in_list(Arc::clone(&n), list, &false, &schema).unwrap());
        assert_eq!((listed.count, listed.is_costly()), (2, false));
        let sum = (0..600_i64).fold(Arc::clone(&n), |sum, number| {
            let plus = datafusion::logical_expr::Operator::Plus;
            binary(sum, plus, lit(number), &schema).unwrap()
        });
        let summed = terms(sum);
        assert_eq!((summed.count, summed.is_costly()), (1201, true));
        assert!(VALUES_MAX / summed.count < 8192);
    }
}
