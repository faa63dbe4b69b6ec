//! The functions that queries have: those that are declared, with bounds where they can grow.
//!
//! A plan does not get all of its functions by name: DataFusion's own planners and rules put them in.
//! So every plan is gone through, and has its functions exchanged for those with bounds.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, plan_err};
use datafusion::execution::SessionStateDefaults;
use datafusion::logical_expr::expr::{AggregateFunction, ScalarFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    AggregateUDF, Expr, LogicalPlan, ScalarUDF, WindowFunctionDefinition,
};
use datafusion::prelude::SessionContext;

use crate::sql::bounds::digits;
use crate::sql::bounds::function::{Bounded, check_type};
use crate::sql::bounds::growth::declared;
use crate::sql::bounds::matching;
use crate::sql::bounds::windows;
use crate::sql::exact;

/// How many values an estimate of percentiles may go by.
const CENTROIDS_MAX: u64 = 10_000;

/// The functions with bounds and our own, by all of their names.
fn functions() -> &'static HashMap<String, Arc<ScalarUDF>> {
    static FUNCTIONS: OnceLock<HashMap<String, Arc<ScalarUDF>>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let known = SessionStateDefaults::default_scalar_functions();
        let known =
            known.iter().filter_map(with_bounds).flat_map(|one| named(&one)).collect::<Vec<_>>();
        // Those that are our own take the place of others of the same name.
        let own = own().into_iter().map(|one| with_bounds(&one).unwrap_or(one));
        known.into_iter().chain(own.flat_map(|one| named(&one))).collect()
    })
}

/// The functions that are not DataFusion's.
fn own() -> Vec<Arc<ScalarUDF>> {
    let own = crate::sql::functions::all().into_iter().chain(matching::all());
    own.chain(exact::all()).chain(digits::all()).collect()
}

/// A function with bounds; none when it does not need them.
fn with_bounds(function: &Arc<ScalarUDF>) -> Option<Arc<ScalarUDF>> {
    let known = declared(function.name()).filter(|known| known.is_bounded())?;
    Some(Arc::new(ScalarUDF::new_from_impl(Bounded::new(function.inner(), known))))
}

/// A function under all of its names.
fn named(function: &Arc<ScalarUDF>) -> Vec<(String, Arc<ScalarUDF>)> {
    let names =
        std::iter::once(function.name()).chain(function.aliases().iter().map(String::as_str));
    names.map(|name| (name.to_owned(), Arc::clone(function))).collect()
}

/// Gives a session the functions of queries, and takes all others away.
pub(in crate::sql) fn install(context: &SessionContext) {
    for function in own() {
        context.register_udf(ScalarUDF::clone(&function));
    }
    let registered: Vec<_> = context.state().scalar_functions().values().cloned().collect();
    for function in registered {
        match (declared(function.name()), functions().get(function.name())) {
            (None, _) => {
                context.deregister_udf(function.name());
            }
            (Some(_), Some(bounded)) => context.register_udf(ScalarUDF::clone(bounded)),
            (Some(_), None) => {}
        }
    }
    crate::sql::functions::install(context);
    for aggregate in exact::aggregates() {
        context.register_udaf(AggregateUDF::clone(aggregate));
    }
}

/// A plan whose functions have bounds, to be run.
pub(in crate::sql) fn bounded_plan(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up_with_subqueries(|step| {
        let names = NamePreserver::new(&step);
        // What rules out files is only looked at: DataFusion understands its own operators.
        let is_scan = matches!(step, LogicalPlan::TableScan(_));
        let matches = if is_scan { Matches::None } else { Matches::All };
        step.map_expressions(|expression| {
            let name = names.save(&expression);
            let bounded = exchanged_in(expression, matches)?;
            Ok(bounded.update_data(|bounded| name.restore(bounded)))
        })
    })?;
    Ok(plan.data)
}

/// A plan in which patterns are looked for in constants by functions with bounds: it is about to be
/// optimized, and what is constant is computed then.
pub(in crate::sql) fn bounded_constants(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|step| {
        let names = NamePreserver::new(&step);
        step.map_expressions(|expression| {
            let mut has_matches = false;
            expression.apply(|part| {
                has_matches |= is_constant_match(part);
                Ok(TreeNodeRecursion::Continue)
            })?;
            if !has_matches {
                return Ok(Transformed::no(expression));
            }
            let name = names.save(&expression);
            let bounded =
                expression.transform_up(|part| exchanged_match(part, Matches::Constant))?;
            Ok(bounded.update_data(|bounded| name.restore(bounded)))
        })
    })
}

/// Which operators that look for patterns are exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matches {
    None,
    /// Those that do so in a constant.
    Constant,
    All,
}

fn is_constant_match(expression: &Expr) -> bool {
    matching::call(expression).is_some_and(|(_, [text, _])| !text.any_column_refs())
}

