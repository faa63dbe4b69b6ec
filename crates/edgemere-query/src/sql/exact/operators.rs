//! `+`, `-`, `*`, `/`, `%` and the sign of integers and of the longest decimals, as functions that fail
//! when the result is out of range.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, Datum};
use arrow::compute::kernels::numeric;
use arrow::datatypes::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION,
    DECIMAL256_MAX_PRECISION, DataType, Decimal32Type, Decimal64Type, Decimal128Type,
    Decimal256Type, Field, FieldRef,
};
use arrow::error::ArrowError;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;

use crate::sql::exact::out_of_range;

type Kernel = fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>;

/// An operator between two values, and the function in its place.
struct Between {
    name: &'static str,
    operator: Operator,
    kernel: Kernel,
}

const BETWEEN: [Between; 5] = [
    Between { name: "checked_add", operator: Operator::Plus, kernel: numeric::add },
    Between { name: "checked_subtract", operator: Operator::Minus, kernel: numeric::sub },
    Between { name: "checked_multiply", operator: Operator::Multiply, kernel: numeric::mul },
    Between { name: "checked_divide", operator: Operator::Divide, kernel: numeric::div },
    Between { name: "checked_remainder", operator: Operator::Modulo, kernel: numeric::rem },
];

const NEGATE: &str = "checked_negate";

/// The functions.
pub(in crate::sql) fn all() -> Vec<Arc<ScalarUDF>> {
    functions().to_vec()
}

/// Whether it is the name of one of them.
pub(in crate::sql) fn is_one(name: &str) -> bool {
    name == NEGATE || BETWEEN.iter().any(|one| one.name == name)
}

fn functions() -> &'static [Arc<ScalarUDF>] {
    static FUNCTIONS: OnceLock<Vec<Arc<ScalarUDF>>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let between = BETWEEN.iter().map(|one| Checked::new(one.name, Some(one)));
        let all = between.chain([Checked::new(NEGATE, None)]);
        all.map(ScalarUDF::new_from_impl).map(Arc::new).collect()
    })
}

fn function(name: &str) -> Option<&'static Arc<ScalarUDF>> {
    functions().iter().find(|function| function.name() == name)
}

/// The call of a function in the place of an operator whose result may be out of range.
pub(super) fn checked(expression: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let call = match &expression {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let meant = BETWEEN.iter().find(|one| one.operator == *op);
            match meant {
                Some(meant) if may_overflow(*op, &expression.get_type(schema)?) => {
                    function(meant.name).map(|one| one.call(vec![*left.clone(), *right.clone()]))
                }
                _ => None,
            }
        }
        Expr::Negative(value) if is_negated_here(&value.get_type(schema)?) => {
            function(NEGATE).map(|one| one.call(vec![*value.clone()]))
        }
        _ => None,
    };
    Ok(call.map_or_else(|| Transformed::no(expression), Transformed::yes))
}

/// Whether a result of this type may be out of range without a word. Times and intervals say so already,
/// and so do integers that are divided.
fn may_overflow(operator: Operator, result: &DataType) -> bool {
    let divides = matches!(operator, Operator::Divide | Operator::Modulo);
    (result.is_integer() && !divides) || is_longest_decimal(result)
}

/// Whether a decimal has as many digits as its type can have: one more would be counted, and not fail.
fn is_longest_decimal(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Decimal32(DECIMAL32_MAX_PRECISION, _)
            | DataType::Decimal64(DECIMAL64_MAX_PRECISION, _)
            | DataType::Decimal128(DECIMAL128_MAX_PRECISION, _)
            | DataType::Decimal256(DECIMAL256_MAX_PRECISION, _)
    )
}

fn is_negated_here(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Duration(_) | DataType::Interval(_))
}

/// One of the functions.
#[derive(Debug)]
struct Checked {
    name: &'static str,
    /// None for the sign.
    operation: Option<(Operator, Kernel)>,
    signature: Signature,
}

impl Checked {
    fn new(name: &'static str, between: Option<&Between>) -> Self {
        let operation = between.map(|one| (one.operator, one.kernel));
        let arguments = if operation.is_some() { 2 } else { 1 };
        Self { name, operation, signature: Signature::any(arguments, Volatility::Immutable) }
    }

    fn computed(&self, arguments: &[ColumnarValue]) -> Result<ColumnarValue> {
        match (self.operation, arguments) {
            (Some((_, kernel)), [left, right]) => apply(left, right, kernel),
            (None, [ColumnarValue::Array(array)]) => {
                Ok(ColumnarValue::Array(numeric::neg(array.as_ref())?))
            }
            (None, [ColumnarValue::Scalar(value)]) => {
                let negated = numeric::neg(value.to_array()?.as_ref())?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&negated, 0)?))
            }
            _ => exec_err!("{} has the wrong number of arguments", self.name),
        }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        match (self.operation, found) {
            (Some((operator, _)), [left, right]) => {
                BinaryTypeCoercer::new(left, &operator, right).get_result_type()
            }
            (None, [value]) => Ok(value.clone()),
            _ => plan_err!("{} has the wrong number of arguments", self.name),
        }
    }

    fn return_field_from_args(&self, call: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = call.arg_fields.iter().map(|one| one.data_type().clone()).collect();
        let is_nullable = call.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name, self.return_type(&types)?, is_nullable)))
    }

    /// As the operator in whose place it is: columns have the same names.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        match (self.operation, arguments) {
            (Some((operator, _)), [left, right]) => {
                Ok(format!("{} {operator} {}", left.schema_name(), right.schema_name()))
            }
            (None, [value]) => Ok(format!("(- {})", value.schema_name())),
            _ => Ok(self.name.to_owned()),
        }
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let result = call.return_field.data_type();
        let computed = self.computed(&call.args).map_err(|error| told(error, result))?;
        check_digits(&computed, result)?;
        Ok(computed)
    }
}

impl PartialEq for Checked {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Checked {}

impl Hash for Checked {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// What is said of a result that is out of range; any other error as it is.
fn told(error: DataFusionError, result: &DataType) -> DataFusionError {
    let DataFusionError::ArrowError(arrow, _) = &error else { return error };
    let ArrowError::ArithmeticOverflow(text) = arrow.as_ref() else { return error };
    match text.strip_prefix("Overflow happened on: ").filter(|_| result.is_integer()) {
        Some(computed) => out_of_range(result, computed),
        None => too_many_digits(result),
    }
}

fn too_many_digits(result: &DataType) -> DataFusionError {
    out_of_range(result, "a result has more digits")
}

/// Fails when a decimal has more digits than its type.
fn check_digits(computed: &ColumnarValue, result: &DataType) -> Result<()> {
    if !is_longest_decimal(result) {
        return Ok(());
    }
    let array = match computed {
        ColumnarValue::Array(array) => Arc::clone(array),
        ColumnarValue::Scalar(value) => value.to_array()?,
    };
    let valid = match array.data_type() {
        DataType::Decimal32(digits, _) => {
            array.as_primitive::<Decimal32Type>().validate_decimal_precision(*digits)
        }
        DataType::Decimal64(digits, _) => {
            array.as_primitive::<Decimal64Type>().validate_decimal_precision(*digits)
        }
        DataType::Decimal128(digits, _) => {
            array.as_primitive::<Decimal128Type>().validate_decimal_precision(*digits)
        }
        DataType::Decimal256(digits, _) => {
            array.as_primitive::<Decimal256Type>().validate_decimal_precision(*digits)
        }
        _ => Ok(()),
    };
    valid.map_err(|_| too_many_digits(result))
}
