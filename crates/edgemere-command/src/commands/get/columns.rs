//! `get columns`: the columns of a table and their types, from the table's policy, or of a view.

use edgemere_query::DefinedColumn as Column;
use edgemere_query::Definition;
use edgemere_query::sql::ResultColumn;
use edgemere_storage::storage::View;
use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::Format;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::lookup;
use crate::near;
use crate::node::Node;
use crate::reply::Reply;

pub(crate) struct Columns;

impl Report for Columns {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get columns",
        usage: "get columns where dbms = NAME and table = NAME [and sys_col = false] \
                [and type = TYPE] [and format = FORMAT]",
        about: "Lists the columns of a table or view and their types.",
        details: "\
\"sys_col = false\" leaves out the internal columns that every table has. \"type\" selects the \
columns of one type. \"format = list\" returns a list of objects with the names. A column whose name \
differs from its name in the file or message is shown with that original name; a query can use \
both, the original one in quotes: \"Air Temp (°C)\".",
        examples: &[
            "get columns where dbms = new_company and table = rand_data",
            "get columns where dbms = new_company and table = rand_data and format = mcp",
        ],
        formats: &[Format::Table, Format::Json, Format::List, Format::Mcp],
        keys: &["dbms", "table", "sys_col", "type"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let variables = context.variables();
        let dbms = options.require("dbms", Self::DECLARATION)?.text(variables)?;
        let table = options.require("table", Self::DECLARATION)?.text(variables)?;
        let with_system = options.flag("sys_col", true)?;
        let wanted = options.get("type").map(|wanted| wanted.text(variables)).transpose()?;
        let is_wanted = |column: &Column| {
            let type_fits =
                wanted.as_ref().is_none_or(|w| w.eq_ignore_ascii_case(&column.type_name));
            type_fits && (with_system || !column.is_system())
        };
        let mut columns = of_table(context, &dbms, &table).await?;
        columns.retain(is_wanted);
        if options.output.format == Some(Format::List) {
            let named = columns.iter().map(|column| json!({ "column": column.name }));
            return Ok(Reply::json(named.collect()));
        }
        Ok(reply(&dbms, &table, &columns))
    }
}

/// The columns of a table, or of a view of this node.
pub(super) async fn of_table(
    context: &Context<'_>,
    dbms: &str,
    table: &str,
) -> Result<Vec<Column>, Error> {
    match context.node.engine().storage().view(dbms, table) {
        Some(view) => columns_of_view(context.node, &view).await,
        None => Ok(definition(context.node, dbms, table)?.columns),
    }
}

/// The columns of a view, by what its query gives now.
async fn columns_of_view(node: &Node, view: &View) -> Result<Vec<Column>, Error> {
    let name = view.name.replace('"', "\"\"");
    let sql = format!("select * from \"{name}\"");
    let columns = node.engine().sql().columns(&view.dbms, &sql).await?.into_iter();
    let column = |ResultColumn { name, type_name }| Column { name, type_name, original: None };
    Ok(columns.map(column).collect())
}

/// The definition of a table in its policy.
pub(crate) fn definition(node: &Node, dbms: &str, table: &str) -> Result<Definition, Error> {
    let policies = lookup::with(node.ledger(), "table", &[("dbms", dbms), ("name", table)]);
    let Some(policy) = policies.first().filter(|policy| policy.text("create").is_some()) else {
        return Err(unknown_table(node, dbms, table));
    };
    lookup::definition(policy)
        .map_err(|source| Error::BadTable { table: format!("{dbms}.{table}"), source })
}

fn unknown_table(node: &Node, dbms: &str, table: &str) -> Error {
    let policies = lookup::of_kind(node.ledger(), "table");
    let tables: Vec<_> = policies.iter().filter(|p| p.text("dbms") == Some(dbms)).collect();
    let hint = match tables.is_empty() {
        true => {
            let databases = policies.iter().filter_map(|policy| policy.text("dbms"));
            near::hint_among(dbms, "databases", databases)
        }
        false => {
            near::hint_among(table, "tables", tables.iter().filter_map(|policy| policy.name()))
        }
    };
    Error::UnknownTable { dbms: dbms.into(), table: table.into(), hint }
}

fn reply(dbms: &str, table_name: &str, columns: &[Column]) -> Reply {
    let title = format!("Schema for DBMS: '{dbms}' and Table: '{table_name}'");
    let has_originals = columns.iter().any(|column| column.original.is_some());
    let mut table = match has_originals {
        true => Table::new(["Column Name", "Column Type", "Original Name"]).titled(title),
        false => Table::new(["Column Name", "Column Type"]).titled(title),
    };
    let mut by_name = Map::new();
    for Column { name, type_name, original } in columns {
        match has_originals {
            true => table.push([name.as_str(), type_name, original.as_deref().unwrap_or_default()]),
            false => table.push([name.as_str(), type_name]),
        }
        by_name.insert(name.clone(), json!(type_name));
    }
    let list = columns.iter().map(|column| Value::Object(entry(column)));
    Reply::table(table).with_json(Value::Object(by_name)).with_mcp(list.collect())
}

/// A column for programs: its name, its type, and what it was called where that is another name.
pub(super) fn entry(Column { name, type_name, original }: &Column) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("name".into(), json!(name));
    entry.insert("type".into(), json!(type_name));
    entry.extend(original.iter().map(|original| ("original_name".to_owned(), json!(original))));
    entry
}
