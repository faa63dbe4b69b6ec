//! `time_bucket(width, time [, zone] [, origin])`: when the bucket begins that a time is in.
//! `time_bucket_gapfill` takes the same, and stands for it until `gapfill` has made a step of it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalUnit, TimeUnit, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::sql::functions::buckets::Buckets;
use edgemere_storage::schema::told;

/// The name of the function.
pub(super) const NAME: &str = "time_bucket";

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(TimeBucket {
        signature: Signature::user_defined(Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TimeBucket {
    signature: Signature,
}

impl ScalarUDFImpl for TimeBucket {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        let (width, time, others) = match found {
            [width, time, others @ ..] if others.len() <= 2 => (width, time, others),
            _ => {
                return plan_err!(
                    "{NAME} takes a width as '1 hour', a time, and if need be a zone and an origin"
                );
            }
        };
        let mut types = vec![width_type(NAME, width)?, time_type(NAME, time)?];
        types.extend(others.iter().map(|other| match other {
            DataType::Timestamp(..) | DataType::Date32 => micros_type(),
            _ => DataType::Utf8,
        }));
        Ok(types)
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        match found.get(1) {
            Some(time) => time_type(NAME, time),
            None => plan_err!("{NAME} takes a width and a time"),
        }
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [width, times, others @ ..] = call.args.as_slice() else {
            return exec_err!("{NAME} takes a width and a time");
        };
        let is_constant = matches!(times, ColumnarValue::Scalar(_));
        let times = times.to_array(if is_constant { 1 } else { call.number_rows })?;
        let Some(settings) = Settings::of(width, others)? else {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from(times.data_type())?));
        };
        let zone = settings.zone.or_else(|| match times.data_type() {
            DataType::Timestamp(_, zone) => zone.as_ref().map(ToString::to_string),
            _ => None,
        });
        let buckets = Buckets::new(settings.width, zone.as_deref(), settings.origin)?;
        started(&times, &buckets).map(ColumnarValue::Array)
    }
}

/// What is the same for all rows.
struct Settings {
    width: IntervalMonthDayNano,
    zone: Option<String>,
    origin: Option<i64>,
}

impl Settings {
    /// None when one of them is NULL.
    fn of(width: &ColumnarValue, others: &[ColumnarValue]) -> Result<Option<Self>> {
        let Some(width) = self::width(&constant(width)?)? else { return Ok(None) };
        let (mut zone, mut origin) = (None, None);
        for other in others {
            match constant(other)? {
                ScalarValue::TimestampMicrosecond(Some(time), _) => origin = Some(time),
                ScalarValue::Utf8(Some(text)) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                    let time = ScalarValue::from(text).cast_to(&micros_type())?;
                    origin = i64::try_from(time.cast_to(&DataType::Int64)?).ok();
                }
                ScalarValue::Utf8(Some(text)) => zone = Some(text),
                _ => return Ok(None),
            }
        }
        Ok(Some(Self { width, zone, origin }))
    }
}

/// A value that is the same in all rows.
fn constant(value: &ColumnarValue) -> Result<ScalarValue> {
    match value {
        ColumnarValue::Scalar(value) => Ok(value.clone()),
        ColumnarValue::Array(values) if values.len() == 1 => ScalarValue::try_from_array(values, 0),
        ColumnarValue::Array(_) => {
            exec_err!("{NAME} needs the same width, zone and origin for all rows")
        }
    }
}

/// When the buckets begin that times are in.
pub(super) fn started(times: &ArrayRef, buckets: &Buckets) -> Result<ArrayRef> {
    if let Some(times) = times.as_primitive_opt::<TimestampNanosecondType>() {
        let start = |time: i64| buckets.start(time.div_euclid(1000))?.checked_mul(1000);
        let started: PrimitiveArray<TimestampNanosecondType> =
            times.iter().map(|time| time.and_then(start)).collect();
        return Ok(cast(&(Arc::new(started) as ArrayRef), times.data_type())?);
    }
    let times = times.as_primitive::<TimestampMicrosecondType>();
    let started: PrimitiveArray<TimestampMicrosecondType> =
        times.iter().map(|time| buckets.start(time?)).collect();
    Ok(Arc::new(started.with_data_type(times.data_type().clone())))
}

/// The width of buckets that a value is; none for NULL.
pub(super) fn width(value: &ScalarValue) -> Result<Option<IntervalMonthDayNano>> {
    match value.cast_to(&DataType::Interval(IntervalUnit::MonthDayNano)) {
        Ok(ScalarValue::IntervalMonthDayNano(width)) => Ok(width),
        _ => plan_err!(
            "\"{value}\" is not the width of a bucket: write one as '15 minutes', '1 day' or '3 months'"
        ),
    }
}

fn micros_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

pub(super) fn width_type(name: &str, found: &DataType) -> Result<DataType> {
    match found {
        DataType::Interval(_) => Ok(DataType::Interval(IntervalUnit::MonthDayNano)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
            Ok(DataType::Utf8)
        }
        other => plan_err!("{name} needs a width as '1 hour', not {}", told(other)),
    }
}

/// The type that times are taken as, and that buckets have.
pub(super) fn time_type(name: &str, found: &DataType) -> Result<DataType> {
    match found {
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            Ok(DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()))
        }
        DataType::Timestamp(_, zone) => {
            Ok(DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))
        }
        // Texts may be times that were written as such.
        DataType::Date32
        | DataType::Null
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View => Ok(micros_type()),
        other => plan_err!("{name} needs a time, not {}", told(other)),
    }
}
