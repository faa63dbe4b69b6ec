//! `get tables`: the tables of a database, and where each is known.

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::lookup;
use crate::node::Node;
use crate::reply::Reply;

pub(crate) struct Tables;

impl Report for Tables {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get tables",
        usage: "get tables [where dbms = NAME] [and format = FORMAT]",
        about: "Lists the tables and views of one database, or of all.",
        details: "A view is local to this node, and marked as such.",
        examples: &[
            "get tables where dbms = *",
            "get tables where dbms = new_company and format = json",
        ],
        keys: &["dbms"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let variables = context.variables();
        let dbms = options.get("dbms").map(|dbms| dbms.text(variables)).transpose()?;
        let tables = tables(context.node, dbms.as_deref().filter(|dbms| *dbms != "*"));
        Ok(Reply::table(for_people(&tables))
            .with_json(by_database(&tables))
            .with_mcp(for_agents(&tables)))
    }
}

/// A table and who knows it.
struct Known {
    dbms: String,
    name: String,
    is_local: bool,
    is_published: bool,
    is_view: bool,
}

/// The tables that the ledger or this node's storage has, by database, those of the ledger first and
/// views last.
fn tables(node: &Node, wanted: Option<&str>) -> Vec<Known> {
    let storage = node.engine().storage();
    let policies = match wanted {
        None => lookup::of_kind(node.ledger(), "table"),
        Some(dbms) => lookup::with(node.ledger(), "table", &[("dbms", dbms)]),
    };
    let published =
        policies.iter().filter_map(|policy| Some((policy.text("dbms")?, policy.name()?)));
    let mut tables: Vec<_> = published
        .map(|(dbms, name)| Known {
            dbms: dbms.into(),
            name: name.into(),
            is_local: storage.table(dbms, name).is_some(),
            is_published: true,
            is_view: false,
        })
        .collect();
    let databases = wanted.map_or_else(|| storage.databases(), |dbms| vec![dbms.to_owned()]);
    for table in databases.iter().flat_map(|dbms| storage.tables(dbms)) {
        if !tables.iter().any(|known| known.dbms == table.dbms() && known.name == table.name()) {
            tables.push(Known {
                dbms: table.dbms().into(),
                name: table.name().into(),
                is_local: true,
                is_published: false,
                is_view: false,
            });
        }
    }
    tables.extend(databases.iter().flat_map(|dbms| storage.views(dbms)).map(|view| Known {
        dbms: view.dbms.clone(),
        name: view.name.clone(),
        is_local: true,
        is_published: false,
        is_view: true,
    }));
    tables.sort_by(|a, b| a.dbms.cmp(&b.dbms));
    tables
}

fn for_people(tables: &[Known]) -> Table {
    let columns = ["Database", "Table name", "Local DBMS", "Blockchain"];
    let mut table = Table::new(columns).grouped_by(1);
    let mark = |known| if known { "V" } else { "-" };
    for Known { dbms, name, is_local, is_published, is_view } in tables {
        let local = if *is_view { "view" } else { mark(*is_local) };
        table.push([dbms.as_str(), name, local, mark(*is_published)]);
    }
    table
}

fn by_database(tables: &[Known]) -> Value {
    let mut databases = Map::new();
    for Known { dbms, name, is_local, is_published, is_view } in tables {
        let of_database = databases.entry(dbms.as_str()).or_insert_with(|| json!({}));
        if let Value::Object(of_database) = of_database {
            let mut known = json!({ "local": is_local, "blockchain": is_published });
            if let (true, Value::Object(known)) = (is_view, &mut known) {
                known.insert("view".into(), true.into());
            }
            of_database.insert(name.clone(), known);
        }
    }
    Value::Object(databases)
}

fn for_agents(tables: &[Known]) -> Value {
    tables.iter().map(|known| json!({ "database": known.dbms, "table": known.name })).collect()
}
