//! `sum`, which is exact or fails, and `avg` of intervals, which is exact. What DataFusion does well is
//! left to it: fractions, and the averages of numbers.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::mem::{size_of, size_of_val};
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature,
};

use crate::sql::exact::groups::Sums;
use crate::sql::exact::sum_out_of_range;
use crate::sql::exact::totals::{Total, Visit, Whole, results, states, total_type, visit};

/// The aggregates that take the place of DataFusion's.
pub(in crate::sql) fn all() -> &'static [Arc<AggregateUDF>; 2] {
    static FUNCTIONS: OnceLock<[Arc<AggregateUDF>; 2]> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let exact = |inner, averages| AggregateUDF::new_from_impl(Exact { inner, averages });
        [Arc::new(exact(sum_udaf(), false)), Arc::new(exact(avg_udaf(), true))]
    })
}

/// The aggregate in the place of DataFusion's; none when it has its place already, or needs none.
pub(super) fn instead_of(function: &Arc<AggregateUDF>) -> Option<Arc<AggregateUDF>> {
    let exact = all().iter().find(|exact| exact.name() == function.name())?;
    (function.inner().is::<datafusion::functions_aggregate::sum::Sum>()
        || function.inner().is::<datafusion::functions_aggregate::average::Avg>())
    .then(|| Arc::clone(exact))
}

/// `sum` or `avg`.
#[derive(Debug)]
struct Exact {
    inner: Arc<AggregateUDF>,
    averages: bool,
}

impl Exact {
    /// The type of the totals, when they are taken here.
    fn totals(&self, result: &DataType) -> Option<DataType> {
        match self.averages {
            true => matches!(result, DataType::Duration(_)).then(|| total_type(result)).flatten(),
            false => total_type(result),
        }
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Self) -> bool {
        self.averages == other.averages
    }
}

impl Eq for Exact {}

impl Hash for Exact {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.averages.hash(state);
    }
}

