//! `range(value)`: the difference between the greatest and the least.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, Ident, ObjectName, Query, VisitMut, VisitorMut,
};

use crate::sql::dialect::build;
use crate::sql::dialect::calls::call;

/// Replaces `range(x)` by `(max(x) - min(x))`. With more arguments it is SQL's own.
pub(super) fn expand(query: &mut Query) {
    let ControlFlow::Continue(()) = query.visit(&mut Replace);
}

struct Replace;

impl VisitorMut for Replace {
    type Break = std::convert::Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let is_range = call(expr, "range").is_some_and(|call| call.arguments.len() == 1);
        if let (true, Expr::Function(function)) = (is_range, &*expr) {
            let greatest = renamed(function, "max");
            let least = renamed(function, "min");
            *expr = build::both(greatest, BinaryOperator::Minus, least);
        }
        ControlFlow::Continue(())
    }
}

/// The same call, with its FILTER and its OVER, of another function.
fn renamed(function: &Function, name: &str) -> Expr {
    let name = ObjectName::from(vec![Ident::new(name)]);
    Expr::Function(Function { name, ..function.clone() })
}
