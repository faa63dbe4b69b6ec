//! Functions on JSON that a column of text holds: also the lists, structs and maps of Parquet files,
//! which are stored so. What is not JSON, or has nothing at the place, gives NULL.

mod operators;
mod path;
mod scan;

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListBuilder, StringBuilder,
};
use arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

pub(super) use self::operators::Operators;
use self::path::Step;
use self::scan::{Json, Kind};
use edgemere_storage::schema::told;

/// What a function tells of the value that is at the place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Gives {
    /// The value itself, as JSON.
    Json,
    /// The text of a string, and any other value as JSON; NULL for null.
    Text,
    /// The text of a string, and NULL for any other value.
    String,
    Int,
    Float,
    Bool,
    /// How many elements an array has.
    Length,
    /// The keys of an object.
    Keys,
    /// What kind of value it is.
    Type,
    /// Whether there is a value.
    Exists,
    /// The elements of an array, as JSON.
    Elements,
    /// The elements of an array, as text.
    ElementTexts,
}

/// How a function gets the path of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Keys and places, as many as there are.
    Steps,
    /// One JSON path.
    Path,
}

/// All functions: the name, how it gets the path, what is given.
const FUNCTIONS: [(&str, Place, Gives); 14] = [
    ("json_get", Place::Steps, Gives::Json),
    ("json_get_text", Place::Steps, Gives::Text),
    ("json_get_str", Place::Steps, Gives::String),
    ("json_get_int", Place::Steps, Gives::Int),
    ("json_get_float", Place::Steps, Gives::Float),
    ("json_get_bool", Place::Steps, Gives::Bool),
    ("json_array_length", Place::Steps, Gives::Length),
    ("json_keys", Place::Steps, Gives::Keys),
    ("json_typeof", Place::Steps, Gives::Type),
    ("json_contains", Place::Steps, Gives::Exists),
    ("json_array_elements", Place::Steps, Gives::Elements),
    ("json_array_elements_text", Place::Steps, Gives::ElementTexts),
    ("json_extract", Place::Path, Gives::Json),
    ("json_extract_text", Place::Path, Gives::Text),
];

pub(super) fn all() -> impl Iterator<Item = ScalarUDF> {
    FUNCTIONS.into_iter().map(|(name, place, gives)| made(name, place, gives))
}

fn made(name: &'static str, place: Place, gives: Gives) -> ScalarUDF {
    let signature = Signature::user_defined(Volatility::Immutable);
    ScalarUDF::new_from_impl(Function { name, place, gives, signature })
}

/// `json_get`.
fn get() -> ScalarUDF {
    made("json_get", Place::Steps, Gives::Json)
}

/// `json_get_text`.
fn get_text() -> ScalarUDF {
    made("json_get_text", Place::Steps, Gives::Text)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Function {
    name: &'static str,
    place: Place,
    gives: Gives,
    signature: Signature,
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        let Self { name, place, .. } = self;
        let Some((json, steps)) = found.split_first() else {
            return plan_err!("{name} needs a text that is JSON");
        };
        if !is_text(json) {
            return plan_err!("{name} needs a text that is JSON, not {}", told(json));
        }
        if *place == Place::Path && steps.len() != 1 {
            return plan_err!("{name} takes a text that is JSON, and one path as '$.key[0]'");
        }
        let step = |found: &DataType| match found {
            found if is_text(found) => Ok(DataType::Utf8),
            found if found.is_integer() && *place == Place::Steps => Ok(DataType::Int64),
            other => plan_err!("{name} goes by keys and whole numbers, not by {}", told(other)),
        };
        std::iter::once(Ok(DataType::Utf8View)).chain(steps.iter().map(step)).collect()
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.gives {
            Gives::Json | Gives::Text | Gives::String | Gives::Type => DataType::Utf8,
            Gives::Int | Gives::Length => DataType::Int64,
            Gives::Float => DataType::Float64,
            Gives::Bool | Gives::Exists => DataType::Boolean,
            Gives::Keys | Gives::Elements | Gives::ElementTexts => {
                DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))
            }
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let Some((texts, steps)) = arrays.split_first() else {
            return exec_err!("{} needs a text that is JSON", self.name);
        };
        let texts = texts.as_string_view();
        let found = texts.iter().enumerate().map(|(row, text)| {
            let Some(text) = text else { return Ok(Found::Unknown) };
            self.found(text, steps, row)
        });
        self.built(found).map(ColumnarValue::Array)
    }
}

