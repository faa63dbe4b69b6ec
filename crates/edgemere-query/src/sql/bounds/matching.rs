//! `LIKE`, `ILIKE`, `~`, `SIMILAR TO` and `regexp_like` as functions that can be stopped: DataFusion's own
//! go through a whole batch in one go, however long its texts are and whatever the pattern. Plans get
//! these in their place.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::kernels::comparison;
use arrow::compute::{cast, not};
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

use crate::sql::bounds::function::BLOCK_COST;
use crate::sql::bounds::meter;
use crate::sql::bounds::pattern::{Pattern, Syntax};

/// What making a pattern ready counts for, of what is done before the query is asked whether it is to
/// stop.
const READY_COST: usize = BLOCK_COST / 64;

/// An operator, and the function in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct How {
    name: &'static str,
    operator: &'static str,
    syntax: Syntax,
    ignores_case: bool,
    negated: bool,
}

const fn how(name: &'static str, operator: &'static str, syntax: Syntax) -> How {
    How { name, operator, syntax, ignores_case: false, negated: false }
}

const fn ignoring_case(how: How) -> How {
    How { ignores_case: true, ..how }
}

const fn negated(how: How) -> How {
    How { negated: true, ..how }
}

const ALL: [How; 8] = [
    how("text_like", "LIKE", Syntax::Like),
    negated(how("text_not_like", "NOT LIKE", Syntax::Like)),
    ignoring_case(how("text_ilike", "ILIKE", Syntax::Like)),
    negated(ignoring_case(how("text_not_ilike", "NOT ILIKE", Syntax::Like))),
    how("text_matches", "~", Syntax::Regex),
    negated(how("text_not_matches", "!~", Syntax::Regex)),
    ignoring_case(how("text_imatches", "~*", Syntax::Regex)),
    negated(ignoring_case(how("text_not_imatches", "!~*", Syntax::Regex))),
];

/// The functions.
pub(super) fn all() -> Vec<Arc<ScalarUDF>> {
    let functions = ALL.iter().map(|how| Matching::new(*how));
    functions.map(ScalarUDF::new_from_impl).map(Arc::new).collect()
}

/// Whether it is the name of one of them.
pub(super) fn is_one(name: &str) -> bool {
    ALL.iter().any(|how| how.name == name)
}

/// The name and the arguments of the function for an operator, or for another function that does the
/// same; none for other expressions.
pub(super) fn call(expression: &Expr) -> Option<(&'static str, [&Expr; 2])> {
    let (syntax, ignores_case, negated, text, pattern) = match expression {
        Expr::Like(like) if matches!(like.escape_char, None | Some('\\')) => {
            (Syntax::Like, like.case_insensitive, like.negated, &like.expr, &like.pattern)
        }
        Expr::SimilarTo(like) if like.escape_char.is_none() => {
            (Syntax::Regex, like.case_insensitive, like.negated, &like.expr, &like.pattern)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (syntax, ignores_case, negated) = match op {
                Operator::RegexMatch => (Syntax::Regex, false, false),
                Operator::RegexIMatch => (Syntax::Regex, true, false),
                Operator::RegexNotMatch => (Syntax::Regex, false, true),
                Operator::RegexNotIMatch => (Syntax::Regex, true, true),
                Operator::LikeMatch => (Syntax::Like, false, false),
                Operator::ILikeMatch => (Syntax::Like, true, false),
                Operator::NotLikeMatch => (Syntax::Like, false, true),
                Operator::NotILikeMatch => (Syntax::Like, true, true),
                _ => return None,
            };
            (syntax, ignores_case, negated, left, right)
        }
        Expr::ScalarFunction(call) if call.func.name() == "regexp_like" => {
            let [text, pattern] = call.args.as_slice() else { return None };
            return Some(("text_matches", [text, pattern]));
        }
        _ => return None,
    };
    let is_meant =
        |how: &&How| (how.syntax, how.ignores_case, how.negated) == (syntax, ignores_case, negated);
    ALL.iter().find(is_meant).map(|how| (how.name, [text.as_ref(), pattern.as_ref()]))
}

