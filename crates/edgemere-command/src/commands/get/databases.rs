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
        let storage = context.node.engine().storage();
        let local = storage.databases();
        for dbms in &local {
            tables.entry(dbms).or_insert_with(|| storage.tables(dbms).len());
        }
        let columns = ["Logical DBMS", "Database Type", "Tables", "Storage"];
        let mut table = Table::new(columns).titled("Active DBMS Connections");
        let mut json = Map::new();
        for (dbms, count) in tables {
            let is_local = local.iter().any(|known| known == dbms);
            let (kind, place) = match is_local {
                true => ("edgemere", "On this node"),
                false => ("network", "On other operators"),
            };
            table.push([json!(dbms), json!(kind), json!(count), json!(place)]);
            let database = json!({ "dbms_type": kind, "tables": count });
            json.insert(dbms.to_owned(), database);
        }
        let names = json.keys().map(|name| json!({ "database": name })).collect();
        Ok(Reply::table(table).with_json(Value::Object(json)).with_mcp(names))
    }
}
