//! Arithmetic that is exact or fails: no number that is out of the range of its type wraps around.
//!
//! DataFusion adds, subtracts, multiplies and negates integers modulo 2^64, and so does its `sum`. Every
//! plan gets other operators and aggregates in their place before it is optimized, while constants are
//! still expressions:
//!
//! 1. `operators` has functions in the place of `+`, `-`, `*`, `/` and `%` where their result may be out
//!    of range. They are functions because a plan that is sent to an operator keeps functions, by their
//!    names, and loses the flag of DataFusion's own operators that has overflows fail.
//! 2. `sums` and `groups` have `sum` and `avg`, which add up in 128 bits (`totals`), also between operators, so that
//!    a result depends neither on the order of rows nor on where they are kept.

mod groups;
mod operators;
mod sums;
mod totals;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan, WindowFunctionDefinition};

pub(super) use self::operators::{all, is_one};
pub(super) use self::sums::all as aggregates;
use crate::sql::bounds;
use crate::sql::output::type_names::sql_name;

/// A plan whose arithmetic is exact or fails, and whose decimals are parsed of short texts. The types of its expressions are those that they run with.
pub(super) fn checked_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.transform_up_with_subqueries(|step| {
        let names = NamePreserver::new(&step);
        let schema = input_schema(&step)?;
        step.map_expressions(|expression| {
            let name = names.save(&expression);
            let checked = expression.transform_up(|part| checked(part, &schema))?;
            Ok(checked.update_data(|checked| name.restore(checked)))
        })
    })
}

/// The columns that the expressions of a step are about.
fn input_schema(step: &LogicalPlan) -> Result<DFSchema> {
    let mut schema = merge_schema(&step.inputs());
    if let LogicalPlan::TableScan(scan) = step {
        let table = scan.table_name.clone();
        schema.merge(&DFSchema::try_from_qualified_schema(table, &scan.source.schema())?);
    }
    Ok(schema)
}

fn checked(expression: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expression {
        Expr::AggregateFunction(mut call) => match sums::instead_of(&call.func) {
            Some(function) => {
                call.func = function;
                Ok(Transformed::yes(Expr::AggregateFunction(call)))
            }
            None => Ok(Transformed::no(Expr::AggregateFunction(call))),
        },
        Expr::WindowFunction(mut call) => {
            let function = match &call.fun {
                WindowFunctionDefinition::AggregateUDF(function) => sums::instead_of(function),
                WindowFunctionDefinition::WindowUDF(_) => None,
            };
            Ok(match function {
                Some(function) => {
                    call.fun = WindowFunctionDefinition::AggregateUDF(function);
                    Transformed::yes(Expr::WindowFunction(call))
                }
                None => Transformed::no(Expr::WindowFunction(call)),
            })
        }
        other => operators::checked(other, schema)?
            .transform_data(|other| bounds::short_texts(other, schema)),
    }
}

/// A result that its type cannot hold: what was computed, and the way to a wider type.
fn out_of_range(data_type: &DataType, computed: &str) -> DataFusionError {
    let advice = match data_type {
        DataType::Int64 | DataType::UInt64 => "cast one side to decimal(38,0) or double precision",
        other if other.is_integer() => "cast one side to bigint",
        DataType::Duration(_) | DataType::Interval(_) => "use shorter intervals, or fewer",
        _ => "cast one side to double precision",
    };
    let name = sql_name(data_type);
    DataFusionError::Execution(format!("{name} out of range: {computed}; {advice}"))
}

/// The same of a sum.
fn sum_out_of_range(data_type: &DataType) -> DataFusionError {
    let name = sql_name(data_type);
    let advice = match data_type {
        other if other.is_integer() => "write sum(cast(x as decimal(38,0)))",
        DataType::Duration(_) | DataType::Interval(_) => "sum the seconds: extract(epoch from x)",
        _ => "write sum(cast(x as double precision))",
    };
    DataFusionError::Execution(format!("{name} out of range: a sum; {advice}"))
}
