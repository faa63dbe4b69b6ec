//! `get partitions`: the Parquet files of this node's tables, and the rows that have not settled.

use edgemere_storage::storage::Partition;
use serde_json::{Value, json};

use crate::commands::named::optional;
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::lookup;
use crate::reply::Reply;

pub(crate) struct Partitions;

/// The name of the partition that is no file yet.
const FRESH: &str = "(fresh)";

impl Report for Partitions {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get partitions",
        usage: "get partitions [where dbms = NAME [and table = NAME]] [and format = FORMAT]",
        about: "Lists the Parquet files of this node's tables, with their rows, sizes and times.",
        details: "\
The times are those of the table's first timestamp column or, without one, of the insert. \
\"(fresh)\" is the memtable: rows that are not yet flushed to a file; their bytes are in memory \
and in the store.

The status of a file is empty, or says why it is damaged. Its rows are then missing: a query \
that needs them fails or, with subset, names them. \"drop partition\" gives them up; a file that \
is put back from a backup is used again at the next start, or when the node next verifies its \
files.

Nothing has to be declared: each flush makes a partition.",
        examples: &[
            "get partitions",
            "get partitions where dbms = new_company and table = rand_data and format = json",
        ],
        keys: &["dbms", "table"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let (dbms, table) =
            (optional(options, "dbms", context)?, optional(options, "table", context)?);
        let tables = lookup::wanted_tables(context.node, dbms.as_deref(), table.as_deref())?;
        let columns = ["DBMS", "Table", "Partition", "Rows", "Bytes", "From", "To", "Status"];
        let mut shown = Table::new(columns).grouped_by(2);
        let mut list = Vec::new();
        for table in tables {
            for Partition { file, rows, bytes, times, damage } in table.partitions() {
                let (dbms, table) = (table.dbms(), table.name());
                let from = times.map(|(from, _)| time_text(from));
                let to = times.map(|(_, to)| time_text(to));
                let name = file.as_deref().unwrap_or(FRESH);
                shown.push([
                    json!(dbms),
                    json!(table),
                    json!(name),
                    json!(rows),
                    json!(bytes),
                    json!(from),
                    json!(to),
                    json!(damage.as_ref().map(|reason| format!("damaged: {reason}"))),
                ]);
                list.push(json!({
                    "dbms": dbms,
                    "table": table,
                    "partition": file,
                    "rows": rows,
                    "bytes": bytes,
                    "from": from,
                    "to": to,
                    "damaged": damage,
                }));
            }
        }
        Ok(Reply::table(shown).with_json(Value::Array(list)))
    }
}

/// A time as `sql` shows it.
fn time_text(microseconds: i64) -> String {
    match jiff::Timestamp::from_microsecond(microseconds) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S%.6f").to_string(),
        Err(_) => microseconds.to_string(),
    }
}
