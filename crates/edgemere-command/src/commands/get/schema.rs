//! `get schema`: all that one must know of a table to query it, in one reply; or the tables of the network
//! with their columns, in compact lines.

use std::collections::BTreeMap;

use edgemere_query::DefinedColumn as Column;
use edgemere_query::distributed::State;
use edgemere_query::sql::{Collected, QueryOptions, Times, collect};
use serde_json::{Map, Value, json};

use super::columns;
use crate::commands::describe::column::Meaning;
use crate::commands::named::{optional, required};
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::lookup;
use crate::reply::Reply;

pub(crate) struct Schema;

impl Report for Schema {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get schema",
        usage: "get schema where dbms = NAME and table = NAME [and format = FORMAT] | \
                get schema [where [dbms = NAME] [and columns = true|false] [and format = FORMAT]]",
        about: "Describes a table: its columns with units, its time range, its rows and its \
                nodes; or all tables.",
        details: "\
For a table: the columns with their types and with what \"describe column\" says about them, the \
time column with the first and the last time and the zone, the number of rows and the operators \
that hold them. An operator that does not answer is named, and the rows are those of the others. \
Without a table: the databases with their tables, and with \"columns = true\" the columns of \
each in one line. Internal columns are left out: \"get columns\" lists them.",
        examples: &[
            "get schema where dbms = water and table = pumps",
            "get schema where dbms = water and table = pumps and format = mcp",
            "get schema where columns = true and format = mcp",
        ],
        keys: &["dbms", "table", "columns"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        if options.get("table").is_none() {
            let dbms = optional(options, "dbms", context)?;
            return overview(dbms.as_deref(), options.flag("columns", false)?, context);
        }
        let dbms = required(options, "dbms", Self::DECLARATION, context)?;
        let table = required(options, "table", Self::DECLARATION, context)?;
        let mut columns = columns::of_table(context, &dbms, &table).await?;
        columns.retain(|column| !column.is_system());
        let facts = Facts::of(context, &dbms, &table, &columns).await?;
        let ledger = context.node.ledger();
        let columns = columns.into_iter().map(|column| {
            let meaning = Meaning::of(ledger, &dbms, &table, &column.name);
            (column, meaning)
        });
        Ok(reply(&dbms, &table, &columns.collect::<Vec<_>>(), &facts))
    }
}

/// All tables, or those of a database: their names alone, or with their columns.
fn overview(dbms: Option<&str>, with_columns: bool, context: &Context<'_>) -> Result<Reply, Error> {
    let ledger = context.node.ledger();
    let policies = lookup::of_kind(ledger, "table");
    let mut tables: BTreeMap<(String, String), Option<String>> = BTreeMap::new();
    for policy in &policies {
        let (Some(of), Some(name)) = (policy.text("dbms"), policy.text("name")) else { continue };
        if dbms.is_some_and(|dbms| dbms != of) {
            continue;
        }
        let columns = match with_columns {
            // One that is damaged hides no other.
            true => Some(line(context, of, name).unwrap_or_else(|error| format!("({error})"))),
            false => None,
        };
        tables.entry((of.to_owned(), name.to_owned())).or_insert(columns);
    }
    if let (Some(dbms), true) = (dbms, tables.is_empty()) {
        let databases = policies.iter().filter_map(|policy| policy.text("dbms"));
        let hint = crate::near::hint_among(dbms, "databases", databases);
        return Err(Error::UnknownDatabase { dbms: dbms.to_owned(), hint });
    }
    let mut shown = Table::new(["Database", "Table", "Columns"]);
    let mut by_database = Map::new();
    for ((dbms, table), columns) in &tables {
        shown.push([dbms.as_str(), table, columns.as_deref().unwrap_or_default()]);
        let empty = if with_columns { json!({}) } else { json!([]) };
        match (by_database.entry(dbms.clone()).or_insert(empty), columns) {
            (Value::Object(tables), Some(columns)) => {
                tables.insert(table.clone(), json!(columns));
            }
            (Value::Array(tables), _) => tables.push(json!(table)),
            _ => {}
        }
    }
    let by_database = Value::Object(by_database);
    Ok(Reply::table(shown).with_json(by_database.clone()).with_mcp(by_database))
}

/// The columns of a table in a line: `temperature double precision (°C), air_temp "Air Temp" int, …`.
fn line(context: &Context<'_>, dbms: &str, table: &str) -> Result<String, Error> {
    let definition = columns::definition(context.node, dbms, table)?;
    let columns = definition.columns.iter().filter(|column| !column.is_system()).map(|column| {
        let unit = Meaning::of(context.node.ledger(), dbms, table, &column.name).unit;
        let unit = unit.map(|unit| format!(" ({unit})")).unwrap_or_default();
        let original = column.original.as_ref().map(|original| format!(" \"{original}\""));
        format!("{}{} {}{unit}", column.name, original.unwrap_or_default(), column.type_name)
    });
    Ok(columns.collect::<Vec<_>>().join(", "))
}

