//! Where the tables of the network are, as the ledger tells it: a table's columns are in its policy,
//! and the operators that hold it are those of the clusters that name it.

use std::sync::Arc;

use edgemere_engine::Definition;
use edgemere_engine::network::{Bound, Operator, Part, Placement, Table};
use edgemere_engine::storage::Reached;
use edgemere_ledger::{Ledger, NODE_ID, Policy, accepted};
use serde_json::Value;

use crate::destination::address_of;
use crate::lookup;

/// The tables of a ledger.
#[derive(Debug)]
pub(crate) struct Places(pub(crate) Ledger);

impl Placement for Places {
    fn databases(&self) -> Vec<String> {
        let tables = lookup::of_kind(&self.0, "table");
        distinct(tables.iter().filter_map(|table| table.text("dbms")))
    }

    fn tables(&self, dbms: &str) -> Vec<String> {
        let tables = lookup::with(&self.0, "table", &[("dbms", dbms)]);
        distinct(tables.iter().filter_map(|table| table.text("name")))
    }

    fn table(&self, dbms: &str, table: &str) -> Option<Table> {
        let known = lookup::with(&self.0, "table", &[("dbms", dbms), ("name", table)]);
        let create = known.first()?.text("create")?;
        let definition = Definition::from_create(create).and_then(|found| found.schema());
        let schema = definition.inspect_err(|error| {
            tracing::warn!(dbms, table, %error, "the ledger's definition of a table is not one");
        });
        let operators = lookup::operators_of(&self.0, dbms, table);
        Some(Table {
            schema: schema.ok()?,
            parts: operators.iter().filter_map(|operator| part(operator)).collect(),
        })
    }
}

/// What an operator holds. Rows are not copied between operators, so each holds a part of its own,
/// also beside others of its cluster.
fn part(policy: &Policy) -> Option<Part> {
    let operator = Operator {
        id: policy.id()?.to_owned(),
        name: policy.text("name").unwrap_or("operator").to_owned(),
        address: address_of(policy)?,
        bound: policy.text(NODE_ID).map(|node| {
            let (node, reached) = (node.to_owned(), reached(policy));
            Arc::new(Bound { node, reached, accepted: accepted(policy) })
        }),
    };
    Some(Part { operators: vec![operator], rows: None })
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
