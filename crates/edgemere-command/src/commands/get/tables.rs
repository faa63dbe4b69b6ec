//! `get tables`: the tables of a database, and where each is known.

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::lookup;
use crate::reply::Reply;

pub(crate) struct Tables;

impl Report for Tables {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get tables",
        usage: "get tables [where dbms = NAME] [and format = FORMAT]",
        about: "The tables of a database, or of all.",
        examples: &[
            "get tables where dbms = *",
            "get tables where dbms = new_company and format = json",
        ],
        keys: &["dbms"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let variables = &context.node.variables;
        let dbms = options.get("dbms").map(|dbms| dbms.text(variables)).transpose()?;
        let policies = match dbms.as_deref() {
            None | Some("*") => lookup::of_kind(context.node.ledger(), "table"),
            Some(dbms) => lookup::with(context.node.ledger(), "table", &[("dbms", dbms)]),
        };
        let mut names: Vec<(&str, &str)> = policies
            .iter()
            .filter_map(|policy| Some((policy.text("dbms")?, policy.name()?)))
            .collect();
        names.sort_by_key(|(dbms, _)| *dbms);
        Ok(Reply::table(for_people(&names))
            .with_json(by_database(&names))
            .with_mcp(for_agents(&names)))
    }
}

fn for_people(names: &[(&str, &str)]) -> Table {
    let columns = ["Database", "Table name", "Local DBMS", "Blockchain"];
    let mut table = Table::new(columns).grouped_by(1);
    for (dbms, name) in names {
        table.push([*dbms, *name, "-", "V"]);
    }
    table
}

fn by_database(names: &[(&str, &str)]) -> Value {
    let mut databases = Map::new();
    for (dbms, name) in names {
        let tables = databases.entry(*dbms).or_insert_with(|| json!({}));
        if let Value::Object(tables) = tables {
            tables.insert((*name).into(), json!({ "local": false, "blockchain": true }));
        }
    }
    Value::Object(databases)
}

fn for_agents(names: &[(&str, &str)]) -> Value {
    names.iter().map(|(dbms, name)| json!({ "database": dbms, "table": name })).collect()
}
