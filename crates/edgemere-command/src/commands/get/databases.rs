//! `get databases`: the databases of this node, and those that the ledger knows.

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
        about: "Lists the databases of this node, and those with a table in the ledger.",
        details: "A disconnected database is marked; \"connect dbms\" reconnects it.",
        examples: &["get databases", "get databases where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let policies = lookup::of_kind(context.node.ledger(), "table");
        let mut tables: BTreeMap<&str, usize> = BTreeMap::new();
        for dbms in policies.iter().filter_map(|policy| policy.text("dbms")) {
            *tables.entry(dbms).or_default() += 1;
        }
        let local = context.node.engine().storage().all_databases();
        for database in &local {
            let count = tables.entry(&database.name).or_default();
            *count = (*count).max(database.tables);
        }
        let columns = ["Logical DBMS", "Database Type", "Tables", "Storage"];
        let mut table = Table::new(columns).titled("Active DBMS Connections");
        let mut json = Map::new();
        for (dbms, count) in tables {
            let is_connected = local.iter().find(|known| known.name == dbms).map(|d| d.connected);
            let (kind, place) = match is_connected {
                Some(true) => ("edgemere", "On this node"),
                Some(false) => ("edgemere", "Disconnected"),
                None => ("network", "On other operators"),
            };
            table.push([json!(dbms), json!(kind), json!(count), json!(place)]);
            let mut database = json!({ "dbms_type": kind, "tables": count });
            if let (Some(is_connected), Value::Object(database)) = (is_connected, &mut database) {
                database.insert("connected".into(), is_connected.into());
            }
            json.insert(dbms.to_owned(), database);
        }
        let names = json.keys().map(|name| json!({ "database": name })).collect();
        Ok(Reply::table(table).with_json(Value::Object(json)).with_mcp(names))
    }
}
