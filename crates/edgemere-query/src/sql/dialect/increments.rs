//! `increments(hour, 6, timestamp)`: groups rows by spans of time, and orders them so.
//!
//! The beginning of a row's span is a column only when it is given a name: `increments(…) AS hour`.
//! To order by it all the same, the outermost query carries it as [`HIDDEN`], which is taken off
//! when the query is planned.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query, Select,
    SelectItem, SetExpr, Value, ValueWithSpan, VisitMut, VisitorMut,
};

use crate::sql::dialect::automatic::{self, TimeRange};
use crate::sql::dialect::build;
use crate::sql::dialect::calls::{Call, call};
use crate::sql::dialect::period::bare;
use crate::sql::dialect::units::{Span, span};
use crate::sql::error::Error;

/// The name of the column that results are ordered by and do not have.
pub(in crate::sql) const HIDDEN: &str = "__increments";

const USAGE: &str = "write it as increments(UNIT, COUNT, COLUMN) or increments(COLUMN[, POINTS])";

/// What the spans are: given, or found from the rows.
enum Form {
    Given { span: Span, column: Expr },
    Automatic { points: u32, column: Expr },
}

impl Form {
    fn of(call: &Call) -> Result<Self, Error> {
        let fail = || Error::Function {
            name: "increments",
            reason: USAGE.into(),
            position: call.position,
        };
        let points = |expr: &Expr| expr.to_string().parse::<u32>().ok().filter(|n| *n > 0);
        match call.arguments.as_slice() {
            [unit, count, column] => {
                let span = span("increments", &unit.to_string(), &count.to_string(), call.position);
                Ok(Self::Given { span: span?, column: column.clone() })
            }
            [column] => Ok(Self::Automatic { points: automatic::POINTS, column: column.clone() }),
            // EdgeLake takes the two in any order.
            [one, other] => match (points(one), points(other)) {
                (Some(points), None) => Ok(Self::Automatic { points, column: other.clone() }),
                (None, Some(points)) => Ok(Self::Automatic { points, column: one.clone() }),
                _ => Err(fail()),
            },
            _ => Err(fail()),
        }
    }
}

/// The query for the range of time that the automatic form needs to know, when the query has it.
pub(super) fn question(query: &Query) -> Result<Option<Query>, Error> {
    let SetExpr::Select(select) = query.body.as_ref() else { return Ok(None) };
    let Some((_, call)) = find(select) else { return Ok(None) };
    let Form::Automatic { column, .. } = Form::of(&call)? else { return Ok(None) };
    let bound = |name| SelectItem::UnnamedExpr(build::call(name, vec![column.clone()]));
    let bounds = Select {
        projection: vec![bound("min"), bound("max")],
        selection: select.selection.clone(),
        ..bare(select)
    };
    let body = SetExpr::Select(Box::new(bounds));
    Ok(Some(Query { with: query.with.clone(), ..build::query(body) }))
}

