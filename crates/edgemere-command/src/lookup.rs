//! Lookups in the ledger and in the node's own rows that several commands need.

use std::sync::Arc;

use edgemere_ledger::{Condition, Kinds, Ledger, Policy};
use edgemere_query::{Definition, DefinitionError};
use edgemere_storage::storage::{Error as StorageError, Storage, Table};
use serde_json::Value;

use crate::error::Error;
use crate::near;
use crate::node::Node;

/// All policies of a type.
pub(crate) fn of_kind(ledger: &Ledger, kind: &str) -> Vec<Arc<Policy>> {
    ledger.select(&Kinds::one(kind), &Condition::True)
}

/// The policies of a type that have these values.
pub(crate) fn with(ledger: &Ledger, kind: &str, values: &[(&str, &str)]) -> Vec<Arc<Policy>> {
    let equals = values.iter().map(|(attribute, value)| Condition::equal(attribute, *value));
    ledger.select(&Kinds::one(kind), &Condition::All(equals.collect()))
}

/// The attribute of a table's policy with the names that its columns had where they came from, by column.
pub(crate) const ORIGINAL_NAMES: &str = "original_names";

/// The definition of a table in its policy.
pub(crate) fn definition(policy: &Policy) -> Result<Definition, DefinitionError> {
    let create = policy.text("create").unwrap_or_default();
    let originals = policy.attribute(ORIGINAL_NAMES);
    let original = |name: &str| originals?.get(name)?.as_str().map(str::to_owned);
    Ok(Definition::from_create(create)?.with_originals(original))
}

/// A table of this node.
pub(crate) fn local_table(storage: &Storage, dbms: &str, name: &str) -> Result<Arc<Table>, Error> {
    if let Some(table) = storage.table(dbms, name) {
        return Ok(table);
    }
    let tables = local_tables(storage, dbms)?;
    let hint = near::hint(name, tables.iter().map(|table| table.name()))
        .or_else(|| Some("\"get rows count\" lists the tables of this node".into()));
    Err(Error::UnknownTable { dbms: dbms.into(), table: name.into(), hint })
}

/// The tables of a database of this node.
pub(crate) fn local_tables(storage: &Storage, dbms: &str) -> Result<Vec<Arc<Table>>, Error> {
    if storage.is_disconnected(dbms) {
        return Err(StorageError::Disconnected { dbms: dbms.to_owned() }.into());
    }
    let databases = storage.databases();
    match databases.iter().any(|known| known == dbms) {
        true => Ok(storage.tables(dbms)),
        false => Err(Error::UnknownDatabase {
            dbms: dbms.to_owned(),
            hint: near::hint(dbms, databases.iter().map(String::as_str))
                .or_else(|| Some("\"get databases\" lists the databases".into())),
        }),
    }
}

/// The tables of this node: all, those of a database, one, or those of a name in all databases.
pub(crate) fn wanted_tables(
    node: &Node,
    dbms: Option<&str>,
    name: Option<&str>,
) -> Result<Vec<Arc<Table>>, Error> {
    let storage = node.engine().storage();
    match (dbms, name) {
        (Some(dbms), Some(name)) => Ok(vec![local_table(storage, dbms, name)?]),
        (Some(dbms), None) => local_tables(storage, dbms),
        (None, name) => {
            let databases = storage.databases();
            let tables = databases.iter().flat_map(|dbms| storage.tables(dbms));
            Ok(tables.filter(|table| name.is_none_or(|name| name == table.name())).collect())
        }
    }
}

/// The operators that hold a table: those of the clusters whose policies name it.
pub(crate) fn operators_of(ledger: &Ledger, dbms: &str, table: &str) -> Vec<Arc<Policy>> {
    let mut operators: Vec<Arc<Policy>> = Vec::new();
    for cluster in of_kind(ledger, "cluster") {
        let Some(id) = cluster.text("parent").or(cluster.id()) else { continue };
        if tables_of(&cluster).iter().any(|(d, t)| d == dbms && t == table) {
            operators.extend(with(ledger, "operator", &[("cluster", id)]));
        }
    }
    let mut seen = std::collections::HashSet::new();
    operators.retain(|operator| seen.insert(operator.id().map(String::from)));
    operators
}

/// The tables that a cluster's policy names.
pub(crate) fn tables_of(cluster: &Policy) -> Vec<(String, String)> {
    let tables = cluster.attribute("table").and_then(Value::as_array).into_iter().flatten();
    let text = |table: &Value, key| table.get(key).and_then(Value::as_str).map(String::from);
    tables.filter_map(|table| Some((text(table, "dbms")?, text(table, "name")?))).collect()
}
