//! Functions that DataFusion does not have: those that EdgeLake's SQL needs, of which `dialect` makes
//! calls, and those for JSON and for series of measurements; and one that DataFusion has, mended.

mod buckets;
mod counters;
mod date_part;
mod first_last;
mod format_time;
mod format_value;
mod gapfill;
mod json;
mod replace_first;
mod series;
mod time_bin;
mod time_bucket;
mod time_difference;

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::{
    ColumnarValue, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::prelude::SessionContext;

pub(super) use self::format_time::check as check_time_format;
pub(super) use self::format_value::check as check_number_format;
pub(super) use self::gapfill::Planner;
pub(super) use self::series::is_call as is_series_call;
pub(super) use self::time_difference::clock;
use edgemere_storage::schema::told;

/// All that make one value of the values of a row.
pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let functions = [
        format_time::FUNCTION,
        format_value::FUNCTION,
        replace_first::FUNCTION,
        time_bin::FUNCTION,
        time_difference::FUNCTION,
    ];
    let functions = functions.into_iter().map(Function::new).map(ScalarUDF::new_from_impl);
    let functions = functions.chain(json::all());
    let functions = functions.chain([time_bucket::function(), date_part::function()]);
    functions.chain(gapfill::all()).map(Arc::new).collect()
}

/// Gives a session what is no function of a row: aggregates, series in FROM, and operators.
pub(super) fn install(context: &SessionContext) {
    let aggregates = first_last::all().into_iter().chain(counters::all());
    aggregates.for_each(|function| context.register_udaf(function));
    for function in series::ALL {
        context.register_udtf(function.name, Arc::new(function));
    }
}

/// What makes calls of operators.
pub(super) fn operators() -> Arc<dyn ExprPlanner> {
    Arc::new(json::Operators)
}

/// The plan with steps in the place of functions that are about more than a row or a group.
pub(super) fn rewrite(plan: LogicalPlan) -> Result<LogicalPlan> {
    gapfill::rewrite(plan).and_then(counters::rewrite)
}

/// A function: its name, what it takes, what it gives and what it does.
#[derive(Clone, Copy, Debug)]
struct Definition {
    name: &'static str,
    /// What people write to have it called.
    written: &'static str,
    takes: &'static [Takes],
    gives: fn() -> DataType,
    run: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

/// What a function takes in a place.
#[derive(Clone, Copy, Debug)]
enum Takes {
    /// Any value.
    Any,
    Text,
    Whole,
    /// A time, in UTC, or in a zone when it has one.
    Time,
    /// A time in UTC.
    PlainTime,
}

#[derive(Debug)]
struct Function {
    definition: Definition,
    signature: Signature,
}

impl Function {
    fn new(definition: Definition) -> Self {
        Self { definition, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.definition.name == other.definition.name
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.definition.name.hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.definition.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        let Definition { written, takes, gives, .. } = self.definition;
        match takes.iter().zip(found).find(|(takes, found)| !takes.fits(found)) {
            Some((_, found)) => plan_err!("{written} needs a time, not {}", told(found)),
            None => Ok(gives()),
        }
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        let Definition { name, takes, .. } = self.definition;
        if found.len() != takes.len() {
            return plan_err!("{name} takes {} values, not {}", takes.len(), found.len());
        }
        Ok(takes.iter().zip(found).map(|(takes, found)| takes.coerced(found)).collect())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        (self.definition.run)(&arrays).map(ColumnarValue::Array)
    }
}

impl Takes {
    /// The type that a value of another type is taken as; its own when it does not fit.
    fn coerced(self, found: &DataType) -> DataType {
        let time = DataType::Timestamp(TimeUnit::Microsecond, None);
        match (self, found) {
            (Self::Text, _) => DataType::Utf8,
            (Self::Whole, _) => DataType::Int64,
            (Self::Time, DataType::Timestamp(_, Some(zone))) => {
                DataType::Timestamp(TimeUnit::Microsecond, Some(zone.clone()))
            }
            (Self::Time | Self::PlainTime, DataType::Timestamp(..) | DataType::Date32) => time,
            (Self::Time | Self::PlainTime, DataType::Null) => time,
            // Times that were kept as text.
            (Self::Time, DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8) => time,
            _ => found.clone(),
        }
    }

    /// Whether a value of that type can be taken, once it is coerced.
    fn fits(self, coerced: &DataType) -> bool {
        match self {
            Self::Any | Self::Text | Self::Whole => true,
            Self::Time | Self::PlainTime => matches!(coerced, DataType::Timestamp(..)),
        }
    }
}
