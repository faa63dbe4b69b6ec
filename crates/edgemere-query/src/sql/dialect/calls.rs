//! Calls of EdgeLake's functions in a statement: finding them, and telling of those that stand where
//! they mean nothing.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart, Query, Visit,
    Visitor,
};

use crate::sql::error::Error;

/// A call: what it is given, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) arguments: Vec<Expr>,
    pub(super) position: Option<(usize, usize)>,
}

/// The call that an expression is, when it is one of that function.
pub(super) fn call(expr: &Expr, name: &str) -> Option<Call> {
    let Expr::Function(function @ Function { args, .. }) = expr else { return None };
    let FunctionArguments::List(list) = args else { return None };
    let position = named(function, name)?;
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    let arguments = list.args.iter().map(argument).collect::<Option<Vec<_>>>()?;
    Some(Call { arguments, position })
}

/// The place of a function's name, when it has that name.
fn named(function: &Function, name: &str) -> Option<Option<(usize, usize)>> {
    let [ObjectNamePart::Identifier(called)] = function.name.0.as_slice() else { return None };
    called.value.eq_ignore_ascii_case(name).then(|| position(called.span.start))
}

/// A place in the SQL; none for what was not written but made.
pub(super) fn position(
    start: datafusion::sql::sqlparser::tokenizer::Location,
) -> Option<(usize, usize)> {
    let place = (usize::try_from(start.line).ok()?, usize::try_from(start.column).ok()?);
    (place != (0, 0)).then_some(place)
}

/// Fails when a call is left that nothing was made of.
pub(super) fn check_none_left(query: &Query) -> Result<(), Error> {
    match query.visit(&mut Leftover) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Leftover;

impl Visitor for Leftover {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Box<Error>> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        let places = [
            ("increments", "it stands once, by itself, in the list after SELECT"),
            ("period", "it stands in the conditions after WHERE"),
        ];
        for (name, place) in places {
            if let Some(position) = named(function, name) {
                let error = Error::Function { name, reason: place.into(), position };
                return ControlFlow::Break(Box::new(error));
            }
        }
        ControlFlow::Continue(())
    }
}
