//! A function with bounds: what it would make is estimated before it is called, and what takes long is
//! evaluated in blocks of rows, between which the query may stop. All else is the function's own.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::AsArray;
use arrow::compute::{cast, concat};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExpressionPlacement, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDFImpl, Signature, StructFieldMapping,
};

use crate::sql::bounds::digits;
use crate::sql::bounds::estimate::Arguments;
use crate::sql::bounds::growth::{Cost, Declared, Growth};
use crate::sql::bounds::meter;
use crate::sql::bounds::pattern::{Pattern, Syntax};
use crate::sql::bounds::registry;

/// How long a text may be, in bytes, that is compared with another letter by letter.
const COMPARED_BYTES_MAX: usize = 10_000;

/// How long a text may be, in bytes, in which a pattern is looked for.
const SEARCHED_BYTES_MAX: usize = 1 << 20;

/// How long a pattern may be, in bytes.
const PATTERN_BYTES_MAX: usize = 4 << 10;

/// How long one search may take that cannot be stopped: the bytes of a text times the states of the
/// pattern.
const SEARCH_COST_MAX: usize = 5 * BLOCK_COST;

/// The same when a pattern is looked for again and again in one text, each time up to its end.
const SEARCHES_COST_MAX: usize = 500 * BLOCK_COST;

/// How much is done before the query is asked whether it is to stop: letters compared.
pub(super) const BLOCK_COST: usize = 20_000_000;

/// How many bytes a value of a fixed size may have.
const FIXED_SIZE_MAX: i32 = 16 << 10;

/// A function with bounds.
#[derive(Debug)]
pub(super) struct Bounded {
    inner: Arc<dyn ScalarUDFImpl>,
    declared: Declared,
}

impl Bounded {
    pub(super) fn new(inner: &Arc<dyn ScalarUDFImpl>, declared: Declared) -> Self {
        Self { inner: Arc::clone(inner), declared }
    }

    /// How many times as much as its arguments it may make.
    pub(super) fn weight(&self) -> usize {
        match self.declared.growth {
            Growth::Linear(times) => times,
            Growth::Fixed | Growth::Estimated(_) | Growth::Cast => 1,
        }
    }

    /// Whether it can make much of little, or take long.
    pub(super) fn is_explosive(&self) -> bool {
        matches!(self.declared.growth, Growth::Estimated(_))
            || !matches!(self.declared.cost, Cost::Little | Cost::Own)
    }

    /// What a call would make, in bytes.
    fn bytes(&self, call: &ScalarFunctionArgs) -> usize {
        let arguments = Arguments::new(&call.args, call.number_rows);
        match self.declared.growth {
            Growth::Fixed => 0,
            Growth::Linear(times) => arguments.bytes().saturating_mul(times),
            Growth::Estimated(bytes) => bytes(&arguments),
            Growth::Cast => {
                let each = fixed_size(call.return_type()).saturating_add(40);
                arguments.bytes().saturating_add(each.saturating_mul(arguments.rows))
            }
        }
    }

    /// Evaluates a call in blocks of rows that do not take long.
    fn in_blocks(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let costs = self.costs(&call)?;
        let total = costs.iter().fold(0, |sum: usize, cost| sum.saturating_add(*cost));
        if total <= BLOCK_COST || costs.len() < 2 {
            return self.inner.invoke_with_args(call);
        }
        let (mut from, mut parts) = (0, Vec::new());
        while from < costs.len() {
            meter::check_stop()?;
            let mut cost = 0_usize;
            let rows = costs.iter().skip(from).take_while(|each| {
                let fits = cost == 0 || cost.saturating_add(**each) <= BLOCK_COST;
                cost = cost.saturating_add(**each).max(1);
                fits
            });
            let rows = rows.count().max(1);
            let block = block(&call, from, rows);
            parts.push(self.inner.invoke_with_args(block)?.to_array(rows)?);
            from += rows;
        }
        let parts: Vec<_> = parts.iter().map(AsRef::as_ref).collect();
        Ok(ColumnarValue::Array(concat(&parts)?))
    }

