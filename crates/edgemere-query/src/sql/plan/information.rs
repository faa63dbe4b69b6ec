//! `information_schema`: what there is, as tables that SQL and its tools can read. They are made when a
//! query names them, of the node's tables or of those of the network, and hold names only. Nobody can
//! write them, and internal columns are not in them.
//!
//! DESCRIBE and SHOW are answered from the same: see [`show`].

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Schema;
use datafusion::catalog::TableProvider;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, col, lit};

use crate::sql::dialect::{Like, Listed, Show};
use crate::sql::error::Error;
use crate::sql::output::type_names::sql_name;
use crate::sql::plan::catalog::CATALOG;
use crate::sql::plan::validate::{check_database, nearest, unknown_table};
use crate::sql::plan::views::NameResolver;
use crate::sql::plan::visible::Internal;

/// The database that the tables are in.
pub(crate) const SCHEMA: &str = "information_schema";

/// The tables.
const TABLES: [&str; 4] = ["columns", "schemata", "tables", "views"];

/// How many columns of all tables are reported at once.
const COLUMNS_MAX: usize = 1_000_000;

const TABLE: &str = "BASE TABLE";
const VIEW: &str = "VIEW";

/// A table of `information_schema`.
pub(crate) async fn table(
    names: NameResolver<'_>,
    name: &str,
) -> Result<Arc<dyn TableProvider>, Error> {
    let batch = match name {
        "schemata" => schemata(names)?,
        "tables" => tables(names)?,
        "views" => views(names)?,
        "columns" => columns(names).await?,
        _ => {
            let known = TABLES.map(String::from).to_vec();
            let near = nearest(name, TABLES.into_iter());
            return Err(Error::UnknownTable {
                dbms: SCHEMA.into(),
                table: name.into(),
                near,
                known,
            });
        }
    };
    in_memory(batch)
}

/// The plan of a SHOW or a DESCRIBE.
pub(crate) async fn show(names: NameResolver<'_>, show: &Show) -> Result<LogicalPlan, Error> {
    names.session.tables.note_special();
    let own = |dbms: &Option<String>| dbms.clone().unwrap_or_else(|| names.dbms.to_owned());
    let batch = match &show.what {
        Listed::Databases => batch([("database_name", text(names.known().databases()))]),
        Listed::Tables(dbms) | Listed::Views(dbms) => {
            let dbms = own(dbms);
            check_database(names.known(), &dbms)?;
            let mut all = listed(names, &dbms);
            if matches!(show.what, Listed::Views(_)) {
                all.retain(|(_, kind)| *kind == VIEW);
            }
            let (found, kinds): (Vec<_>, Vec<_>) = all.into_iter().unzip();
            batch([("table_name", text(found)), ("table_type", text(kinds))])
        }
        Listed::Columns { dbms, table } => {
            let dbms = own(dbms);
            // Without a database the name would be the queried one's.
            check_database(names.known(), &dbms)?;
            let schema = schema_of(names, &dbms, table).await?;
            described(&schema, &names.known().originals(&dbms, table))
        }
    };
    let plan = LogicalPlanBuilder::scan("shown", provider_as_source(in_memory(batch?)?), None);
    let column = match &show.what {
        Listed::Databases => "database_name",
        Listed::Tables(_) | Listed::Views(_) => "table_name",
        Listed::Columns { .. } => "column_name",
    };
    let plan = match &show.like {
        Some(like) => plan.and_then(|plan| plan.filter(pattern(column, like))),
        None => plan,
    };
    plan.and_then(LogicalPlanBuilder::build).map_err(Error::Plan)
}

fn pattern(column: &str, like: &Like) -> Expr {
    let pattern = lit(like.pattern.clone());
    if like.any_case { col(column).ilike(pattern) } else { col(column).like(pattern) }
}

/// The columns of a result, as rows.
pub(crate) fn describe(schema: &Schema) -> Result<LogicalPlan, Error> {
    let table = in_memory(described(schema, &[])?)?;
    LogicalPlanBuilder::scan("described", provider_as_source(table), None)
        .and_then(LogicalPlanBuilder::build)
        .map_err(Error::Plan)
}

/// The columns as rows, with what they were called where they came from, when one was called otherwise.
fn described(schema: &Schema, originals: &[(String, String)]) -> Result<RecordBatch, Error> {
    let fields = || schema.fields().iter();
    let columns = [
        ("column_name", text(fields().map(|field| field.name().clone()))),
        ("data_type", text(fields().map(|field| sql_name(field.data_type())))),
        ("is_nullable", text(fields().map(|field| yes_or_no(field.is_nullable())))),
    ];
    if originals.is_empty() {
        return batch(columns);
    }
    let [name, data_type, nullable] = columns;
    let original = some_text(fields().map(|field| original(originals, field.name())));
    batch([name, data_type, nullable, ("original_name", original)])
}

