//! `connect dbms`: makes a database of this node that answers.

use crate::commands::named::{OnName, required};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct Dbms;

/// Databases of others, which EdgeLake knows.
const EXTERNAL: [&str; 5] = ["psql", "mongo", "pi", "bucket", "milvus"];

impl OnName for Dbms {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "connect dbms",
        usage: "connect dbms NAME where type = edgemere|sqlite",
        about: "Creates a database on this node, or reconnects a disconnected one.",
        details: "\
The first row for a database also creates it; \"connect dbms\" creates it in advance, and it \
then remains when its last table is dropped.

The rows are in this node's own storage. EdgeLake's scripts use \"type = sqlite\", which means \
the same here; EdgeLake's other keys, such as user, port and memory, then have no effect. Other \
databases (psql, mongo) cannot be connected yet.",
        examples: &[
            "connect dbms new_company where type = edgemere",
            "connect dbms system_query where type = sqlite and memory = true",
        ],
        keys: &[
            "type",
            "user",
            "password",
            "ip",
            "port",
            "memory",
            "connection",
            "autocommit",
            "unlog",
        ],
        ..Declaration::WRITE
    };

    async fn run(dbms: &str, options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let kind = required(options, "type", Self::DECLARATION, context)?;
        if EXTERNAL.contains(&kind.as_str()) {
            return Err(Error::ExternalDatabase { dbms: dbms.to_owned(), kind });
        }
        let is_own = kind == "edgemere";
        if !is_own && kind != "sqlite" {
            return Err(Error::BadValue {
                key: "type".into(),
                value: kind,
                expected: "edgemere or sqlite".into(),
                at: None,
            });
        }
        context.node.engine().storage().connect(dbms).await?;
        Ok(match is_own {
            true => Reply::done(),
            false => Reply::text(format!(
                "\"{dbms}\" is connected; its rows are kept in this node's own storage, not in SQLite"
            )),
        })
    }
}
