//! Where the tables of the network are, as the ledger tells it: a table's columns are in its policy,
//! and the operators that hold it are those of the clusters that name it.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use edgemere_ledger::{Ledger, NODE_ID, Policy, Position, accepted};
use edgemere_query::distributed::{Bound, Operator, Shard, ShardMap, Table};
use edgemere_storage::storage::Reached;
use serde_json::Value;

use crate::destination::address_of;
use crate::lookup;
use crate::node::Node;

/// The tables of a ledger.
#[derive(Debug)]
pub(crate) struct Places {
    ledger: Ledger,
    /// The addresses of the operators that alone are asked; none is all of them.
    nodes: Option<HashSet<String>>,
    resolved: Mutex<Resolved>,
}

/// The tables that were resolved, and the end of the ledger's log that they hold for: a table's columns are
/// parsed once per change of the ledger, and not once per query.
#[derive(Debug, Default)]
struct Resolved {
    end: Option<Position>,
    tables: HashMap<(String, String), Table>,
}

impl Places {
    /// The tables of all operators.
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self { ledger, nodes: None, resolved: Mutex::default() }
    }

    /// The tables of the operators at these addresses, with the rows that these hold.
    pub(crate) fn among(ledger: Ledger, nodes: &[String]) -> Self {
        let nodes = Some(nodes.iter().cloned().collect());
        Self { ledger, nodes, resolved: Mutex::default() }
    }

    /// A table as the ledger has it now.
    fn resolve(&self, dbms: &str, table: &str) -> Option<Table> {
        let known = lookup::with(&self.ledger, "table", &[("dbms", dbms), ("name", table)]);
        let policy = known.first().filter(|policy| policy.text("create").is_some())?;
        let definition = lookup::definition(policy).and_then(|found| found.schema());
        let schema = definition.inspect_err(|error| {
            tracing::warn!(dbms, table, %error, "the ledger's definition of a table is not one");
        });
        let parts = self.parts(dbms, table);
        // Of operators that were named, those that do not hold the table have none of that name.
        let is_there = self.nodes.is_none() || !parts.is_empty();
        is_there.then_some(Table { schema: schema.ok()?, parts })
    }

    /// The operators that hold a table, of those that are asked.
    fn parts(&self, dbms: &str, table: &str) -> Vec<Shard> {
        let operators = lookup::operators_of(&self.ledger, dbms, table);
        let is_asked = |policy: &Policy| match &self.nodes {
            None => true,
            Some(nodes) => address_of(policy).is_some_and(|address| nodes.contains(&address)),
        };
        let asked = operators.iter().filter(|operator| is_asked(operator));
        asked.filter_map(|operator| part(operator)).collect()
    }
}

impl ShardMap for Places {
    fn databases(&self) -> Vec<String> {
        let tables = lookup::of_kind(&self.ledger, "table");
        distinct(tables.iter().filter_map(|table| table.text("dbms")))
    }

    fn tables(&self, dbms: &str) -> Vec<String> {
        let tables = lookup::with(&self.ledger, "table", &[("dbms", dbms)]);
        let mut names = distinct(tables.iter().filter_map(|table| table.text("name")));
        if self.nodes.is_some() {
            names.retain(|name| !self.parts(dbms, name).is_empty());
        }
        names
    }

    fn table(&self, dbms: &str, table: &str) -> Option<Table> {
        let (end, name) = (self.ledger.end(), (dbms.to_owned(), table.to_owned()));
        {
            let resolved = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
            if resolved.end.as_ref() == Some(&end)
                && let Some(found) = resolved.tables.get(&name)
            {
                return Some(found.clone());
            }
        }
        let found = self.resolve(dbms, table)?;
        let mut resolved = self.resolved.lock().unwrap_or_else(PoisonError::into_inner);
        if resolved.end.as_ref() != Some(&end) {
            *resolved = Resolved { end: Some(end), tables: HashMap::new() };
        }
        resolved.tables.insert(name, found.clone());
        Some(found)
    }
}

/// Whether a query whose caller names no nodes is for the network: this node has nothing of its database,
/// and the ledger has tables of it. A node with tables of its own answers for itself, as EdgeLake's does.
pub(crate) fn is_elsewhere(node: &Node, dbms: &str) -> bool {
    let storage = node.engine().storage();
    let has_own = || {
        storage.is_disconnected(dbms)
            || !storage.tables(dbms).is_empty()
            || !storage.views(dbms).is_empty()
    };
    !has_own() && !Places::new(node.ledger().clone()).tables(dbms).is_empty()
}

/// What an operator holds. Rows are not copied between operators, so each holds a part of its own,
/// also beside others of its cluster.
fn part(policy: &Policy) -> Option<Shard> {
    let operator = Operator {
        id: policy.id()?.to_owned(),
        name: policy.text("name").unwrap_or("operator").to_owned(),
        address: address_of(policy)?,
        bound: policy.text(NODE_ID).map(|node| {
            let (node, reached) = (node.to_owned(), reached(policy));
            Arc::new(Bound { node, reached, accepted: accepted(policy) })
        }),
    };
    Some(Shard { operators: vec![operator], rows: None })
}

/// How far an operator says that its storage was. A policy of an earlier version names no epoch.
pub(crate) fn reached(policy: &Policy) -> Reached {
    let position = policy.attribute("position").and_then(Value::as_u64);
    let epoch = policy.text("epoch").and_then(|text| text.parse().ok());
    Reached { epoch: epoch.unwrap_or_default(), position: position.unwrap_or_default() }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<_> = names.map(str::to_lowercase).collect();
    names.sort_unstable();
    names.dedup();
    names
}