/// What a column was called where it came from, where that is another name.
fn original<'a>(originals: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = originals.iter().find(|(column, _)| column == name);
    found.map(|(_, original)| original.as_str())
}

fn schemata(names: NameResolver<'_>) -> Result<RecordBatch, Error> {
    let databases = names.known().databases();
    batch([
        ("catalog_name", text(databases.iter().map(|_| CATALOG))),
        ("schema_name", text(&databases)),
    ])
}

fn tables(names: NameResolver<'_>) -> Result<RecordBatch, Error> {
    let mut rows = Vec::new();
    for dbms in names.known().databases() {
        let tables = listed(names, &dbms).into_iter();
        rows.extend(tables.map(|(table, kind)| (dbms.clone(), table, kind)));
    }
    batch([
        ("table_catalog", text(rows.iter().map(|_| CATALOG))),
        ("table_schema", text(rows.iter().map(|(dbms, _, _)| dbms))),
        ("table_name", text(rows.iter().map(|(_, table, _)| table))),
        ("table_type", text(rows.iter().map(|(_, _, kind)| kind))),
    ])
}

fn views(names: NameResolver<'_>) -> Result<RecordBatch, Error> {
    let mut rows = Vec::new();
    for dbms in names.known().databases() {
        for name in names.known().views(&dbms) {
            rows.extend(names.known().view(&dbms, &name));
        }
    }
    batch([
        ("table_catalog", text(rows.iter().map(|_| CATALOG))),
        ("table_schema", text(rows.iter().map(|view| &view.dbms))),
        ("table_name", text(rows.iter().map(|view| &view.name))),
        ("view_definition", text(rows.iter().map(|view| &view.sql))),
    ])
}

/// The columns of all tables. A view that cannot be planned any more has none.
async fn columns(names: NameResolver<'_>) -> Result<RecordBatch, Error> {
    struct Row {
        dbms: String,
        table: String,
        column: String,
        place: i64,
        nullable: &'static str,
        type_name: String,
        original: Option<String>,
    }
    let mut rows = Vec::new();
    for dbms in names.known().databases() {
        for (table, _) in listed(names, &dbms) {
            let Ok(schema) = schema_of(names, &dbms, &table).await else { continue };
            let originals = names.known().originals(&dbms, &table);
            rows.extend((1..).zip(schema.fields()).map(|(place, field)| Row {
                dbms: dbms.clone(),
                table: table.clone(),
                column: field.name().clone(),
                place,
                nullable: yes_or_no(field.is_nullable()),
                type_name: sql_name(field.data_type()),
                original: original(&originals, field.name()).map(str::to_owned),
            }));
            if rows.len() > COLUMNS_MAX {
                let what = "columns in information_schema";
                return Err(Error::TooComplex { what, limit: COLUMNS_MAX });
            }
        }
    }
    let places: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.place)));
    batch([
        ("table_catalog", text(rows.iter().map(|_| CATALOG))),
        ("table_schema", text(rows.iter().map(|row| &row.dbms))),
        ("table_name", text(rows.iter().map(|row| &row.table))),
        ("column_name", text(rows.iter().map(|row| &row.column))),
        ("ordinal_position", places),
        ("is_nullable", text(rows.iter().map(|row| row.nullable))),
        ("data_type", text(rows.iter().map(|row| &row.type_name))),
        ("original_name", some_text(rows.iter().map(|row| row.original.as_deref()))),
    ])
}

/// The tables and views of a database, and which they are, by name.
fn listed(names: NameResolver<'_>, dbms: &str) -> Vec<(String, &'static str)> {
    if dbms == SCHEMA {
        return TABLES.map(|name| (name.to_owned(), VIEW)).to_vec();
    }
    let known = names.known();
    let tables = known.tables(dbms).into_iter().map(|name| (name, TABLE));
    let views = known.views(dbms).into_iter().map(|name| (name, VIEW));
    let mut all: Vec<_> = tables.chain(views).collect();
    all.sort_unstable();
    all
}

/// The columns of a table or a view.
async fn schema_of(names: NameResolver<'_>, dbms: &str, table: &str) -> Result<Arc<Schema>, Error> {
    names.find(dbms, table).await?;
    let source = names.session.tables.with_internal(Internal::NONE).planned(dbms, table);
    source.map(|source| source.schema()).ok_or_else(|| unknown_table(names.known(), dbms, table))
}

fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "YES" } else { "NO" }
}

fn text<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn some_text<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> Result<RecordBatch, Error> {
    RecordBatch::try_from_iter(columns).map_err(|error| Error::Plan(error.into()))
}

fn in_memory(batch: RecordBatch) -> Result<Arc<dyn TableProvider>, Error> {
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).map_err(Error::Plan)?;
    Ok(Arc::new(table))
}
