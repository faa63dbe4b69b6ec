//! `test data`: reads every data file of the node and compares it with its checksums.

use edgemere_storage::storage::{DamagedFile, Verification};
use serde_json::json;

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct Data;

impl Report for Data {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "test data",
        usage: "test data [where format = FORMAT]",
        about: "Reads every data file of the node and compares it with its checksums.",
        details: "\
The node marks damaged files, and their rows are missing from then on; a file that was put back \
from a backup is used again. The command reads everything that the node stores, as fast as the \
disk allows. The node does the same by itself, slowly, once a day.",
        examples: &["test data", "test data where format = json"],
        formats: Declaration::READ.formats,
        ..Declaration::WRITE
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let found = context.node.engine().storage().verify().await?;
        let Verification { files, bytes, rows, damaged } = found;
        let mut table = Table::new(["DBMS", "Table", "Partition", "Rows", "Status"]);
        let mut list = Vec::new();
        for DamagedFile { dbms, table: name, file, rows, reason } in damaged {
            let status = format!("damaged: {reason}");
            table.push([json!(dbms), json!(name), json!(file), json!(rows), json!(status)]);
            list.push(json!({
                "dbms": dbms, "table": name, "partition": file, "rows": rows, "damaged": reason,
            }));
        }
        if list.is_empty() {
            table.push([json!("*"), json!("*"), json!(files), json!(rows), json!("Pass")]);
        }
        let json = json!({ "files": files, "rows": rows, "bytes": bytes, "damaged": list });
        Ok(Reply::table(table).with_json(json))
    }
}
