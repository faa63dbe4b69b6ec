//! `get rows count`: how many rows this node holds of each table.

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct RowsCount;

impl Report for RowsCount {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get rows count",
        usage: "get rows count [where [dbms = NAME] [and table = NAME] [and group = table] \
                [and format = FORMAT]]",
        about: "Counts the rows of each table that this node stores.",
        examples: &["get rows count", "get rows count where dbms = new_company and format = json"],
        keys: &["dbms", "table", "group"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let text = |key| {
            let value = options.get(key).map(|value| value.text(context.variables()));
            Ok::<_, Error>(value.transpose()?.filter(|text| text != "*"))
        };
        let (dbms, table) = (text("dbms")?, text("table")?);
        let fits = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|w| w == name);
        let storage = context.node.engine().storage();
        let mut shown = Table::new(["DBMS Name", "Table Name", "Rows Count"]);
        let mut counts = Map::new();
        for database in storage.databases().iter().filter(|name| fits(&dbms, name)) {
            for held in storage.tables(database).iter().filter(|held| fits(&table, held.name())) {
                let rows = held.stats().rows;
                shown.push([json!(database), json!(held.name()), json!(rows)]);
                counts.insert(format!("{database}.{}", held.name()), json!(rows));
            }
        }
        Ok(Reply::table(shown).with_json(Value::Object(counts)))
    }
}
