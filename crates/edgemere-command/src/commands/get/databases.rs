//! `get databases`: the databases that the ledger knows.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::lookup;
use crate::reply::Reply;

pub(crate) struct Databases;

impl Report for Databases {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get databases",
        usage: "get databases [where format = FORMAT]",
        about: "The databases that have a table in the ledger.",
        examples: &["get databases", "get databases where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let policies = lookup::of_kind(context.node.ledger(), "table");
        let mut tables: BTreeMap<&str, usize> = BTreeMap::new();
        for dbms in policies.iter().filter_map(|policy| policy.text("dbms")) {
            *tables.entry(dbms).or_default() += 1;
        }
        let columns = ["Logical DBMS", "Database Type", "Tables", "Storage"];
        let mut table = Table::new(columns).titled("Active DBMS Connections");
        let mut json = Map::new();
        for (dbms, count) in tables {
            table.push([json!(dbms), json!("network"), json!(count), json!("On the operators")]);
            let database = json!({ "dbms_type": "network", "tables": count });
            json.insert(dbms.to_owned(), database);
        }
        let names = json.keys().map(|name| json!({ "database": name })).collect();
        Ok(Reply::table(table).with_json(Value::Object(json)).with_mcp(names))
    }
}
