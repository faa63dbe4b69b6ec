//! Aggregates over windows that can be stopped: a partition of any number of rows is gone through in one
//! go, and each row asks its aggregate for a result.

use std::hash::{Hash, Hasher};
use std::mem::size_of;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunctionParams, WindowFunctionParams};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ReversedUDAF, SetMonotonicity, Signature,
};

use crate::sql::bounds::meter;

/// How many results are given before the query is asked whether it is to stop.
const RESULTS: usize = 4096;

/// An aggregate whose results over windows end when the query is to stop.
pub(super) fn stoppable(inner: &Arc<AggregateUDF>) -> Arc<AggregateUDF> {
    match inner.inner().is::<Windowed>() {
        true => Arc::clone(inner),
        false => Arc::new(AggregateUDF::new_from_impl(Windowed { inner: Arc::clone(inner) })),
    }
}

#[derive(Debug)]
struct Windowed {
    inner: Arc<AggregateUDF>,
}

impl PartialEq for Windowed {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Windowed {}

impl Hash for Windowed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl AggregateUDFImpl for Windowed {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.inner().schema_name(params)
    }

    fn human_display(&self, params: &AggregateFunctionParams) -> Result<String> {
        self.inner.inner().human_display(params)
    }

    fn window_function_schema_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.inner().window_function_schema_name(params)
    }

    fn window_function_display_name(&self, params: &WindowFunctionParams) -> Result<String> {
        self.inner.inner().window_function_display_name(params)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        self.inner.inner().return_type(found)
    }

    fn return_field(&self, found: &[FieldRef]) -> Result<FieldRef> {
        self.inner.inner().return_field(found)
    }

    fn is_nullable(&self) -> bool {
        self.inner.inner().is_nullable()
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        self.inner.inner().state_fields(args)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Stopping::new(self.inner.inner().accumulator(args)?)))
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Stopping::new(self.inner.inner().create_sliding_accumulator(args)?)))
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.inner().order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.inner().reverse_expr() {
            ReversedUDAF::Reversed(reversed) => ReversedUDAF::Reversed(stoppable(&reversed)),
            other => other,
        }
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.inner().coerce_types(found)
    }

    fn is_descending(&self) -> Option<bool> {
        self.inner.inner().is_descending()
    }

    fn default_value(&self, data_type: &DataType) -> Result<ScalarValue> {
        self.inner.inner().default_value(data_type)
    }

    fn supports_null_handling_clause(&self) -> bool {
        self.inner.inner().supports_null_handling_clause()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.inner().set_monotonicity(data_type)
    }
}

/// What an aggregate keeps of the rows of a window.
#[derive(Debug)]
struct Stopping {
    inner: Box<dyn Accumulator>,
    results: usize,
}

impl Stopping {
    fn new(inner: Box<dyn Accumulator>) -> Self {
        Self { inner, results: 0 }
    }
}

impl Accumulator for Stopping {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.results += 1;
        if self.results.is_multiple_of(RESULTS) {
            meter::check_stop()?;
        }
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;
    use crate::sql::bounds::meter::Meter;

    #[derive(Debug)]
    struct Nothing;

    impl Accumulator for Nothing {
        fn update_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
            Ok(())
        }

        fn evaluate(&mut self) -> Result<ScalarValue> {
            Ok(ScalarValue::Null)
        }

        fn size(&self) -> usize {
            0
        }

        fn state(&mut self) -> Result<Vec<ScalarValue>> {
            Ok(vec![])
        }

        fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_more_than_so_many_results_are_given_after_the_query_is_to_stop() {
        let meter = Meter::stopping_at(3);
        let _entered = meter.enter();
        let mut windowed = Stopping::new(Box::new(Nothing));
        let rows: [ArrayRef; 1] = [Arc::new(Int64Array::from(vec![1]))];
        let mut results = 0;
        while windowed.update_batch(&rows).and_then(|()| windowed.evaluate()).is_ok() {
            results += 1;
            assert!(results < 10 * RESULTS, "it goes on");
        }
        assert_eq!((results, meter.checks()), (3 * RESULTS - 1, 3));
    }
}
