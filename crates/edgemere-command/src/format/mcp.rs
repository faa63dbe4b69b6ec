//! `format = mcp`: the least that an agent needs to know, in a shape that is easy to read; and
//! `extract = …`, the values of one attribute alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use edgemere_ledger::Policy;
use serde_json::{Value, json};

use super::{compare, to_json};
use crate::reply::{Body, Reply};

/// What `format = mcp` gives.
pub(crate) fn to_mcp(reply: Reply) -> Value {
    match (reply.mcp, &reply.body) {
        (Some(mcp), _) => mcp,
        (None, Body::Policies(policies)) => of_policies(policies),
        (None, _) => to_json(Reply { mcp: None, ..reply }),
    }
}

/// The different values of an attribute, sorted.
pub(crate) fn extract(reply: Reply, attribute: &str) -> Value {
    let values: Vec<Value> = match &reply.body {
        Body::Policies(policies) => {
            policies.iter().filter_map(|policy| policy.attribute(attribute).cloned()).collect()
        }
        _ => match to_mcp(reply) {
            Value::Array(items) => {
                items.into_iter().filter_map(|item| item.get(attribute).cloned()).collect()
            }
            other => other.get(attribute).cloned().into_iter().collect(),
        },
    };
    unique_sorted(values)
}

fn unique_sorted(mut values: Vec<Value>) -> Value {
    values.sort_by(compare);
    values.dedup();
    Value::Array(values)
}

/// Policies of one type in that type's least shape; of several types, whole.
fn of_policies(policies: &[Arc<Policy>]) -> Value {
    let kinds: BTreeSet<_> = policies.iter().map(|policy| policy.kind()).collect();
    match kinds.into_iter().collect::<Vec<_>>().as_slice() {
        ["table"] => tables(policies),
        ["cluster"] => clusters(policies),
        ["operator" | "query" | "master" | "publisher"] => nodes(policies),
        _ => policies.iter().map(|policy| policy.to_value()).collect(),
    }
}

fn tables(policies: &[Arc<Policy>]) -> Value {
    let names: BTreeSet<_> =
        policies.iter().filter_map(|p| Some((p.text("dbms")?, p.name()?))).collect();
    names.into_iter().map(|(dbms, name)| json!({ "database": dbms, "table": name })).collect()
}

fn nodes(policies: &[Arc<Policy>]) -> Value {
    let node = |policy: &Arc<Policy>| {
        let attribute = |name| policy.attribute(name).cloned().unwrap_or_default();
        json!({ "name": attribute("name"), "ip": attribute("ip"), "port": attribute("port") })
    };
    policies.iter().map(node).collect()
}

/// A cluster is declared by one policy, and each of its tables by a further one that names the
/// first as its parent: together they are one cluster.
fn clusters(policies: &[Arc<Policy>]) -> Value {
    let mut clusters: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for policy in policies {
        let Some(id) = policy.text("parent").or(policy.id()) else { continue };
        let tables = policy.attribute("table").and_then(Value::as_array).into_iter().flatten();
        let names = tables.filter_map(|table| {
            let part = |name| table.get(name).and_then(Value::as_str);
            Some(format!("{}.{}", part("dbms")?, part("name")?))
        });
        clusters.entry(id).or_default().extend(names);
    }
    clusters.into_iter().map(|(id, tables)| json!({ "cluster_id": id, "tables": tables })).collect()
}
