//! The node's own policies: what it is, where it is, and for an operator its cluster.

use std::sync::Arc;

use anyhow::Context;
use edgemere_command::{Node, Role};
use edgemere_ledger::{Condition, Kinds, Ledger, Policy, Scope};
use serde_json::{Map, Value, json};

/// Adds the node's own policies to its ledger, or brings them up to date when it has moved.
pub(super) async fn register(node: &Arc<Node>) -> anyhow::Result<()> {
    let node = Arc::clone(node);
    tokio::task::spawn_blocking(move || register_all(&node))
        .await?
        .context("cannot add the node's own policies to the ledger")
}

fn register_all(node: &Node) -> Result<(), edgemere_ledger::Error> {
    let settings = node.settings();
    let ledger = node.ledger();
    let scope = if node.has_role(Role::Master) { Scope::Global } else { Scope::Local };
    for role in Role::ALL.into_iter().filter(|role| node.has_role(*role)) {
        let mut attributes = Map::new();
        attributes.insert("name".into(), settings.name.clone().into());
        attributes.insert("company".into(), settings.company.clone().into());
        attributes.insert("ip".into(), settings.network.ip().to_string().into());
        attributes.insert("port".into(), settings.network.port().into());
        attributes.insert("rest_port".into(), settings.http.port().into());
        if role == Role::Operator {
            attributes.insert("cluster".into(), cluster_id(node, scope)?.into());
        }
        put(ledger, role.name(), &attributes, scope)?;
    }
    Ok(())
}

/// The id of the node's cluster, whose policy is added when there is none.
fn cluster_id(node: &Node, scope: Scope) -> Result<String, edgemere_ledger::Error> {
    let settings = node.settings();
    let attributes = json!({ "company": settings.company, "name": settings.cluster });
    let mut policy = Policy::from_value(json!({ "cluster": attributes }))?;
    policy.prepare();
    let id = policy.id().unwrap_or_default().to_owned();
    if node.ledger().get(&id).is_none() {
        node.ledger().insert(policy, scope)?;
    }
    Ok(id)
}

/// Adds a policy of the node, or replaces the one under its name when it says something else.
fn put(
    ledger: &Ledger,
    kind: &str,
    attributes: &Map<String, Value>,
    scope: Scope,
) -> Result<(), edgemere_ledger::Error> {
    let equal =
        |name: &str| Condition::equal(name, attributes.get(name).cloned().unwrap_or_default());
    let is_own = Condition::All(vec![equal("name"), equal("company")]);
    let known = ledger.select(&Kinds::one(kind), &is_own).into_iter().next();
    let policy = Policy::from_value(json!({ kind: attributes }))?;
    match known.as_ref().and_then(|known| Some((known, known.id()?))) {
        None => ledger.insert(policy, scope).map(drop),
        Some((known, _)) if says(known, attributes) => Ok(()),
        Some((_, id)) => ledger.update(id, policy).map(drop),
    }
}

/// Whether a policy has all these attributes.
fn says(policy: &Policy, attributes: &Map<String, Value>) -> bool {
    attributes.iter().all(|(name, value)| policy.attribute(name) == Some(value))
}