/// What the rows of a table say of it.
#[derive(Debug, Default)]
struct Facts {
    /// The first column of times.
    time_column: Option<String>,
    /// How many rows there are, and the first and the last time; not when nobody answered.
    counted: Option<[Value; 3]>,
    /// The operators that hold rows of it, and answered.
    nodes: Vec<String>,
    /// Those that did not, and why.
    missing: Vec<(String, String)>,
}

impl Facts {
    async fn of(
        context: &Context<'_>,
        dbms: &str,
        table: &str,
        columns: &[Column],
    ) -> Result<Self, Error> {
        let time = columns.iter().find(|column| column.type_name.starts_with("timestamp"));
        let time_column = time.map(|column| column.name.clone());
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let range = match &time_column {
            Some(column) => format!("min({0}) AS first, max({0}) AS last", quoted(column)),
            None => "NULL AS first, NULL AS last".to_owned(),
        };
        let sql = format!("SELECT count(*) AS rows, {range} FROM {}", quoted(table));
        let on_network = !lookup::operators_of(context.node.ledger(), dbms, table).is_empty();
        let there = Context { on_network, ..*context };
        let scope = QueryOptions {
            subset: true,
            time: context.delivery.timeout,
            ..QueryOptions::default()
        };
        let collected = async {
            let query = there.sql().ask(dbms, &sql, &scope).await?;
            collect(query, 1).await
        };
        let collected = match collected.await {
            Ok(collected) => collected,
            // The columns are known without the rows.
            Err(error) => {
                let missing = vec![(context.node.name(), Error::from(error).message())];
                return Ok(Self { time_column, missing, ..Self::default() });
            }
        };
        let mut facts = Self { time_column, counted: counted(&collected)?, ..Self::default() };
        for share in &collected.operators {
            let name = share.operator.name.clone();
            match (share.state, &share.error) {
                (State::Missing | State::Failed, error) => {
                    let why = error.as_ref().map(ToString::to_string).unwrap_or_default();
                    facts.missing.push((name, why));
                }
                _ => facts.nodes.push(name),
            }
        }
        if collected.operators.is_empty() {
            facts.nodes.push(context.node.name());
        }
        facts.nodes.sort();
        facts.missing.sort();
        Ok(facts)
    }

    /// The time column, with the times that it has.
    fn time(&self) -> Option<Value> {
        let mut time = Map::new();
        time.insert("column".into(), json!(self.time_column.as_ref()?));
        if let Some([_, from, to]) = self.counted.as_ref().filter(|[_, from, _]| !from.is_null()) {
            time.insert("from".into(), from.clone());
            time.insert("to".into(), to.clone());
        }
        time.insert("zone".into(), json!("UTC"));
        Some(Value::Object(time))
    }
}

/// The one row of the query.
fn counted(collected: &Collected) -> Result<Option<[Value; 3]>, Error> {
    let Some(batch) = collected.rows.first() else { return Ok(None) };
    let text = batch.json_lists(Times::Plain)?;
    let row: Vec<Value> =
        text.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
    Ok(row.try_into().ok())
}

fn reply(dbms: &str, table: &str, columns: &[(Column, Meaning)], facts: &Facts) -> Reply {
    let title = format!("Schema for DBMS: '{dbms}' and Table: '{table}'");
    let has_originals = columns.iter().any(|(column, _)| column.original.is_some());
    let mut headers = vec!["Column Name", "Column Type", "Unit", "Description"];
    headers.extend(has_originals.then_some("Original Name"));
    let mut shown = Table::new(headers).titled(title);
    let mut list = Vec::new();
    for (column, meaning) in columns {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let (unit, description) = (text(&meaning.unit), text(&meaning.description));
        let mut row = vec![column.name.as_str(), &column.type_name, &unit, &description];
        let original = column.original.as_deref().unwrap_or_default();
        row.extend(has_originals.then_some(original));
        shown.push(row);
        let mut entry = columns::entry(column);
        entry.extend(meaning.fields());
        list.push(Value::Object(entry));
    }
    let mut all = Map::new();
    all.insert("database".into(), json!(dbms));
    all.insert("table".into(), json!(table));
    facts.counted.as_ref().map(|[rows, ..]| all.insert("rows".into(), rows.clone()));
    facts.time().map(|time| all.insert("time".into(), time));
    all.insert("columns".into(), Value::Array(list));
    all.insert("nodes".into(), json!(facts.nodes));
    if !facts.missing.is_empty() {
        let missing = facts.missing.iter();
        let missing = missing.map(|(node, error)| json!({ "node": node, "error": error }));
        all.insert("missing".into(), missing.collect());
    }
    let all = Value::Object(all);
    Reply::table(shown).with_json(all.clone()).with_mcp(all)
}
