//! `->` and `->>`, which are calls of `json_get` and `json_get_text`.

use std::sync::Arc;

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::sql::functions::json::get;
use crate::sql::functions::json::get_text;

/// Makes calls of the operators.
#[derive(Debug)]
pub(in crate::sql) struct Operators;

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        _: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let function = match expr.op {
            BinaryOperator::Arrow => get(),
            BinaryOperator::LongArrow => get_text(),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        // `a -> 'b' -> 'c'` is one way into one text.
        let mut arguments = match expr.left {
            Expr::ScalarFunction(call) if call.func.name() == "json_get" => call.args,
            other => vec![other],
        };
        arguments.push(expr.right);
        let func = Arc::new(function);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction { func, args: arguments })))
    }
}
