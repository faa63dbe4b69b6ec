//! The last step of a plan: which columns the result has, and in which zone its times are.

use arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit};

use crate::sql::dialect::HIDDEN;
use crate::sql::error::Error;
use crate::sql::options::{Extended, Extension, QueryOptions, TableName};
use crate::sql::output::zone::{Zone, is_utc};

/// Takes off what the result is only ordered by, puts further columns in front, and gives times
/// their zone.
pub(crate) fn shape(
    plan: LogicalPlan,
    scope: &QueryOptions,
    queried: Option<&TableName>,
) -> Result<LogicalPlan, Error> {
    let schema = plan.schema();
    let has_hidden = schema.fields().iter().any(|field| field.name() == HIDDEN);
    if !has_hidden && scope.extend.is_empty() && scope.zone.is_none() {
        return Ok(plan);
    }
    let tells_table = scope.extend.iter().any(|column| column.value == Extended::TableName);
    if tells_table && !scope.include.is_empty() {
        let reason =
            "a row may be of any of the tables, so \"extend\" cannot tell the table's name";
        return Err(Error::Include { reason: reason.into() });
    }
    let mut columns = extensions(&scope.extend, schema.fields().iter(), queried)?;
    for (qualifier, field) in schema.iter() {
        if field.name() == HIDDEN {
            continue;
        }
        let column = Expr::Column((qualifier, field).into());
        columns.push(match scope.zone.as_ref().filter(|_| has_no_zone(field)) {
            Some(zone) => in_zone(column, zone, field).alias(field.name()),
            None => column,
        });
    }
    LogicalPlanBuilder::from(plan)
        .project(columns)
        .and_then(LogicalPlanBuilder::build)
        .map_err(Error::Plan)
}

fn extensions<'a>(
    extend: &[Extension],
    fields: impl Iterator<Item = &'a FieldRef>,
    queried: Option<&TableName>,
) -> Result<Vec<Expr>, Error> {
    let mut names: Vec<String> = fields.map(|field| field.name().clone()).collect();
    let mut columns = Vec::new();
    for Extension { name, value } in extend {
        if names.contains(name) {
            return Err(Error::Extend { column: name.clone() });
        }
        names.push(name.clone());
        let text = match value {
            Extended::Text(text) => text.clone(),
            Extended::TableName => queried.map(|queried| queried.table.clone()),
        };
        columns.push(lit(ScalarValue::Utf8(text)).alias(name));
    }
    Ok(columns)
}

/// Whether it is a time for which no zone was chosen.
fn has_no_zone(field: &FieldRef) -> bool {
    matches!(field.data_type(), DataType::Timestamp(_, zone) if is_utc(zone.as_deref()))
}

/// The same moment in a zone, as fine as it is. Times without one are in UTC.
fn in_zone(column: Expr, zone: &Zone, field: &FieldRef) -> Expr {
    let unit = match field.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => TimeUnit::Nanosecond,
        _ => TimeUnit::Microsecond,
    };
    let moment = |zone: Zone| DataType::Timestamp(unit, Some(zone.name()));
    cast(cast(column, moment(Zone::utc())), moment(zone.clone()))
}
