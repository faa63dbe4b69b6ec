//! The node's own policies: what it is, where it is, for an operator its cluster, and its tables.
//! They are added when the node starts and when it joins, and made good when the master has lost
//! them or another node has said something else of a shared table.

use std::sync::Arc;

use edgemere_ledger::{Condition, Followed, Kinds, Ledger, Policy, Scope};
use serde_json::{Map, Value, json};

use crate::destination::address_of;
use crate::error::Error;
use crate::ingest;
use crate::node::{Node, Role};
use crate::peers::PING_TIMEOUT;

/// Adds the node's own policies to its ledger, or brings them up to date when it has moved. A name
/// that another node answers to is refused.
pub async fn register(node: &Arc<Node>) -> Result<(), Error> {
    if node.settings().register {
        refuse_taken_name(node).await?;
        let of = Arc::clone(node);
        node.change_ledger(move |_| register_all(&of)).await?;
    }
    let of = Arc::clone(node);
    node.change_ledger(move |_| ingest::publish_all(&of)).await
}

/// The id of the policy that makes the node an operator, once there is one: under its name, or with
/// its address when somebody else has added it.
pub fn operator_id(node: &Node) -> Option<String> {
    let settings = node.settings();
    let operators = Kinds::one(Role::Operator.name());
    let is_own = Condition::All(vec![
        Condition::equal("name", settings.name.as_str()),
        Condition::equal("company", settings.company.as_str()),
    ]);
    let own = settings.network.to_string();
    let mut known = node.ledger().select(&operators, &is_own);
    if known.is_empty() {
        let port = Condition::equal("port", settings.network.port());
        known = node.ledger().select(&operators, &port);
        known.retain(|policy| address_of(policy).as_deref() == Some(&own));
    }
    known.first()?.id().map(String::from)
}

/// Adds them when the node has got the master's ledger for the first time since its start.
pub(super) async fn join(node: &Arc<Node>) {
    if let Err(error) = register(node).await {
        let (reason, hint) = (error.message(), error.hint());
        tracing::error!(reason, hint, "the node's own policies are not in the network's ledger");
    }
}

/// Sees to them after the copy has changed. Only what is lost by a fault of the master's disk is
/// registered again: what somebody took out of the ledger stays out until the node starts again.
pub(super) async fn see_to(node: &Arc<Node>, followed: &Followed) {
    if followed.resynchronised {
        join(node).await;
    } else if followed.kinds.contains("table") {
        let of = Arc::clone(node);
        if let Err(error) = node.change_ledger(move |_| ingest::publish_all(&of)).await {
            tracing::warn!(reason = error.message(), "the node's tables could not be published");
        }
    }
}

/// Refuses the name that another node has which answers at another address.
async fn refuse_taken_name(node: &Arc<Node>) -> Result<(), Error> {
    let settings = node.settings();
    let own = settings.network.to_string();
    let is_same = Condition::All(vec![
        Condition::equal("name", settings.name.as_str()),
        Condition::equal("company", settings.company.as_str()),
    ]);
    for role in Role::ALL.into_iter().filter(|role| node.has_role(*role)) {
        let known = node.ledger().select(&Kinds::one(role.name()), &is_same);
        let others = known.iter().filter_map(|policy| address_of(policy));
        for address in others.filter(|address| *address != own) {
            let call = settings.peers.call(&address, "get node name", PING_TIMEOUT).await;
            if let Ok(answer) = call
                && let Ok(name) = answer.into_text().await
                && name.split('@').next() == Some(settings.name.as_str())
            {
                return Err(Error::NameTaken { name: settings.name.clone(), address });
            }
        }
    }
    Ok(())
}

fn register_all(node: &Node) -> Result<(), edgemere_ledger::Error> {
    let settings = node.settings();
    let scope = node.scope();
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
        put(node.ledger(), role.name(), &attributes, scope)?;
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
    match node.ledger().get(&id) {
        Some(known) => ingest::spread(node.ledger(), &known, scope)?,
        None => drop(node.ledger().insert(policy, scope)?),
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
        Some((known, _)) if says(known, attributes) => ingest::spread(ledger, known, scope),
        Some((_, id)) => ledger.replace(id, policy, scope).map(drop),
    }
}

/// Whether a policy has all these attributes.
fn says(policy: &Policy, attributes: &Map<String, Value>) -> bool {
    attributes.iter().all(|(name, value)| policy.attribute(name) == Some(value))
}