/// One of the functions.
#[derive(Debug)]
struct Matching {
    how: How,
    signature: Signature,
}

impl Matching {
    fn new(how: How) -> Self {
        Self { how, signature: Signature::any(2, Volatility::Immutable) }
    }

    /// One pattern for all texts.
    fn with_one(&self, texts: &ArrayRef, pattern: &str) -> Result<ArrayRef> {
        if self.is_simple(pattern) {
            let texts = as_texts(texts)?;
            let pattern = like_scalar(&texts, pattern)?;
            let found = match (self.how.ignores_case, self.how.negated) {
                (false, false) => comparison::like(&texts, &pattern),
                (false, true) => comparison::nlike(&texts, &pattern),
                (true, false) => comparison::ilike(&texts, &pattern),
                (true, true) => comparison::nilike(&texts, &pattern),
            };
            return Ok(Arc::new(found?));
        }
        let pattern = Pattern::of(pattern, self.how.syntax, self.how.ignores_case)?;
        let mut cost = 0_usize;
        self.each(texts, |text| {
            cost = cost.saturating_add(pattern.cost(text.len()));
            check(&mut cost)?;
            pattern.is_in(text)
        })
    }

    /// A pattern for each text.
    fn with_many(&self, texts: &ArrayRef, patterns: &ArrayRef) -> Result<ArrayRef> {
        let (texts, patterns) = (as_texts(texts)?, as_texts(patterns)?);
        let mut cost = 0_usize;
        let mut last: Option<(&str, Arc<Pattern>)> = None;
        let mut found = Vec::with_capacity(texts.len());
        for (text, pattern) in strings(&texts)?.zip(strings(&patterns)?) {
            let Some((text, pattern)) = text.zip(pattern) else {
                found.push(None);
                continue;
            };
            let ready = match last.take() {
                Some((same, ready)) if same == pattern => ready,
                _ => {
                    cost = cost.saturating_add(READY_COST);
                    check(&mut cost)?;
                    Pattern::of(pattern, self.how.syntax, self.how.ignores_case)?
                }
            };
            cost = cost.saturating_add(ready.cost(text.len()));
            check(&mut cost)?;
            found.push(Some(ready.is_in(text)? != self.how.negated));
            last = Some((pattern, ready));
        }
        Ok(Arc::new(BooleanArray::from(found)))
    }

    fn each(
        &self,
        texts: &ArrayRef,
        mut is_in: impl FnMut(&str) -> Result<bool>,
    ) -> Result<ArrayRef> {
        let texts = as_texts(texts)?;
        let found = strings(&texts)?.map(|text| text.map(&mut is_in).transpose());
        let found = found.collect::<Result<BooleanArray>>()?;
        Ok(Arc::new(if self.how.negated { not(&found)? } else { found }))
    }

    /// Whether a pattern is found about as fast as a text is read: with nothing but a `%` at its ends.
    fn is_simple(&self, pattern: &str) -> bool {
        let bare = |text: &str| !text.contains(['%', '_', '\\']);
        let ends = pattern.strip_prefix('%').is_some_and(bare);
        let begins = pattern.strip_suffix('%').is_some_and(bare);
        let within = pattern.strip_prefix('%').and_then(|rest| rest.strip_suffix('%'));
        let is_plain = bare(pattern) || begins || ends;
        self.how.syntax == Syntax::Like
            && match self.how.ignores_case {
                true => is_plain && pattern.is_ascii(),
                false => is_plain || within.is_some_and(bare),
            }
    }
}

/// Asks whether the query is to stop when enough was done since it was asked last.
fn check(cost: &mut usize) -> Result<()> {
    if *cost < BLOCK_COST {
        return Ok(());
    }
    *cost = 0;
    meter::check_stop()
}

/// Texts as they are; what is no text as one.
fn as_texts(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(Arc::clone(array)),
        _ => Ok(cast(array, &DataType::Utf8View)?),
    }
}