    /// How long each row takes, or that it would take too long.
    fn costs(&self, call: &ScalarFunctionArgs) -> Result<Vec<usize>> {
        let is_constant = call.args.iter().all(|one| matches!(one, ColumnarValue::Scalar(_)));
        let arguments = Arguments::new(&call.args, if is_constant { 1 } else { call.number_rows });
        let (first, second) = (arguments.sizes_of(0), arguments.sizes_of(1));
        let (longest, pattern) = (first.iter().max(), second.iter().max());
        let (longest, pattern) =
            (longest.copied().unwrap_or_default(), pattern.copied().unwrap_or_default());
        match self.declared.cost {
            Cost::Texts if longest.max(pattern) > COMPARED_BYTES_MAX => {
                return exec_err!(
                    "{} compares no texts of more than {COMPARED_BYTES_MAX} bytes",
                    self.name()
                );
            }
            Cost::Pattern if longest > SEARCHED_BYTES_MAX => {
                return exec_err!(
                    "{} searches no texts of more than {SEARCHED_BYTES_MAX} bytes",
                    self.name()
                );
            }
            Cost::Pattern if pattern > PATTERN_BYTES_MAX => {
                return exec_err!(
                    "{} takes no patterns of more than {PATTERN_BYTES_MAX} bytes",
                    self.name()
                );
            }
            _ => {}
        }
        if self.declared.cost == Cost::Pattern {
            return self.search_costs(call, &first);
        }
        let cost = |(one, two): (usize, usize)| one.max(1).saturating_mul(two.max(1));
        Ok(first.into_iter().zip(second).map(cost).collect())
    }

    /// How long each row takes in which a pattern is looked for.
    fn search_costs(&self, call: &ScalarFunctionArgs, sizes: &[usize]) -> Result<Vec<usize>> {
        let again = match self.name() {
            "regexp_count" | "regexp_instr" => true,
            "regexp_replace" => call.args.len() > 3,
            _ => false,
        };
        let cost = |pattern: Option<&Pattern>, size: usize| {
            // What is no pattern is an error of the function itself.
            let cost = pattern.map_or(size, |pattern| pattern.cost(size));
            let all = if again { cost.saturating_mul(size) } else { 0 };
            match cost > SEARCH_COST_MAX || all > SEARCHES_COST_MAX {
                true => exec_err!(
                    "{} does not look for this pattern in a text of {size} bytes: \
                     it could take minutes; a shorter text or a simpler pattern does not",
                    self.name()
                ),
                // What is looked for again and again counts as often: such rows are blocks of their own.
                false => Ok(cost.max(all).max(1)),
            }
        };
        let ready = |text: &str| Pattern::of(text, Syntax::Regex, false).ok();
        match call.args.get(1) {
            Some(ColumnarValue::Array(patterns)) => {
                // Each is made ready for its row.
                let patterns = cast(patterns, &DataType::Utf8View)?;
                let rows = patterns.as_string_view_opt().into_iter().flatten().zip(sizes);
                let mut costs = Vec::with_capacity(sizes.len());
                for (pattern, size) in rows {
                    meter::check_stop()?;
                    let pattern = pattern.and_then(ready);
                    costs.push(cost(pattern.as_deref(), *size)?.max(BLOCK_COST / 16));
                }
                Ok(costs)
            }
            Some(ColumnarValue::Scalar(pattern)) => {
                let pattern = pattern.try_as_str().flatten().and_then(ready);
                sizes.iter().map(|size| cost(pattern.as_deref(), *size)).collect()
            }
            None => Ok(sizes.to_vec()),
        }
    }
}

/// Some rows of a call.
fn block(call: &ScalarFunctionArgs, from: usize, rows: usize) -> ScalarFunctionArgs {
    let args = call.args.iter().map(|argument| match argument {
        ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(from, rows)),
        scalar => scalar.clone(),
    });
    ScalarFunctionArgs {
        args: args.collect(),
        arg_fields: call.arg_fields.clone(),
        number_rows: rows,
        return_field: Arc::clone(&call.return_field),
        config_options: Arc::clone(&call.config_options),
    }
}

/// The bytes that every value of a type has, whatever it is.
fn fixed_size(data_type: &DataType) -> usize {
    let size = |count: i32| usize::try_from(count).unwrap_or_default();
    match data_type {
        DataType::FixedSizeBinary(width) => size(*width),
        DataType::FixedSizeList(field, count) => {
            size(*count).saturating_mul(fixed_size(field.data_type()).max(1))
        }
        DataType::Struct(fields) => {
            fields.iter().fold(0, |sum, field| fixed_size(field.data_type()).saturating_add(sum))
        }
        other => other.primitive_width().unwrap_or(8),
    }
}

