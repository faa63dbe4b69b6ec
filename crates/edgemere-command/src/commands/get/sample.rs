//! `get sample`: a few rows of a table, some of each operator that holds it: what differs between sites is
//! to be seen, and an operator that is away hides nobody else's.

use edgemere_query::DefinedColumn as Column;
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::columns;
use crate::commands::named::{optional, required};
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::destination::address_of;
use crate::dispatch::{Context, Request};
use crate::error::Error;
use crate::format::table::Table;
use crate::language::lexer::{quote, word_or_quote};
use crate::language::options::Options;
use crate::lookup;
use crate::reply::Reply;

/// How many rows there are without a word, and at most.
const ROWS: usize = 5;
const ROWS_MAX: usize = 1000;

pub(crate) struct Sample;

impl Report for Sample {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get sample",
        usage: "get sample where dbms = NAME and table = NAME [and rows = COUNT] [and format = FORMAT]",
        about: "Returns a few rows of a table, some from each operator that holds it.",
        details: "\
The first column names the operator of a row. \"rows\" sets the number of rows (5 by default, \
1000 at most); each operator has at least one. An operator that does not answer is named, and \
the rows of the others are returned.",
        examples: &["get sample where dbms = water and table = pumps and rows = 10"],
        keys: &["dbms", "table", "rows"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let dbms = required(options, "dbms", Self::DECLARATION, context)?;
        let table = required(options, "table", Self::DECLARATION, context)?;
        let rows = rows(options, context)?;
        let mut columns = columns::of_table(context, &dbms, &table).await?;
        columns.retain(|column| !column.is_system());
        let mut nodes: Vec<(String, Option<String>)> =
            lookup::operators_of(context.node.ledger(), &dbms, &table)
                .iter()
                .map(|policy| {
                    (policy.text("name").unwrap_or("operator").to_owned(), address_of(policy))
                })
                .collect();
        if nodes.is_empty() {
            nodes.push((context.node.name(), None));
        }
        nodes.sort();
        let sql = sql(&dbms, &table, &columns, rows.div_ceil(nodes.len()));
        let asked = nodes.iter().map(|(_, address)| ask(context, address.as_deref(), &sql));
        let mut sample = Reading::new(columns, rows.max(nodes.len()));
        for ((node, _), answer) in nodes.iter().zip(join_all(asked).await) {
            sample.add(node, answer);
        }
        Ok(sample.reply())
    }
}

fn rows(options: &Options, context: &Context<'_>) -> Result<usize, Error> {
    let Some(text) = optional(options, "rows", context)? else { return Ok(ROWS) };
    match text.parse() {
        Ok(rows @ 1..=ROWS_MAX) => Ok(rows),
        _ => {
            let expected = format!("1 to {ROWS_MAX}");
            Err(Error::BadValue { key: "rows".into(), value: text, expected, at: None })
        }
    }
}

/// The command that each operator is asked.
fn sql(dbms: &str, table: &str, columns: &[Column], rows: usize) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let names: Vec<_> = columns.iter().map(|column| quoted(&column.name)).collect();
    let sql = format!("SELECT {} FROM {} LIMIT {rows}", names.join(", "), quoted(table));
    format!("sql {} format = mcp:columns and stat = false {}", word_or_quote(dbms), quote(&sql))
}

/// An operator's rows; this node's own where there is no address.
async fn ask(context: &Context<'_>, address: Option<&str>, command: &str) -> Result<Value, Error> {
    let rendered = match address {
        Some(address) => {
            let peers = &context.node.settings().peers;
            peers.call_as(address, command, &context.forwarded(), context.timeout()).await?
        }
        None => {
            let request = Request::new(command, context.principal.clone());
            crate::dispatch::execute(context.node, &request).await.result?
        }
    };
    rendered.into_value().await
}

/// The rows, as far as they came.
struct Reading {
    columns: Vec<Column>,
    rows_max: usize,
    rows: Vec<Vec<Value>>,
    nodes: Vec<String>,
    missing: Vec<Value>,
}

impl Reading {
    fn new(columns: Vec<Column>, rows_max: usize) -> Self {
        Self { columns, rows_max, rows: Vec::new(), nodes: Vec::new(), missing: Vec::new() }
    }

    fn add(&mut self, node: &str, answer: Result<Value, Error>) {
        match answer {
            Ok(answer) => {
                let rows = answer.get("rows").and_then(Value::as_array).into_iter().flatten();
                let rows = rows
                    .filter_map(Value::as_array)
                    .map(|row| [json!(node)].into_iter().chain(row.iter().cloned()).collect());
                self.nodes.push(node.to_owned());
                let room = self.rows_max.saturating_sub(self.rows.len());
                self.rows.extend(rows.take(room));
            }
            Err(error) => {
                self.missing.push(json!({ "node": node, "error": error.message() }));
            }
        }
    }

    fn reply(self) -> Reply {
        let names = self.columns.iter().map(|column| column.name.clone());
        let names: Vec<String> = ["node".to_owned()].into_iter().chain(names).collect();
        let mut table = Table::new(names.clone());
        self.rows.iter().for_each(|row| table.push(row.clone()));
        let mut all = json!({ "columns": names, "rows": self.rows, "nodes": self.nodes });
        if let (Some(all), false) = (all.as_object_mut(), self.missing.is_empty()) {
            all.insert("missing".into(), Value::Array(self.missing));
        }
        Reply::table(table).with_json(all.clone()).with_mcp(all)
    }
}
