//! Texts that become decimals have a limit of their own: Arrow parses digits with a call inside a call,
//! one for every 38 of them, and ten million digits overflow the stack of a thread.
//!
//! A cast of texts to decimals gets a function around its argument, which hands texts on as they are and
//! fails at one that is too long. It is a function because a plan that is sent to an operator keeps it,
//! and because what is constant is computed with it.

use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::nullif;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::window_frame::{WindowFrame, WindowFrameBound};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

/// How long a text may be that becomes a decimal, in bytes, with its spaces and zeros. A decimal has 76
/// digits at most.
const DECIMAL_TEXT_BYTES_MAX: usize = 512;

/// How deep a type may be nested that is written as a text: it is parsed, and its values are cast, with
/// a call inside a call.
const TYPE_DEPTH_MAX: usize = 32;

const CAST: &str = "decimal_text";
const TRY_CAST: &str = "decimal_text_or_null";

/// The functions.
pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    functions().to_vec()
}

/// Whether it is the name of one of them.
pub(super) fn is_one(name: &str) -> bool {
    [CAST, TRY_CAST].contains(&name)
}

fn functions() -> &'static [Arc<ScalarUDF>; 2] {
    static FUNCTIONS: OnceLock<[Arc<ScalarUDF>; 2]> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        [CAST, TRY_CAST].map(|name| Arc::new(ScalarUDF::new_from_impl(DecimalText::new(name))))
    })
}

/// A cast whose texts are short enough for decimals; any other expression as it is.
pub(in crate::sql) fn short_texts(
    expression: Expr,
    schema: &DFSchema,
) -> Result<Transformed<Expr>> {
    let (argument, to, name) = match &expression {
        Expr::Cast(cast) => (&cast.expr, cast.field.data_type(), CAST),
        Expr::TryCast(cast) => (&cast.expr, cast.field.data_type(), TRY_CAST),
        _ => return Ok(Transformed::no(expression)),
    };
    let is_done = matches!(argument.as_ref(), Expr::ScalarFunction(call) if is_one(call.name()));
    if is_done || !has_decimal(to) || !parses_decimals(&argument.get_type(schema)?, to) {
        return Ok(Transformed::no(expression));
    }
    let Some(function) = functions().iter().find(|function| function.name() == name) else {
        return Ok(Transformed::no(expression));
    };
    let short = |argument: Box<Expr>| Box::new(function.call(vec![*argument]));
    Ok(Transformed::yes(match expression {
        Expr::Cast(mut cast) => {
            cast.expr = short(cast.expr);
            Expr::Cast(cast)
        }
        Expr::TryCast(mut cast) => {
            cast.expr = short(cast.expr);
            Expr::TryCast(cast)
        }
        other => other,
    }))
}

/// Refuses a frame of a window that ends at a long text: it becomes a value of the type by which the
/// window is ordered while the query is planned.
pub(super) fn check_frame(frame: &WindowFrame) -> Result<()> {
    for bound in [&frame.start_bound, &frame.end_bound] {
        let (WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value)) = bound
        else {
            continue;
        };
        let size = value.try_as_str().flatten().map_or(0, str::len);
        if size > DECIMAL_TEXT_BYTES_MAX {
            return plan_err!(
                "a window cannot begin or end at a text of {size} bytes: \
                 {DECIMAL_TEXT_BYTES_MAX} are the most"
            );
        }
    }
    Ok(())
}

