//! `flush buffers`: the rows that wait in buffers go to Parquet files now.

use std::sync::Arc;

use edgemere_engine::storage::Table;

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::near;
use crate::node::Node;
use crate::reply::Reply;

pub(crate) struct Buffers;

impl Report for Buffers {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "flush buffers",
        usage: "flush buffers [where dbms = NAME [and table = NAME]]",
        about: "Moves the rows that have not settled yet into Parquet files, now.",
        details: "Rows are durable and visible without it: it is for tools that read the files \
                  themselves. It returns when the files are written.",
        examples: &[
            "flush buffers",
            "flush buffers where dbms = new_company and table = rand_data",
        ],
        keys: &["dbms", "table"],
        ..Declaration::WRITE
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let text = |key| {
            let value = options.get(key).map(|value| value.text(&context.node.variables));
            value.transpose()
        };
        let tables = match (text("dbms")?, text("table")?) {
            (Some(dbms), Some(table)) => vec![one(context.node, &dbms, &table)?],
            (Some(dbms), None) => context.node.engine().storage().tables(&dbms),
            // A table's name alone may mean several.
            (None, Some(_)) => {
                return options.require("dbms", Self::DECLARATION).map(|_| Reply::done());
            }
            (None, None) => all(context.node),
        };
        let storage = context.node.engine().storage();
        let mut rows = 0;
        for table in &tables {
            rows += storage.settle(table).await.map_err(edgemere_engine::Error::from)?;
            storage.compact(table).await.map_err(edgemere_engine::Error::from)?;
        }
        Ok(Reply::text(format!("{rows} rows settled")))
    }
}

fn all(node: &Node) -> Vec<Arc<Table>> {
    let storage = node.engine().storage();
    storage.databases().iter().flat_map(|dbms| storage.tables(dbms)).collect()
}

fn one(node: &Node, dbms: &str, name: &str) -> Result<Arc<Table>, Error> {
    let storage = node.engine().storage();
    storage.table(dbms, name).ok_or_else(|| {
        let tables = storage.tables(dbms);
        let hint = near::hint(name, tables.iter().map(|table| table.name()))
            .or_else(|| Some("\"get rows count\" lists the tables of this node".into()));
        Error::UnknownTable { dbms: dbms.into(), table: name.into(), hint }
    })
}