/// A pattern of the type of the texts.
fn like_scalar(texts: &ArrayRef, pattern: &str) -> Result<arrow::array::Scalar<ArrayRef>> {
    let pattern = ScalarValue::Utf8(Some(pattern.to_owned())).cast_to(texts.data_type())?;
    pattern.to_scalar()
}

fn strings(array: &ArrayRef) -> Result<Box<dyn Iterator<Item = Option<&str>> + '_>> {
    if let Some(texts) = array.as_string_view_opt() {
        return Ok(Box::new(texts.iter()));
    }
    if let Some(texts) = array.as_string_opt::<i32>() {
        return Ok(Box::new(texts.iter()));
    }
    match array.as_string_opt::<i64>() {
        Some(texts) => Ok(Box::new(texts.iter())),
        None => exec_err!("only texts have patterns"),
    }
}

impl ScalarUDFImpl for Matching {
    fn name(&self) -> &str {
        self.how.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn return_field_from_args(&self, call: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let is_nullable = call.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), DataType::Boolean, is_nullable)))
    }

    /// As the operator in whose place it is: columns have the same names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names = args.iter().map(|arg| arg.schema_name().to_string()).collect::<Vec<_>>();
        Ok(names.join(&format!(" {} ", self.how.operator)))
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [texts, patterns] = call.args.as_slice() else {
            return exec_err!("{} takes a text and a pattern", self.name());
        };
        let is_nothing = |value: &ColumnarValue| match value {
            ColumnarValue::Scalar(value) => value.is_null(),
            ColumnarValue::Array(array) => array.data_type() == &DataType::Null,
        };
        if is_nothing(texts) || is_nothing(patterns) {
            return Ok(ColumnarValue::Scalar(ScalarValue::Boolean(None)));
        }
        let is_constant = matches!(texts, ColumnarValue::Scalar(_));
        let found = match patterns {
            ColumnarValue::Scalar(pattern) => {
                let rows = if is_constant { 1 } else { call.number_rows };
                let texts = texts.to_array(rows)?;
                match pattern.try_as_str().flatten() {
                    Some(pattern) => self.with_one(&texts, pattern)?,
                    None => self.with_many(&texts, &pattern.to_array_of_size(rows)?)?,
                }
            }
            ColumnarValue::Array(patterns) => {
                return self
                    .with_many(&texts.to_array(call.number_rows)?, patterns)
                    .map(ColumnarValue::Array);
            }
        };
        Ok(match is_constant {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
            false => ColumnarValue::Array(found),
        })
    }
}

impl PartialEq for Matching {
    fn eq(&self, other: &Self) -> bool {
        self.how == other.how
    }
}

impl Eq for Matching {}

impl Hash for Matching {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.how.name.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{StringArray, StringViewArray};
    use arrow::compute::kernels::regexp::regexp_is_match;
    use datafusion::config::ConfigOptions;

    use super::*;
    use crate::sql::bounds::meter::Meter;

    fn function(name: &str) -> Matching {
        Matching::new(*ALL.iter().find(|how| how.name == name).unwrap())
    }

    fn called(name: &str, args: Vec<ColumnarValue>, rows: usize) -> Result<ColumnarValue> {
        let field = |name: &str, kind| Arc::new(Field::new(name, kind, true));
        function(name).invoke_with_args(ScalarFunctionArgs {
            arg_fields: args.iter().map(|arg| field("a", arg.data_type())).collect(),
            args,
            number_rows: rows,
            return_field: field("r", DataType::Boolean),
            config_options: Arc::new(ConfigOptions::default()),
        })
    }

    const TEXTS: [Option<&str>; 10] = [
        Some(""),
        Some("abc"),
        Some("ABC"),
        Some("a%c"),
        Some("a_c"),
        Some("a\\c"),
        Some("a\nbc"),
        Some("äöü <x>"),
        Some("KELVIN K"),
        None,
    ];

    const LIKES: [&str; 22] = [
        "", "%", "%%", "_", "abc", "a%", "%c", "%b%", "a%c", "a_c", "a\\%c", "a\\_c", "a\\\\c",
        "%\\%%", "a\\", "___", "Ä%Ü%", "%<x>", "%k%", "a.c", "%(%", "a\\bc",
    ];

