//! Pieces of SQL as nodes. EdgeLake's functions are replaced by these and never by text, so that no
//! value can become anything else than a value.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, Interval, ObjectName, Query, SetExpr, Value,
};

use crate::sql::dialect::units::Span;

/// A call of a function.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let list = FunctionArgumentList {
        duplicate_treatment: None,
        args: arguments.into_iter().map(argument).collect(),
        clauses: Vec::new(),
    };
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// A text.
pub(super) fn text(text: impl Into<String>) -> Expr {
    Expr::value(Value::SingleQuotedString(text.into()))
}

/// A whole number that is not negative.
pub(super) fn number(number: impl ToString) -> Expr {
    Expr::value(Value::Number(number.to_string(), false))
}

/// A name, taken as it is written.
pub(super) fn name(name: &str) -> Expr {
    Expr::Identifier(Ident::with_quote('"', name))
}

/// `CAST(expr AS data_type)`.
pub(super) fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, array: false, format: None }
}

/// `(left op right)`.
pub(super) fn both(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let expr = Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) };
    Expr::Nested(Box::new(expr))
}

/// An `INTERVAL`.
pub(super) fn interval(span: Span) -> Expr {
    Expr::Interval(Interval {
        value: Box::new(text(span.interval())),
        leading_field: None,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}

/// A query that is only a body.
pub(super) fn query(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}
