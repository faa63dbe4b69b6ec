//! `first(value, time)` and `last(value, time)`: the value that a group had first, or last.
//!
//! A row whose value or time is NULL does not count. Of several values at the same time it is the
//! smallest that is first, and the largest that is last, so that the answer is the same in whatever
//! order rows come, from one node or from many.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, make_comparator};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};

use edgemere_storage::schema::told;

/// Both functions.
pub(super) fn all() -> [AggregateUDF; 2] {
    [End::First, End::Last].map(|end| {
        let signature = Signature::user_defined(Volatility::Immutable);
        AggregateUDF::new_from_impl(Function { end, signature })
    })
}

/// Which end of the group's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum End {
    First,
    Last,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Last => "last",
        }
    }

    /// Whether what compares so to the best one so far is better.
    fn is_better(self, compared: Ordering) -> bool {
        match self {
            Self::First => compared == Ordering::Less,
            Self::Last => compared == Ordering::Greater,
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    end: End,
    signature: Signature,
}

impl AggregateUDFImpl for Function {
    fn name(&self) -> &str {
        self.end.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        let name = self.name();
        match found {
            [_, time] if is_nested(time) => {
                plan_err!("{name} needs a time as its second value, not {}", told(time))
            }
            [value, _] if is_nested(value) => {
                plan_err!("{name} gives no {}", told(value))
            }
            [_, _] => Ok(found.to_vec()),
            _ => plan_err!("{name} takes a value and the time of the value: {name}(value, time)"),
        }
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        match found.first() {
            Some(value) => Ok(value.clone()),
            None => plan_err!("{} takes a value and its time", self.name()),
        }
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let [value, time] = arguments.expr_fields else {
            return exec_err!("{} takes a value and its time", self.name());
        };
        Ok(Box::new(Best {
            end: self.end,
            value: ScalarValue::try_from(value.data_type())?,
            time: ScalarValue::try_from(time.data_type())?,
        }))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let [value, time] = arguments.input_fields else {
            return exec_err!("{} takes a value and its time", self.name());
        };
        let field = |part: &str, of: &FieldRef| {
            let name = format_state_name(arguments.name, part);
            FieldRef::new(Field::new(name, of.data_type().clone(), true))
        };
        Ok(vec![field("value", value), field("time", time)])
    }
}

/// Values that have no order, or none that all parts of a query agree on.
fn is_nested(data_type: &DataType) -> bool {
    data_type.is_nested()
}

/// The best row so far.
#[derive(Debug)]
struct Best {
    end: End,
    value: ScalarValue,
    time: ScalarValue,
}

impl Best {
    /// Takes the best of some rows, if it is better than the best so far.
    fn take(&mut self, values: &ArrayRef, times: &ArrayRef) -> Result<()> {
        let by_time = make_comparator(times, times, SortOptions::default())?;
        let by_value = make_comparator(values, values, SortOptions::default())?;
        let rows = (0..times.len()).filter(|row| times.is_valid(*row) && values.is_valid(*row));
        let best = rows.reduce(|best, row| {
            let compared = by_time(row, best).then_with(|| by_value(row, best));
            if self.end.is_better(compared) { row } else { best }
        });
        let Some(best) = best else { return Ok(()) };
        let is_better = self.time.is_null() || {
            let (value, time) = (self.value.to_array()?, self.time.to_array()?);
            let by_time = make_comparator(times, &time, SortOptions::default())?;
            let by_value = make_comparator(values, &value, SortOptions::default())?;
            self.end.is_better(by_time(best, 0).then_with(|| by_value(best, 0)))
        };
        if is_better {
            self.value = ScalarValue::try_from_array(values, best)?.compacted();
            self.time = ScalarValue::try_from_array(times, best)?;
        }
        Ok(())
    }

    fn take_columns(&mut self, columns: &[ArrayRef]) -> Result<()> {
        match columns {
            [values, times] => self.take(values, times),
            _ => exec_err!("{} takes a value and its time", self.end.name()),
        }
    }
}

impl Accumulator for Best {
    fn update_batch(&mut self, columns: &[ArrayRef]) -> Result<()> {
        self.take_columns(columns)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.take_columns(states)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value.clone(), self.time.clone()])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        let inside = size_of_val(&self.value) + size_of_val(&self.time);
        size_of_val(self) - inside + self.value.size() + self.time.size()
    }
}