/// Replaces `increments(…)` in a query, and in all queries in it, by a grouping.
pub(super) fn expand(query: &mut Query, range: Option<TimeRange>) -> Result<(), Error> {
    match query.visit(&mut Queries { depth: 0, range }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Queries {
    depth: usize,
    range: Option<TimeRange>,
}

impl VisitorMut for Queries {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Box<Error>> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Box<Error>> {
        self.depth -= 1;
        match self.query(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

impl Queries {
    fn query(&self, query: &mut Query) -> Result<(), Error> {
        let SetExpr::Select(select) = query.body.as_mut() else {
            return self.parts(&mut query.body);
        };
        let range = self.range.filter(|_| self.depth == 0);
        let Some(grouped) = group(select, range)? else { return Ok(()) };
        let mut order = take_order(&mut query.order_by)?;
        // The order of rows inside a query means nothing but for its LIMIT, and rows that are
        // distinct are so by what they show.
        let has_limit = query.limit_clause.is_some() || query.fetch.is_some();
        let is_ordered = select.distinct.is_none() && (self.depth == 0 || has_limit);
        let by = match grouped.name {
            Some(name) => Expr::Identifier(name),
            None => {
                let by = match self.depth {
                    0 if is_ordered => carry(select, grouped.bucket),
                    _ => grouped.bucket,
                };
                order.iter_mut().for_each(|other| renumber(&mut other.expr, grouped.index, &by));
                by
            }
        };
        if is_ordered {
            let options = OrderByOptions::default();
            order.push(OrderByExpr { expr: by, options, with_fill: None });
        }
        if !order.is_empty() {
            let kind = OrderByKind::Expressions(order);
            query.order_by = Some(OrderBy { kind, interpolate: None });
        }
        Ok(())
    }

    /// The parts of a UNION: each has groups, and only the whole has an order.
    fn parts(&self, body: &mut SetExpr) -> Result<(), Error> {
        match body {
            SetExpr::Select(select) => group(select, None).map(|_| ()),
            SetExpr::SetOperation { left, right, .. } => {
                self.parts(left)?;
                self.parts(right)
            }
            _ => Ok(()),
        }
    }
}

/// A select that was grouped by spans of time.
struct Grouped {
    /// The beginning of a row's span.
    bucket: Expr,
    /// Where in the list after SELECT the call stood.
    index: usize,
    /// The name under which it is in the result.
    name: Option<Ident>,
}

fn group(select: &mut Select, range: Option<TimeRange>) -> Result<Option<Grouped>, Error> {
    let Some((index, call)) = find(select) else { return Ok(None) };
    let fail = |reason: &str| Error::Function {
        name: "increments",
        reason: reason.into(),
        position: call.position,
    };
    let (span, column) = match Form::of(&call)? {
        Form::Given { span, column } => (span, column),
        Form::Automatic { points, column } => {
            let range = range.ok_or_else(|| {
                fail(
                    "only the outermost query finds the unit by itself: here write \
                      increments(UNIT, COUNT, COLUMN)",
                )
            })?;
            (automatic::span(range, points), column)
        }
    };
    let GroupByExpr::Expressions(groups, _) = &mut select.group_by else {
        return Err(fail("name the groups beside it, in place of GROUP BY ALL"));
    };
    let (months, micros) = (build::number(span.months), build::number(span.micros));
    let bucket = build::call("time_bin", vec![column, months, micros]);
    let name = match select.projection.get_mut(index) {
        Some(SelectItem::ExprWithAlias { expr, alias }) => {
            *expr = bucket.clone();
            Some(alias.clone())
        }
        _ => {
            select.projection.remove(index);
            groups.iter_mut().for_each(|group| renumber(group, index, &bucket));
            groups.retain(|group| *group != bucket);
            None
        }
    };
    if select.projection.is_empty() {
        return Err(fail(
            "it needs aggregates beside it, as in increments(hour, 1, t), avg(value)",
        ));
    }
    groups.push(bucket.clone());
    Ok(Some(Grouped { bucket, index, name }))
}

/// Puts a column into a result under the name of what is taken off again.
fn carry(select: &mut Select, expr: Expr) -> Expr {
    let alias = Ident::with_quote('"', HIDDEN);
    select.projection.push(SelectItem::ExprWithAlias { expr, alias });
    build::name(HIDDEN)
}

fn find(select: &Select) -> Option<(usize, Call)> {
    select.projection.iter().enumerate().find_map(|(index, item)| {
        let expr = match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => expr,
            _ => return None,
        };
        Some((index, call(expr, "increments")?))
    })
}

/// `GROUP BY 2` and `ORDER BY 2` count what is written, so they move when the call is taken out.
fn renumber(expr: &mut Expr, index: usize, bucket: &Expr) {
    let Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) = &*expr else { return };
    let Ok(number) = number.parse::<usize>() else { return };
    match number.cmp(&(index + 1)) {
        std::cmp::Ordering::Less => {}
        std::cmp::Ordering::Equal => *expr = bucket.clone(),
        std::cmp::Ordering::Greater => *expr = build::number(number - 1),
    }
}

fn take_order(order: &mut Option<OrderBy>) -> Result<Vec<OrderByExpr>, Error> {
    match order.take().map(|order| order.kind) {
        None => Ok(Vec::new()),
        Some(OrderByKind::Expressions(expressions)) => Ok(expressions),
        Some(OrderByKind::All(_)) => Err(Error::Function {
            name: "increments",
            reason: "name what to order by, in place of ORDER BY ALL".into(),
            position: None,
        }),
    }
}