    #[test]
    fn patterns_are_found_where_arrow_finds_them() {
        let texts: ArrayRef = Arc::new(StringArray::from(TEXTS.to_vec()));
        for pattern in LIKES {
            let scalar = StringArray::new_scalar(pattern);
            for (name, expected) in [
                ("text_like", comparison::like(&texts, &scalar)),
                ("text_not_like", comparison::nlike(&texts, &scalar)),
                ("text_ilike", comparison::ilike(&texts, &scalar)),
                ("text_not_ilike", comparison::nilike(&texts, &scalar)),
            ] {
                compare(name, &texts, pattern, &expected.unwrap());
            }
        }
        for pattern in ["", "a.c", "^A", "b$", "[äb]", "\\w+ <", "(?s)a.b"] {
            let patterns = StringArray::from(vec![pattern; TEXTS.len()]);
            let flags = StringArray::from(vec!["i"; TEXTS.len()]);
            let text = texts.as_string::<i32>();
            let plain = regexp_is_match(text, &patterns, None::<&StringArray>).unwrap();
            let other = regexp_is_match(text, &patterns, Some(&flags)).unwrap();
            compare("text_matches", &texts, pattern, &plain);
            compare("text_not_matches", &texts, pattern, &not(&plain).unwrap());
            compare("text_imatches", &texts, pattern, &other);
            compare("text_not_imatches", &texts, pattern, &not(&other).unwrap());
        }
    }

    /// As a constant and as a column, for each type of texts.
    fn compare(name: &str, texts: &ArrayRef, pattern: &str, expected: &BooleanArray) {
        for kind in [DataType::Utf8, DataType::LargeUtf8, DataType::Utf8View] {
            let texts = cast(texts, &kind).unwrap();
            let one = ScalarValue::Utf8(Some(pattern.to_owned())).cast_to(&kind).unwrap();
            let many = one.to_array_of_size(texts.len()).unwrap();
            for pattern in [ColumnarValue::Scalar(one), ColumnarValue::Array(many)] {
                let args = vec![ColumnarValue::Array(Arc::clone(&texts)), pattern.clone()];
                let found = called(name, args, texts.len()).unwrap().to_array(texts.len());
                assert_eq!(found.unwrap().as_boolean(), expected, "{name} {pattern} {kind}");
            }
        }
        let scalar = |text: Option<&str>| ColumnarValue::Scalar(ScalarValue::from(text));
        let args = vec![scalar(Some("abc")), scalar(Some(pattern))];
        let found = called(name, args, 5).unwrap();
        let ColumnarValue::Scalar(ScalarValue::Boolean(found)) = found else { panic!("{found}") };
        assert_eq!(found, Some(expected.value(1)), "{name} {pattern}");
        let nothing = called(name, vec![scalar(None), scalar(Some(pattern))], 5).unwrap();
        assert!(matches!(nothing, ColumnarValue::Scalar(value) if value.is_null()));
    }

    #[test]
    fn texts_of_one_batch_are_searched_no_further_when_the_query_is_to_stop() {
        let text = "ab".repeat(10_000);
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec![text.as_str(); 2_000]));
        for (name, pattern) in [
            ("text_matches", "(a|b)*a(a|b){60}c"),
            ("text_not_imatches", "(a|b)*a(a|b){60}c"),
            ("text_like", "%a____________________________________________c"),
            ("text_ilike", "%a____________________________________________c"),
        ] {
            for is_column in [false, true] {
                let scalar = ScalarValue::Utf8View(Some(pattern.to_owned()));
                let pattern = match is_column {
                    true => ColumnarValue::Array(scalar.to_array_of_size(texts.len()).unwrap()),
                    false => ColumnarValue::Scalar(scalar),
                };
                let meter = Meter::stopping_at(2);
                let _entered = meter.enter();
                let args = vec![ColumnarValue::Array(Arc::clone(&texts)), pattern];
                assert!(called(name, args, texts.len()).is_err(), "{name}");
                assert_eq!(meter.checks(), 2, "{name} goes on after it was to stop");
            }
        }
    }
}
