//! `flush buffers`: the rows that wait in buffers go to Parquet files now.

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::lookup;
use crate::reply::Reply;

pub(crate) struct Buffers;

impl Report for Buffers {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "flush buffers",
        usage: "flush buffers [where dbms = NAME [and table = NAME]]",
        about: "Flushes the memtables: writes their rows to Parquet files now.",
        details: "\
Rows are durable and visible without it: it is for tools that read the files themselves. It \
returns when the files are written.",
        examples: &[
            "flush buffers",
            "flush buffers where dbms = new_company and table = rand_data",
        ],
        keys: &["dbms", "table"],
        ..Declaration::WRITE
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let text = |key| {
            let value = options.get(key).map(|value| value.text(context.variables()));
            value.transpose()
        };
        let (dbms, table) = (text("dbms")?, text("table")?);
        if table.is_some() {
            // A table's name alone may mean several.
            options.require("dbms", Self::DECLARATION)?;
        }
        let tables = lookup::wanted_tables(context.node, dbms.as_deref(), table.as_deref())?;
        let storage = context.node.engine().storage();
        let mut rows = 0;
        for table in &tables {
            rows += storage.flush(table).await?;
            storage.compact(table).await?;
        }
        Ok(Reply::text(format!("{rows} rows flushed")))
    }
}
