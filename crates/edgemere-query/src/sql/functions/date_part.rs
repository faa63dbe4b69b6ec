//! `date_part`, and with it `extract`: DataFusion's own, but for the seconds of a duration, of which that
//! keeps the fractions for two seconds and no longer.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{
    DataType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, FieldRef, TimeUnit,
};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::datetime::date_part;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};

/// The function.
pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(Mended { inner: date_part() })
}

#[derive(Debug)]
struct Mended {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Mended {
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
        self.inner.return_type(found)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        self.inner.inner().preimage(args, literal, info)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [part, time] = call.args.as_slice() else {
            return self.inner.invoke_with_args(call);
        };
        let is_epoch = match part {
            ColumnarValue::Scalar(part) => {
                let part = part.try_as_str().flatten().unwrap_or_default();
                part.trim_matches(['\'', '"']).eq_ignore_ascii_case("epoch")
            }
            ColumnarValue::Array(_) => false,
        };
        match (time, time.data_type()) {
            (ColumnarValue::Array(time), DataType::Duration(unit)) if is_epoch => {
                Ok(ColumnarValue::Array(seconds(time, unit)))
            }
            (ColumnarValue::Scalar(time), DataType::Duration(unit)) if is_epoch => {
                let seconds = seconds(&time.to_array()?, unit);
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&seconds, 0)?))
            }
            _ => self.inner.invoke_with_args(call),
        }
    }
}

/// Durations in seconds.
fn seconds(array: &ArrayRef, unit: TimeUnit) -> ArrayRef {
    // A float has no room for all digits of a long time in small units.
    let of = |count: i64, each: i64| (count / each) as f64 + (count % each) as f64 / each as f64;
    let seconds: Float64Array = match unit {
        TimeUnit::Second => array.as_primitive::<DurationSecondType>().unary(|n| n as f64),
        TimeUnit::Millisecond => {
            array.as_primitive::<DurationMillisecondType>().unary(|n| of(n, 1_000))
        }
        TimeUnit::Microsecond => {
            array.as_primitive::<DurationMicrosecondType>().unary(|n| of(n, 1_000_000))
        }
        TimeUnit::Nanosecond => {
            array.as_primitive::<DurationNanosecondType>().unary(|n| of(n, 1_000_000_000))
        }
    };
    Arc::new(seconds)
}

impl PartialEq for Mended {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for Mended {}

impl Hash for Mended {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}