fn exchanged_match(expression: Expr, matches: Matches) -> Result<Transformed<Expr>> {
    let is_meant = match matches {
        Matches::None => false,
        Matches::Constant => is_constant_match(&expression),
        Matches::All => true,
    };
    let Some((name, [text, pattern])) = matching::call(&expression).filter(|_| is_meant) else {
        return Ok(Transformed::no(expression));
    };
    let Some(function) = functions().get(name) else { return Ok(Transformed::no(expression)) };
    Ok(Transformed::yes(function.call(vec![text.clone(), pattern.clone()])))
}

/// An expression whose functions have bounds, to be optimized further.
pub(super) fn bounded(expression: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    exchanged_in(expression, Matches::Constant)?.transform_data(|expression| {
        expression.transform_up(|part| digits::short_texts(part, schema))
    })
}

fn exchanged_in(expression: Expr, matches: Matches) -> Result<Transformed<Expr>> {
    expression.transform_up(|part| match part {
        Expr::ScalarFunction(call) => {
            exchanged(call)?.transform_data(|call| exchanged_match(call, matches))
        }
        Expr::AggregateFunction(call) => {
            check_aggregate(&call)?;
            Ok(Transformed::no(Expr::AggregateFunction(call)))
        }
        Expr::WindowFunction(mut call) => {
            check_window(&call)?;
            match &call.fun {
                WindowFunctionDefinition::AggregateUDF(function) if matches == Matches::All => {
                    let function = windows::stoppable(function);
                    call.fun = WindowFunctionDefinition::AggregateUDF(function);
                    Ok(Transformed::yes(Expr::WindowFunction(call)))
                }
                _ => Ok(Transformed::no(Expr::WindowFunction(call))),
            }
        }
        Expr::Cast(cast) => {
            check_type(cast.field.data_type())?;
            Ok(Transformed::no(Expr::Cast(cast)))
        }
        Expr::TryCast(cast) => {
            check_type(cast.field.data_type())?;
            Ok(Transformed::no(Expr::TryCast(cast)))
        }
        other => exchanged_match(other, matches),
    })
}

fn exchanged(mut call: ScalarFunction) -> Result<Transformed<Expr>> {
    if declared(call.func.name()).is_none() {
        return plan_err!("there is no function \"{}\"", call.func.name());
    }
    match functions().get(call.func.name()) {
        Some(bounded) if !call.func.inner().is::<Bounded>() => {
            call.func = Arc::clone(bounded);
            Ok(Transformed::yes(Expr::ScalarFunction(call)))
        }
        _ => Ok(Transformed::no(Expr::ScalarFunction(call))),
    }
}

/// What keeps as many values as a number says has a limit of them.
fn check_aggregate(call: &AggregateFunction) -> Result<()> {
    if !call.func.name().starts_with("approx_percentile") {
        return Ok(());
    }
    let is_large = |argument: &Expr| {
        let Expr::Literal(number, _) = argument else { return false };
        number.data_type().is_integer()
            && number.cast_to(&arrow::datatypes::DataType::UInt64).is_ok_and(
                |number| matches!(number, ScalarValue::UInt64(Some(n)) if n > CENTROIDS_MAX),
            )
    };
    match call.params.args.iter().any(is_large) {
        true => plan_err!("{} goes by {CENTROIDS_MAX} values at most", call.func.name()),
        false => Ok(()),
    }
}

/// A list of all rows, in every row, would be as large as the square of the rows.
fn check_window(call: &WindowFunction) -> Result<()> {
    digits::check_frame(&call.params.window_frame)?;
    match &call.fun {
        WindowFunctionDefinition::AggregateUDF(function)
            if matches!(function.name(), "array_agg" | "string_agg") =>
        {
            plan_err!("{} with OVER is not supported: join the groups instead", function.name())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of DataFusion that queries do not have: they make as much as a number says, tell of
    /// files, or are for types that no table has.
    const NOT_OFFERED: [&str; 16] = [
        "array_repeat",
        "array_resize",
        "arrow_field",
        "arrow_metadata",
        "cast_to_type",
        "file_row_index",
        "generate_series",
        "input_file_name",
        "range",
        "repeat",
        "try_cast_to_type",
        "union_extract",
        "union_tag",
        "with_metadata",
        "gen_series",
        "array_transform",
    ];

    #[test]
    fn every_function_of_a_session_is_declared_and_has_bounds_if_it_can_grow() {
        let context = SessionContext::new();
        install(&context);
        let state = context.state();
        let mut bounded = 0;
        for (name, function) in state.scalar_functions() {
            let known = declared(function.name()).unwrap_or_else(|| panic!("{name} is offered"));
            assert_eq!(function.inner().is::<Bounded>(), known.is_bounded(), "{name}");
            bounded += usize::from(known.is_bounded());
        }
        assert!(bounded > 60, "{bounded}");
    }

    #[test]
    fn what_is_not_offered_is_known_not_to_be() {
        let functions = SessionStateDefaults::default_scalar_functions();
        for function in functions.iter().chain(&own()) {
            let name = function.name();
            let is_offered = declared(name).is_some();
            assert_eq!(is_offered, !NOT_OFFERED.contains(&name), "decide about \"{name}\"");
        }
    }
}