impl Function {
    /// What is at the place that a row names.
    fn found<'a>(&self, text: &'a str, steps: &[ArrayRef], row: usize) -> Result<Found<'a>> {
        if steps.iter().any(|step| step.is_null(row)) {
            return Ok(Found::Unknown);
        }
        let Some(json) = Json::of(text) else { return Ok(Found::Unknown) };
        let found = match (self.place, steps.first()) {
            (Place::Path, Some(path)) => {
                let steps = path::steps(path.as_string::<i32>().value(row))?;
                steps.into_iter().try_fold(json, |json, step| step.into(json))
            }
            _ => steps.iter().try_fold(json, |json, step| step_of(step, row).into(json)),
        };
        Ok(found.map_or(Found::Nothing, Found::Value))
    }

    /// The results for what was found in each row.
    fn built<'a>(&self, found: impl Iterator<Item = Result<Found<'a>>>) -> Result<ArrayRef> {
        let json = |found: Found<'a>| found.value();
        match self.gives {
            Gives::Json => texts(found, |at| json(at).map(|json| json.text().to_owned())),
            Gives::Text => texts(found, |at| json(at).and_then(text)),
            Gives::String => texts(found, |at| json(at).and_then(Json::string)),
            Gives::Type => texts(found, |at| json(at).map(|json| kind(json).to_owned())),
            Gives::Int => ints(found, |at| json(at).and_then(int)),
            Gives::Length => ints(found, |at| i64::try_from(json(at)?.elements()?.count()).ok()),
            Gives::Float => {
                let numbers = found.map(|at| Ok(json(at?).and_then(float)));
                Ok(Arc::new(numbers.collect::<Result<Float64Array>>()?))
            }
            Gives::Bool => bools(found, |at| match json(at)?.text() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            }),
            Gives::Exists => bools(found, |at| match at {
                Found::Unknown => None,
                Found::Nothing => Some(false),
                Found::Value(_) => Some(true),
            }),
            Gives::Keys => lists(found, |at, built| {
                let entries = json(at)?.entries()?;
                entries.for_each(|(key, _)| built.append_option(key.string()));
                Some(())
            }),
            Gives::Elements => lists(found, |at, built| {
                json(at)?.elements()?.for_each(|json| built.append_value(json.text()));
                Some(())
            }),
            Gives::ElementTexts => lists(found, |at, built| {
                json(at)?.elements()?.for_each(|json| built.append_option(text(json)));
                Some(())
            }),
        }
    }
}

/// What is at the place that a row names.
#[derive(Clone, Copy, Debug)]
enum Found<'a> {
    /// The text is not JSON, or something is NULL.
    Unknown,
    Nothing,
    Value(Json<'a>),
}

impl<'a> Found<'a> {
    fn value(self) -> Option<Json<'a>> {
        match self {
            Self::Value(json) => Some(json),
            Self::Unknown | Self::Nothing => None,
        }
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null)
}

fn step_of(steps: &ArrayRef, row: usize) -> Step<'_> {
    match steps.as_primitive_opt::<Int64Type>() {
        Some(places) => Step::Place(places.value(row)),
        None => Step::Key(steps.as_string::<i32>().value(row).into()),
    }
}

/// A value as text, as `->>` gives it.
fn text(json: Json<'_>) -> Option<String> {
    match json.kind() {
        Kind::Null => None,
        Kind::String => json.string(),
        _ => Some(json.text().to_owned()),
    }
}

fn kind(json: Json<'_>) -> &'static str {
    match json.kind() {
        Kind::Object => "object",
        Kind::Array => "array",
        Kind::String => "string",
        Kind::Number => "number",
        Kind::Boolean => "boolean",
        Kind::Null => "null",
    }
}

/// A whole number, which may be written as `1.0` or `2e3`.
fn int(json: Json<'_>) -> Option<i64> {
    /// Beyond this, not every whole number is a float.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    let is_number = json.kind() == Kind::Number;
    let written = json.text().parse().ok().filter(|_| is_number);
    written.or_else(|| {
        let number = float(json).filter(|number| number.fract() == 0.0)?;
        (number.abs() <= EXACT_MAX).then_some(number as i64)
    })
}

/// A number; none when it is too large for one.
fn float(json: Json<'_>) -> Option<f64> {
    let number = json.text().parse::<f64>().ok().filter(|_| json.kind() == Kind::Number);
    number.filter(|number| number.is_finite())
}

fn texts<'a>(
    found: impl Iterator<Item = Result<Found<'a>>>,
    text: impl Fn(Found<'a>) -> Option<String>,
) -> Result<ArrayRef> {
    let mut built = StringBuilder::new();
    for at in found {
        built.append_option(text(at?));
    }
    Ok(Arc::new(built.finish()))
}

fn ints<'a>(
    found: impl Iterator<Item = Result<Found<'a>>>,
    number: impl Fn(Found<'a>) -> Option<i64>,
) -> Result<ArrayRef> {
    let numbers = found.map(|at| Ok(number(at?)));
    Ok(Arc::new(numbers.collect::<Result<Int64Array>>()?))
}

fn bools<'a>(
    found: impl Iterator<Item = Result<Found<'a>>>,
    holds: impl Fn(Found<'a>) -> Option<bool>,
) -> Result<ArrayRef> {
    let all = found.map(|at| Ok(holds(at?)));
    Ok(Arc::new(all.collect::<Result<BooleanArray>>()?))
}

/// Lists of texts. None of what adds a list's texts makes NULL of it.
fn lists<'a>(
    found: impl Iterator<Item = Result<Found<'a>>>,
    add: impl Fn(Found<'a>, &mut StringBuilder) -> Option<()>,
) -> Result<ArrayRef> {
    let mut built = ListBuilder::new(StringBuilder::new());
    for at in found {
        let is_list = add(at?, built.values()).is_some();
        built.append(is_list);
    }
    Ok(Arc::new(built.finish()))
}
