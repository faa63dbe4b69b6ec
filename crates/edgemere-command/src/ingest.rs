//! Rows into a node: stored by the engine, and acknowledged when the network knows their table.
//!
//! Who sends rows may hang up at any moment, and this is dropped then. What the storage has taken is
//! stored all the same, and making it known is the work of `announce`, which waits for nobody.

use std::sync::Arc;

use edgemere_query::Error as StoreError;
use edgemere_service::Error as ServiceError;
use edgemere_storage::chunking;
use edgemere_storage::decode::{Input, Mixed};
use edgemere_storage::storage::Error::KeyReused;
use edgemere_storage::{Error as NotStored, Put, Rows};

use crate::announce;
use crate::error::Error;
use crate::node::{Node, Role};

/// Stores rows in a table of this node: durable and visible when this returns. A table that is not
/// there is made; it and columns that are new are in the ledger then, unless that failed.
pub async fn put(
    node: &Arc<Node>,
    dbms: &str,
    table: &str,
    input: Input,
    bytes: &[u8],
) -> Result<Put, Error> {
    let mixed = Mixed::default();
    put_rows(node, Rows { dbms, table, input, bytes, key: None, mixed, strict: false }).await
}

/// Stores rows as [`put`] does, and those with a key only once.
pub async fn put_rows(node: &Arc<Node>, rows: Rows<'_>) -> Result<Put, Error> {
    if !node.has_role(Role::Operator) {
        return Err(ServiceError::NotOperator.into());
    }
    let (dbms, table) = (plain(rows.dbms), plain(rows.table));
    let rows = Rows { dbms: &dbms, table: &table, ..rows };
    let put = node.engine().put_rows(rows).await.map_err(edgemere_query::Error::from)?;
    announce::settled(node).await;
    Ok(put)
}

/// Stores content once: the same in the same table is refused. Returns EdgeLake's hash of it, too.
pub async fn put_file(
    node: &Arc<Node>,
    dbms: &str,
    table: &str,
    input: Input,
    bytes: &[u8],
    mixed: Mixed,
) -> Result<(Put, String), Error> {
    let (dbms, table) = (plain(dbms), plain(table));
    let hash = chunking::content_hash(&dbms, &table, input, bytes);
    let key = format!("file {hash}");
    let (dbms, table, key, strict) = (dbms.as_str(), table.as_str(), Some(key.as_str()), false);
    let rows = Rows { dbms, table, input, bytes, key, mixed, strict };
    // EdgeLake's hash leaves some bytes out, as spaces: what has the same is the same.
    let same = |rows| ServiceError::SameContent {
        table: format!("{dbms}.{table}"),
        rows,
        hash: hash.clone(),
    };
    match put_rows(node, rows).await {
        Ok(put) if put.repeated => Err(same(put.stored).into()),
        Err(Error::Service(ServiceError::Storage(StoreError::Storage(NotStored::Storage(
            KeyReused { rows, .. },
        ))))) => Err(same(usize::try_from(rows).unwrap_or(usize::MAX)).into()),
        put => Ok((put?, hash)),
    }
}

/// A name as the engine has it.
fn plain(name: &str) -> String {
    name.trim().to_lowercase()
}