/// Refuses a type whose every value would be large.
pub(super) fn check_type(data_type: &DataType) -> Result<()> {
    match fixed_size(data_type) > usize::try_from(FIXED_SIZE_MAX).unwrap_or(usize::MAX) {
        true => plan_err!("a value of a fixed size may have {FIXED_SIZE_MAX} bytes, and no more"),
        false => Ok(()),
    }
}

impl PartialEq for Bounded {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Bounded {}

impl Hash for Bounded {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl ScalarUDFImpl for Bounded {
    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        meter::charge(self.name(), self.bytes(&call))?;
        match self.declared.cost {
            Cost::Little | Cost::Own => self.inner.invoke_with_args(call),
            _ => self.in_blocks(call),
        }
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        Ok(match self.inner.simplify(args, info)? {
            ExprSimplifyResult::Simplified(simpler) => {
                ExprSimplifyResult::Simplified(registry::bounded(simpler, info.schema())?.data)
            }
            same => same,
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        if let Growth::Cast = self.declared.growth {
            digits::check_type_text(args.scalar_arguments)?;
        }
        let field = self.inner.return_field_from_args(args)?;
        check_type(field.data_type())?;
        Ok(field)
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, found: &[DataType]) -> Result<DataType> {
        self.inner.return_type(found)
    }

    fn coerce_types(&self, found: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(found)
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn preimage(
        &self,
        args: &[Expr],
        literal: &Expr,
        info: &SimplifyContext,
    ) -> Result<PreimageResult> {
        self.inner.preimage(args, literal, info)
    }

    fn conditional_arguments<'a>(
        &self,
        args: &'a [Expr],
    ) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        self.inner.evaluate_bounds(inputs)
    }

    fn propagate_constraints(
        &self,
        interval: &Interval,
        inputs: &[&Interval],
    ) -> Result<Option<Vec<Interval>>> {
        self.inner.propagate_constraints(interval, inputs)
    }

    fn struct_field_mapping(&self, literals: &[Option<ScalarValue>]) -> Option<StructFieldMapping> {
        self.inner.struct_field_mapping(literals)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.preserves_lex_ordering(inputs)
    }

    fn strictly_order_preserving(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.strictly_order_preserving(inputs)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.inner.placement(args)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::StringArray;
    use arrow::datatypes::Field;
    use datafusion::config::ConfigOptions;
    use datafusion::execution::SessionStateDefaults;

    use super::*;
    use crate::sql::bounds::growth::declared;
    use crate::sql::bounds::meter::Meter;

    fn called(name: &str, texts: Vec<String>, others: &[&str]) -> Result<ColumnarValue> {
        let functions = SessionStateDefaults::default_scalar_functions();
        let function = functions.iter().find(|function| function.name() == name).unwrap();
        let bounded = Bounded::new(function.inner(), declared(name).unwrap());
        let rows = texts.len();
        let texts = ColumnarValue::Array(Arc::new(StringArray::from(texts)));
        let others = others.iter().map(|text| ColumnarValue::Scalar(ScalarValue::from(*text)));
        let args: Vec<_> = std::iter::once(texts).chain(others).collect();
        let field = |kind| Arc::new(Field::new("a", kind, true));
        let types: Vec<_> = args.iter().map(ColumnarValue::data_type).collect();
        bounded.invoke_with_args(ScalarFunctionArgs {
            arg_fields: types.iter().cloned().map(field).collect(),
            args,
            number_rows: rows,
            return_field: field(bounded.return_type(&types).unwrap()),
            config_options: Arc::new(ConfigOptions::default()),
        })
    }

    #[test]
    fn a_search_that_is_repeated_in_a_long_text_stops_between_the_rows() {
        let texts = vec!["b".repeat(20_000); 8];
        for (name, others) in
            [("regexp_count", &["a.*c"][..]), ("regexp_replace", &["a.*c", "x", "g"][..])]
        {
            let meter = Meter::stopping_at(usize::MAX);
            let entered = meter.enter();
            called(name, texts.clone(), others).unwrap();
            assert!(meter.checks() > texts.len(), "{name}: {}", meter.checks());
            drop(entered);
            let meter = Meter::stopping_at(3);
            let _entered = meter.enter();
            assert!(called(name, texts.clone(), others).is_err(), "{name} goes on");
        }
    }
}
