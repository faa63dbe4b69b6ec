//! `create backup`: a consistent copy of this node's rows, in its own data folder.

use edgemere_storage::storage::Backup as Copied;
use serde_json::json;

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;
use edgemere_service::Effect;
use edgemere_service::Kind;

pub(crate) struct Backup;

/// The most copies that may be there at once.
const COPIES_MAX: usize = 4;

impl Report for Backup {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "create backup",
        usage: "create backup",
        about: "Makes a consistent copy of this node's rows, for \"edgemere backup\".",
        details: "\
The copy is in the folder \"backup\" of the node's own data folder, and nowhere else: its \
manifest with the rows of the memtables, and hard links to its Parquet files, which take no \
space. Writers and queries continue. A damaged file is left out and named. \"edgemere backup \
DIR\" on the same machine uses the copy and removes it.",
        examples: &["create backup"],
        effect: Effect::Destructive,
        ..Declaration::WRITE
    };

    async fn report(_: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let folder = context.node.settings().data.join("backup");
        let copies = std::fs::read_dir(&folder)
            .map_or(0, |entries| entries.flatten().filter(|entry| entry.path().is_dir()).count());
        if copies >= COPIES_MAX {
            return Err(Error::File {
                path: folder.display().to_string(),
                reason: format!("there are {copies} copies that nobody has carried away"),
                kind: Kind::Conflict,
                hint: Some("\"edgemere backup DIR\" removes them".into()),
            });
        }
        let id = jiff::Timestamp::now().as_microsecond();
        let name = format!("rows-{id}");
        let storage = context.node.engine().storage();
        let Copied { storage, sequence, tables, files, rows, memtable_rows, damaged } =
            storage.back_up(&folder.join(&name)).await?;
        let numbers = json!({
            "backup": name, "storage": storage, "sequence": sequence, "tables": tables,
            "files": files, "rows": rows, "fresh_rows": memtable_rows,
            "damaged": damaged.iter().map(|damage| json!({
                "file": damage.path.display().to_string(), "reason": damage.reason,
            })).collect::<Vec<_>>(),
        });
        Ok(Reply::json(numbers))
    }
}