impl AggregateUDFImpl for Exact {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(found)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let result = args.return_type().clone();
        match self.totals(&result) {
            Some(total) if self.averages => Ok(Box::new(Average::new(result, total))),
            Some(_) if args.is_distinct => {
                let distinct = self.inner.inner().accumulator(args)?;
                Ok(Box::new(Distinct { distinct, result }))
            }
            Some(total) => Ok(Box::new(Sum::new(result, total))),
            None if is_added_singly(&result) && !args.is_distinct => {
                Ok(Box::new(Singly::new(result)?))
            }
            None => self.inner.inner().accumulator(args),
        }
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        let result = args.return_type().clone();
        match self.totals(&result) {
            Some(total) if args.is_distinct && !self.averages => Ok(Box::new(SlidingDistinct {
                sum: Sum::new(result, total),
                counts: HashMap::new(),
            })),
            None if !is_added_singly(&result) => {
                self.inner.inner().create_sliding_accumulator(args)
            }
            _ => self.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let total = self.totals(args.return_type()).filter(|_| !args.is_distinct);
        let Some(total) = total else { return self.inner.inner().state_fields(args) };
        let sum = Field::new(format_state_name(args.name, "sum"), total, true);
        let count = Field::new(format_state_name(args.name, "count"), DataType::UInt64, true);
        Ok(match self.averages {
            true => vec![Arc::new(count), Arc::new(sum)],
            false => vec![Arc::new(sum)],
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        match self.totals(args.return_type()) {
            Some(_) => !self.averages && !args.is_distinct,
            None if is_added_singly(args.return_type()) => false,
            None => self.inner.inner().groups_accumulator_supported(args),
        }
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let result = args.return_type().clone();
        match self.totals(&result) {
            Some(total) => Ok(Box::new(Sums::new(result, total))),
            None => self.inner.inner().create_groups_accumulator(args),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(data_type)
    }
}

pub(super) fn column(values: &[ArrayRef], place: usize) -> Result<&ArrayRef> {
    values.get(place).map_or_else(|| exec_err!("an aggregate has too few columns"), Ok)
}

/// The sum of rows, which may also leave it again, as in a window.
#[derive(Debug)]
struct Sum {
    total: i128,
    /// How many values are in it.
    count: usize,
    result: DataType,
    total_type: DataType,
}

impl Sum {
    fn new(result: DataType, total_type: DataType) -> Self {
        Self { total: 0, count: 0, result, total_type }
    }

    fn add(&mut self, total: Option<i128>) -> Result<()> {
        let total = total.and_then(|more| self.total.checked_add(more));
        self.total = total.ok_or_else(|| sum_out_of_range(&self.result))?;
        Ok(())
    }

    fn nulls(&self) -> Option<NullBuffer> {
        (self.count == 0).then(|| NullBuffer::new_null(1))
    }
}

impl Accumulator for Sum {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = column(values, 0)?;
        self.count += values.len() - values.null_count();
        self.add(visit(values, Total)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = column(values, 0)?;
        self.count = self.count.saturating_sub(values.len() - values.null_count());
        self.add(visit(values, Total)?.and_then(i128::checked_neg))
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result = results(vec![self.total], self.nulls(), &self.result)?;
        ScalarValue::try_from_array(&result, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let total = states(vec![self.total], self.nulls(), &self.total_type);
        Ok(vec![ScalarValue::try_from_array(&total, 0)?])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The average of intervals.
#[derive(Debug)]
struct Average {
    sum: Sum,
}

impl Average {
    fn new(result: DataType, total_type: DataType) -> Self {
        Self { sum: Sum::new(result, total_type) }
    }
}

impl Accumulator for Average {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum.update_batch(values)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.sum.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let counts = column(states, 0)?.as_primitive::<UInt64Type>();
        for count in counts.iter().flatten() {
            self.sum.count += usize::try_from(count).unwrap_or(usize::MAX);
        }
        let total = visit(column(states, 1)?, Total)?;
        self.sum.add(total)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let count = i128::try_from(self.sum.count.max(1)).unwrap_or(i128::MAX);
        let average = results(vec![self.sum.total / count], self.sum.nulls(), &self.sum.result)?;
        ScalarValue::try_from_array(&average, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let count = ScalarValue::UInt64(Some(self.sum.count as u64));
        Ok(std::iter::once(count).chain(self.sum.state()?).collect())
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}

/// The sum of values that differ, which DataFusion keeps.
#[derive(Debug)]
struct Distinct {
    distinct: Box<dyn Accumulator>,
    result: DataType,
}

impl Accumulator for Distinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.distinct.update_batch(values)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.distinct.merge_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let state = self.distinct.state()?;
        let Some(ScalarValue::List(list)) = state.first() else {
            return exec_err!("the values of sum(DISTINCT …) are no list");
        };
        let values = list.values();
        let nulls = (values.len() == values.null_count()).then(|| NullBuffer::new_null(1));
        let total = visit(values, Total)?.ok_or_else(|| sum_out_of_range(&self.result))?;
        ScalarValue::try_from_array(&results(vec![total], nulls, &self.result)?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.distinct.state()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.distinct.size()
    }
}

/// The sum of values that differ, in a window that they also leave.
#[derive(Debug)]
struct SlidingDistinct {
    sum: Sum,
    counts: HashMap<i128, usize>,
}

/// All values that are not null.
struct Listed;

impl Visit for Listed {
    type Output = Vec<i128>;

    fn visit<N: Whole>(self, values: &[N], nulls: Option<&NullBuffer>) -> Vec<i128> {
        let values = values.iter().enumerate();
        let values = values.filter(|(row, _)| nulls.is_none_or(|nulls| nulls.is_valid(*row)));
        values.map(|(_, value)| value.wide()).collect()
    }
}

impl Accumulator for SlidingDistinct {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in visit(column(values, 0)?, Listed)? {
            let count = self.counts.entry(value).or_default();
            *count += 1;
            if *count == 1 {
                self.sum.count += 1;
                self.sum.add(Some(value))?;
            }
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in visit(column(values, 0)?, Listed)? {
            let Some(count) = self.counts.get_mut(&value) else { continue };
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&value);
                self.sum.count = self.sum.count.saturating_sub(1);
                self.sum.add(value.checked_neg())?;
            }
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.sum.evaluate()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        exec_err!("a window is not computed in parts")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        exec_err!("a window is not computed in parts")
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.counts.capacity() * size_of::<(i128, usize)>()
    }
}

/// Whether values have no room in 128 bits: they are added one after the other.
fn is_added_singly(result: &DataType) -> bool {
    matches!(result, DataType::Interval(_) | DataType::Decimal256(..))
}

/// The sum of values that are added one after the other.
#[derive(Debug)]
struct Singly {
    total: ScalarValue,
    count: usize,
    result: DataType,
}

impl Singly {
    fn new(result: DataType) -> Result<Self> {
        Ok(Self { total: ScalarValue::new_zero(&result)?, count: 0, result })
    }

    /// The values that are not null.
    fn each(&self, values: &[ArrayRef]) -> Result<Vec<ScalarValue>> {
        let values = arrow::compute::cast(column(values, 0)?, &self.result)?;
        let rows = (0..values.len()).filter(|row| values.is_valid(*row));
        rows.map(|row| ScalarValue::try_from_array(&values, row)).collect()
    }

    fn checked(&self, total: Result<ScalarValue>) -> Result<ScalarValue> {
        total.map_err(|_| sum_out_of_range(&self.result))
    }
}

impl Accumulator for Singly {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in self.each(values)? {
            self.total = self.checked(self.total.add_checked(&value))?;
            self.count += 1;
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in self.each(values)? {
            self.total = self.checked(self.total.sub_checked(&value))?;
            self.count = self.count.saturating_sub(1);
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        match self.count {
            0 => ScalarValue::try_from(&self.result),
            _ => self.checked(self.total.cast_to(&self.result)),
        }
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }
}
