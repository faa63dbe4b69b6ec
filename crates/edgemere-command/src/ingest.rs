//! Rows into a node: stored by the engine, and their table made known to the network by policies.

use std::sync::Arc;

use edgemere_engine::ingest::Input;
use edgemere_engine::pieces;
use edgemere_engine::storage::Error::KeyReused;
use edgemere_engine::{Column, Definition, Put, Rows, Schema};
use edgemere_ledger::{Ledger, Policy, Scope};
use serde_json::json;

use crate::error::Error;
use crate::lookup;
use crate::node::{Node, Role};

/// What is said to have made a table.
const SOURCE: &str = "Ingested rows";

/// Stores rows in a table of this node: durable and visible when this returns. A table that is not
/// there is made; it and columns that are new are published in the ledger.
pub async fn put(
    node: &Arc<Node>,
    dbms: &str,
    table: &str,
    input: Input,
    bytes: &[u8],
) -> Result<Put, Error> {
    put_rows(node, Rows { dbms, table, input, bytes, key: None }).await
}

/// Stores rows as [`put`] does, and those with a key only once.
pub async fn put_rows(node: &Arc<Node>, rows: Rows<'_>) -> Result<Put, Error> {
    if !node.has_role(Role::Operator) {
        return Err(Error::NotOperator);
    }
    let (dbms, table) = (plain(rows.dbms), plain(rows.table));
    let put = node.engine().put_rows(Rows { dbms: &dbms, table: &table, ..rows }).await?;
    if let Some(schema) = put.changed.clone() {
        announce(node, &dbms, &table, schema).await;
    }
    Ok(put)
}

/// Stores content once: the same in the same table is refused. Returns EdgeLake's hash of it, too.
pub async fn put_file(
    node: &Arc<Node>,
    dbms: &str,
    table: &str,
    input: Input,
    bytes: &[u8],
) -> Result<(Put, String), Error> {
    let (dbms, table) = (plain(dbms), plain(table));
    let hash = pieces::content_hash(&dbms, &table, input, bytes);
    let key = format!("file {hash}");
    let rows = Rows { dbms: &dbms, table: &table, input, bytes, key: Some(&key) };
    // EdgeLake's hash leaves some bytes out, as spaces: what has the same is the same.
    let same =
        |rows| Error::SameContent { table: format!("{dbms}.{table}"), rows, hash: hash.clone() };
    match put_rows(node, rows).await {
        Ok(put) if put.repeated => Err(same(put.stored)),
        Err(Error::Engine(edgemere_engine::Error::Storage(KeyReused { rows, .. }))) => {
            Err(same(usize::try_from(rows).unwrap_or(usize::MAX)))
        }
        put => Ok((put?, hash)),
    }
}

/// A name as the engine has it.
fn plain(name: &str) -> String {
    name.trim().to_lowercase()
}

/// Publishes a table that is stored. What the ledger lacks when this fails is published at the next
/// start.
pub(crate) async fn announce(node: &Arc<Node>, dbms: &str, table: &str, schema: Schema) {
    let (node, dbms, table) = (Arc::clone(node), dbms.to_owned(), table.to_owned());
    let published =
        tokio::task::spawn_blocking(move || publish(&node, &dbms, &table, &schema)).await;
    match published {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the table could not be published"),
        Err(error) => tracing::warn!(%error, "the table could not be published"),
    }
}

/// Publishes the tables of this node that the ledger does not know as they are.
pub fn publish_all(node: &Node) -> Result<(), edgemere_ledger::Error> {
    let storage = node.engine().storage();
    for dbms in storage.databases() {
        for table in storage.tables(&dbms) {
            publish(node, &dbms, table.name(), &table.schema())?;
        }
    }
    Ok(())
}

fn publish(
    node: &Node,
    dbms: &str,
    table: &str,
    schema: &Schema,
) -> Result<(), edgemere_ledger::Error> {
    let scope = node.scope();
    publish_table(node.ledger(), dbms, table, schema, scope)?;
    publish_cluster(node, dbms, table, scope)
}

