//! `include = (db.table, …)`: the queried table, for this query, holds the rows of further tables.
//!
//! Columns are matched by name: a column that an included table has not is NULL in its rows, and one
//! that the queried table has not is left out. Numbers meet in the wider of their types; columns of
//! other types than each other's are an error.

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::catalog::view::ViewTable;
use datafusion::common::{Column, ScalarValue};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast, lit};
use datafusion::sql::sqlparser::ast::{ObjectName, Query, SetExpr, TableFactor};

use crate::sql::error::Error;
use crate::sql::options::TableName;
use crate::sql::plan::catalog::Kind;
use crate::sql::plan::validate::unknown_table;
use crate::sql::plan::views::NameResolver;
use crate::sql::plan::visible::Internal;
use edgemere_storage::schema::told;

/// The table that a query is about, which is the first that it names: its database, where it says
/// so, and its name.
pub(crate) fn queried(query: &Query) -> Option<TableName> {
    first_table(&query.body).and_then(table_name)
}

fn first_table(body: &SetExpr) -> Option<&ObjectName> {
    match body {
        SetExpr::Select(select) => match &select.from.first()?.relation {
            TableFactor::Table { name, args: None, .. } => Some(name),
            TableFactor::Derived { subquery, .. } => first_table(&subquery.body),
            _ => None,
        },
        SetExpr::Query(query) => first_table(&query.body),
        SetExpr::SetOperation { left, .. } => first_table(left),
        _ => None,
    }
}

pub(crate) fn table_name(name: &ObjectName) -> Option<TableName> {
    let parts = name.0.iter().map(|part| {
        let ident = part.as_ident()?;
        Some(if ident.quote_style.is_some() {
            ident.value.clone()
        } else {
            ident.value.to_lowercase()
        })
    });
    let parts = parts.collect::<Option<Vec<_>>>()?;
    match parts.as_slice() {
        [table] => Some(TableName { dbms: None, table: table.clone() }),
        [dbms, table] => Some(TableName { dbms: Some(dbms.clone()), table: table.clone() }),
        _ => None,
    }
}

/// Puts the union of the queried table and the included ones in the queried table's place.
pub(crate) async fn apply(
    names: NameResolver<'_>,
    internal: Internal,
    queried: Option<TableName>,
    included: &[TableName],
) -> Result<(), Error> {
    if included.is_empty() {
        return Ok(());
    }
    let queried = queried.ok_or_else(|| fail("the query is not about a table"))?;
    let mut tables = Vec::with_capacity(included.len() + 1);
    for name in std::iter::once(&queried).chain(included) {
        tables.push(Table { name: name.table.clone(), source: find(names, internal, name).await? });
    }
    let view = ViewTable::new(union(&tables)?, None);
    let dbms = queried.dbms.as_deref().unwrap_or(names.dbms);
    let kind = match names.session.tables.kind(dbms, &queried.table) {
        Some(Kind::View) => Kind::View,
        _ => Kind::Extended,
    };
    names.session.tables.replace(dbms, &queried.table, Arc::new(view), kind);
    Ok(())
}

async fn find(
    names: NameResolver<'_>,
    internal: Internal,
    name: &TableName,
) -> Result<Arc<dyn TableProvider>, Error> {
    let dbms = name.dbms.as_deref().unwrap_or(names.dbms);
    names.find(dbms, &name.table).await?;
    let source = names.session.tables.with_internal(internal).planned(dbms, &name.table);
    source.ok_or_else(|| unknown_table(names.known(), dbms, &name.table))
}

struct Table {
    name: String,
    source: Arc<dyn TableProvider>,
}

impl Table {
    fn schema(&self) -> SchemaRef {
        self.source.schema()
    }
}

fn union(tables: &[Table]) -> Result<LogicalPlan, Error> {
    let Some((queried, _)) = tables.split_first() else {
        return Err(fail("there is no table"));
    };
    let fields = queried.schema();
    let columns = fields
        .fields()
        .iter()
        .map(|field| Ok((field.name().clone(), common_type(tables, field.name())?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let mut parts = tables.iter().map(|table| part(table, &columns));
    let first = parts.next().unwrap_or_else(|| Err(fail("there is no table")))?;
    parts.try_fold(first, |whole, part| {
        LogicalPlanBuilder::from(whole)
            .union(part?)
            .and_then(LogicalPlanBuilder::build)
            .map_err(Error::Plan)
    })
}

/// The rows of one of the tables, with these columns.
fn part(table: &Table, columns: &[(String, DataType)]) -> Result<LogicalPlan, Error> {
    let schema = table.schema();
    let column = |(name, data_type): &(String, DataType)| -> Result<Expr, Error> {
        let value = match schema.field_with_name(name) {
            Ok(field) if field.data_type() == data_type => Expr::Column(Column::from_name(name)),
            Ok(_) => cast(Expr::Column(Column::from_name(name)), data_type.clone()),
            Err(_) => lit(ScalarValue::try_from(data_type).map_err(Error::Plan)?),
        };
        Ok(value.alias(name))
    };
    let columns = columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    LogicalPlanBuilder::scan(
        table.name.as_str(),
        provider_as_source(Arc::clone(&table.source)),
        None,
    )
    .and_then(|plan| plan.project(columns))
    .and_then(LogicalPlanBuilder::build)
    .map_err(Error::Plan)
}

/// The type that a column has in all of the tables that have it.
fn common_type(tables: &[Table], column: &str) -> Result<DataType, Error> {
    let mut common: Option<DataType> = None;
    for table in tables {
        let schema = table.schema();
        let Ok(field) = schema.field_with_name(column) else { continue };
        let found = field.data_type();
        common = Some(match common {
            None => found.clone(),
            Some(before) => wider(&before, found).ok_or_else(|| Error::Include {
                reason: format!(
                    "the column \"{column}\" of \"{}\" does not fit that of the queried table: it \
                     is {}, not {}",
                    table.name,
                    told(found),
                    told(&before)
                ),
            })?,
        });
    }
    common.ok_or_else(|| fail("the tables have no columns"))
}

fn wider(one: &DataType, other: &DataType) -> Option<DataType> {
    match (one, other) {
        _ if one == other => Some(one.clone()),
        (DataType::Float64, _) | (_, DataType::Float64)
            if one.is_numeric() && other.is_numeric() =>
        {
            Some(DataType::Float64)
        }
        (DataType::Decimal128(..), DataType::Int64) => Some(one.clone()),
        (DataType::Int64, DataType::Decimal128(..)) => Some(other.clone()),
        (DataType::Timestamp(..), DataType::Date32) => Some(one.clone()),
        (DataType::Date32, DataType::Timestamp(..)) => Some(other.clone()),
        _ => None,
    }
}

fn fail(reason: &str) -> Error {
    Error::Include { reason: reason.to_owned() }
}