/// Refuses a type in the arguments of a function that is nested too deeply to be parsed.
pub(super) fn check_type_text(arguments: &[Option<&ScalarValue>]) -> Result<()> {
    let texts = arguments.iter().flatten().filter_map(|value| value.try_as_str().flatten());
    for text in texts {
        let (mut depth, mut deepest) = (0_usize, 0);
        for byte in text.bytes() {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        if deepest > TYPE_DEPTH_MAX {
            return plan_err!("a type may have {TYPE_DEPTH_MAX} levels of nesting, and no more");
        }
    }
    Ok(())
}

/// Whether a cast parses texts as decimals, also inside of lists, structs and dictionaries.
fn parses_decimals(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (_, to) if to.is_decimal() => has_text(from),
        (DataType::Struct(from), DataType::Struct(to)) => to.iter().any(|to| {
            // Fields are cast by their names, or by their places.
            let named = from.find(to.name()).map(|(_, field)| field);
            let from: Vec<_> = named.map_or_else(|| from.iter().collect(), |field| vec![field]);
            from.iter().any(|from| parses_decimals(from.data_type(), to.data_type()))
        }),
        (DataType::Struct(_), _) | (_, DataType::Struct(_)) => {
            let (from, to) = (inner(from), inner(to));
            from.iter().any(|from| to.iter().any(|to| parses_decimals(from, to)))
        }
        _ => match (inner(from).as_slice(), inner(to).as_slice()) {
            ([], []) => false,
            ([], [to]) => parses_decimals(from, to),
            ([from], []) => parses_decimals(from, to),
            ([from], [to]) => parses_decimals(from, to),
            _ => has_text(from) && has_decimal(to),
        },
    }
}

/// The types that a type is made of.
fn inner(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => vec![field.data_type()],
        DataType::Dictionary(_, values) => vec![values.as_ref()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        _ => vec![],
    }
}

fn has_text(data_type: &DataType) -> bool {
    data_type.is_string() || inner(data_type).into_iter().any(has_text)
}

fn has_decimal(data_type: &DataType) -> bool {
    data_type.is_decimal() || inner(data_type).into_iter().any(has_decimal)
}

/// The bytes of the longest text in an array. What a cast looks at counts, also where no row has it.
fn longest_text(array: &dyn Array) -> usize {
    fn longest<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> usize {
        texts.flatten().map(str::len).max().unwrap_or(0)
    }
    match array.data_type() {
        DataType::Utf8 => longest(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => longest(array.as_string::<i64>().iter()),
        DataType::Utf8View => longest(array.as_string_view().iter()),
        _ => {
            let parts = array.to_data();
            let parts = parts.child_data().iter().cloned().map(arrow::array::make_array);
            parts.map(|part| longest_text(&part)).max().unwrap_or(0)
        }
    }
}

/// Hands texts on that are short enough.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DecimalText {
    name: &'static str,
    signature: Signature,
}

impl DecimalText {
    fn new(name: &'static str) -> Self {
        Self { name, signature: Signature::any(1, Volatility::Immutable) }
    }

    fn short(&self, texts: ArrayRef) -> Result<ArrayRef> {
        let size = longest_text(&texts);
        if size <= DECIMAL_TEXT_BYTES_MAX {
            return Ok(texts);
        }
        if self.name == TRY_CAST && texts.data_type().is_string() {
            let is_long = |row| longest_text(&texts.slice(row, 1)) > DECIMAL_TEXT_BYTES_MAX;
            let is_long = (0..texts.len()).map(|row| Some(is_long(row)));
            return Ok(nullif(&texts, &is_long.collect::<BooleanArray>())?);
        }
        exec_err!(
            "a text of {size} bytes cannot become a number: {DECIMAL_TEXT_BYTES_MAX} are the most"
        )
    }
}

impl ScalarUDFImpl for DecimalText {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        match found {
            [texts] => Ok(texts.clone()),
            _ => plan_err!("{} takes one text", self.name),
        }
    }

    fn return_field_from_args(&self, call: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = call.arg_fields.iter().map(|one| one.data_type().clone()).collect();
        let is_nullable =
            self.name == TRY_CAST || call.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name, self.return_type(&types)?, is_nullable)))
    }

    /// As what it is around: columns have the same names.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let names = arguments.iter().map(|argument| argument.schema_name().to_string());
        Ok(names.collect::<Vec<_>>().join(", "))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match call.args.as_slice() {
            [ColumnarValue::Array(texts)] => {
                Ok(ColumnarValue::Array(self.short(Arc::clone(texts))?))
            }
            [ColumnarValue::Scalar(text)] => {
                let short = self.short(text.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&short, 0)?))
            }
            _ => exec_err!("{} takes one text", self.name),
        }
    }
}