fn publish_table(
    ledger: &Ledger,
    dbms: &str,
    table: &str,
    schema: &Schema,
    scope: Scope,
) -> Result<(), edgemere_ledger::Error> {
    let known = lookup::with(ledger, "table", &[("dbms", dbms), ("name", table)]);
    let create = known.first().and_then(|known| known.text("create")).unwrap_or_default();
    let published = Definition::from_create(create).and_then(|definition| definition.schema());
    let published = published.unwrap_or_default();
    let (all, is_more) = joined(published, schema);
    let policy = Policy::from_value(json!({ "table": {
        "name": table, "dbms": dbms, "create": create_text(table, &all), "source": SOURCE,
    }}))?;
    match known.first() {
        None => ledger.insert(policy, scope).map(drop),
        Some(known) if !is_more => spread(ledger, known, scope),
        Some(known) => ledger.replace(known.id().unwrap_or_default(), policy, scope).map(drop),
    }
}

/// The columns that are published and, after them, those that a table of this node has beside; and
/// whether there are such. Other operators may have published columns, and types, that this one does
/// not have: what is in the ledger first holds.
fn joined(published: Schema, own: &Schema) -> (Schema, bool) {
    let mut all = published;
    let is_new = |column: &&Column| all.position(&column.name).is_none();
    let new: Vec<_> = own.columns.iter().filter(is_new).cloned().collect();
    let is_more = !new.is_empty();
    all.columns.extend(new);
    (all, is_more)
}

/// Gives a policy that nobody else knows to the master, of a node that has a master since.
pub(crate) fn spread(
    ledger: &Ledger,
    known: &Policy,
    scope: Scope,
) -> Result<(), edgemere_ledger::Error> {
    match (known.scope(), scope) {
        (Some(Scope::Local), Scope::Pending | Scope::Global) => {
            ledger.set_scope(known.id().unwrap_or_default(), scope).map(drop)
        }
        _ => Ok(()),
    }
}

/// Says that this node's cluster holds the table, if the cluster is in the ledger.
fn publish_cluster(
    node: &Node,
    dbms: &str,
    table: &str,
    scope: Scope,
) -> Result<(), edgemere_ledger::Error> {
    let settings = node.settings();
    let ledger = node.ledger();
    let values = [("company", settings.company.as_str()), ("name", settings.cluster.as_str())];
    let clusters = lookup::with(ledger, "cluster", &values);
    let parent = clusters.iter().find(|cluster| cluster.attribute("parent").is_none());
    let Some(parent) = parent.and_then(|parent| parent.id()) else { return Ok(()) };
    let policy = Policy::from_value(json!({ "cluster": {
        "parent": parent,
        "name": settings.cluster,
        "company": settings.company,
        "table": [{ "dbms": dbms, "name": table }],
        "source": format!("Node at {}", settings.network),
    }}))?;
    match ledger.get(&policy.content_id()) {
        Some(known) => spread(ledger, &known, scope),
        None => ledger.insert(policy, scope).map(drop),
    }
}

/// The statement that would make the table, as EdgeLake writes it into a policy.
fn create_text(table: &str, schema: &Schema) -> String {
    let name = identifier(table);
    let mut columns = String::new();
    let mut indexes = String::new();
    for column in &schema.columns {
        let column_name = identifier(&column.name);
        let kind = column.kind.sql();
        columns.push_str(&format!(",  {column_name} {kind}"));
        if kind == "timestamp" {
            let index = identifier(&format!("{table}_{}_index", column.name));
            indexes.push_str(&format!(" CREATE INDEX {index} ON {name}({column_name});"));
        }
    }
    format!(
        "CREATE TABLE IF NOT EXISTS {name}(  row_id SERIAL PRIMARY KEY,  insert_timestamp TIMESTAMP \
         NOT NULL DEFAULT NOW(),  tsd_name CHAR(3),  tsd_id INT{columns} );{indexes}"
    )
}

/// A name as SQL takes it: in quotes unless it is plain.
fn identifier(name: &str) -> String {
    let is_plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
