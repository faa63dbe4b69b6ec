//! The node's own policies: what it is, where it is, for an operator its cluster, and its tables.
//! They are added when the node starts and when it joins, and made good when the master has lost
//! them or another node has said something else of a shared table.

use std::sync::Arc;

use edgemere_ledger::{
    Condition, Error as LedgerError, Followed, Kinds, Ledger, NODE_ID, Policy, Scope,
};
use edgemere_query::distributed::Own;
use edgemere_storage::storage::Reached;
use serde_json::{Map, Value, json};

use crate::announce::{self, spread};
use crate::destination::address_of;
use crate::error::Error;
use crate::node::{Node, Role};
use crate::peers::PING_TIMEOUT;
use crate::placement::reached;

/// Adds the node's own policies to its ledger, or brings them up to date when it has moved. A name
/// that another node answers to is refused.
pub async fn register(node: &Arc<Node>) -> Result<(), Error> {
    if node.settings().register {
        refuse_taken_name(node).await?;
        let of = Arc::clone(node);
        node.change_ledger(move |_| register_all(&of)).await?;
    }
    node.announcer().ledger_changed();
    announce::compare(node).await
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

/// What the node is to queries of the network, once it is an operator in the ledger.
pub fn operator(node: &Node) -> Option<Own> {
    Some(Own {
        id: operator_id(node)?,
        node: node.settings().identity.id().to_owned(),
        history: node.engine().storage().history(),
    })
}

/// Makes the ledger one of a network, when the node is its master: of a new network, when it is of
/// none yet.
pub async fn found(node: &Arc<Node>) -> Result<(), Error> {
    match node.has_role(Role::Master) {
        true => node.change_ledger(|ledger| ledger.found().map(drop)).await,
        false => Ok(()),
    }
}

/// Says in the ledger how far the node's storage is, when it has gone on: by that everybody knows it
/// from an older copy of itself.
pub async fn publish_position(node: &Arc<Node>) -> Result<(), Error> {
    if !node.settings().register || !node.has_role(Role::Operator) {
        return Ok(());
    }
    let of = Arc::clone(node);
    let publish = move |ledger: &Ledger| match own_policy(&of, Role::Operator) {
        // A policy that an admin dropped stays out until the node restarts.
        None => Ok(()),
        Some(known) if reached(&known) == of.engine().storage().history().reached() => Ok(()),
        Some(_) => register_role(&of, ledger, Role::Operator),
    };
    node.change_ledger(publish).await
}

/// Adds them when the node has got the master's ledger for the first time since its start.
pub(super) async fn join(node: &Arc<Node>) {
    if let Err(error) = register(node).await {
        let (reason, hint) = (error.message(), error.hint().map(|hint| hint.to_string()));
        tracing::error!(reason, hint, "the node's own policies are not in the network's ledger");
    }
}

/// Sees to them after the copy has changed. Only what is lost by a fault of the master's disk is
/// registered again: what somebody took out of the ledger stays out until the node starts again.
pub(super) async fn see_to(node: &Arc<Node>, followed: &Followed) {
    if followed.resynchronised || is_to_bind(node, followed) {
        join(node).await;
    } else if ["table", "cluster"].iter().any(|kind| followed.kinds.contains(*kind)) {
        node.announcer().ledger_changed();
        if let Err(error) = announce::compare(node).await {
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

/// Whether an admin has accepted this node in the place of the one that a policy of its was bound to.
fn is_to_bind(node: &Node, followed: &Followed) -> bool {
    let of_role = |role: Role| {
        let known = own_policy(node, role);
        followed.kinds.contains(role.name())
            && known.is_some_and(|known| known.text(NODE_ID).is_none())
    };
    node.settings().register
        && Role::ALL.into_iter().any(|role| node.has_role(role) && of_role(role))
}

fn register_all(node: &Node) -> Result<(), LedgerError> {
    for role in Role::ALL.into_iter().filter(|role| node.has_role(*role)) {
        match register_role(node, node.ledger(), role) {
            // Its policy stays as it was, so that queries of the network say that rows are lost. The
            // master itself goes on: on it an admin may accept the folder.
            Err(error @ LedgerError::Backwards { .. }) if node.has_role(Role::Master) => {
                let hint = error.hint();
                tracing::error!(reason = %error, hint, "this node's rows are not what they were");
            }
            registered => registered?,
        }
    }
    Ok(())
}

fn register_role(node: &Node, ledger: &Ledger, role: Role) -> Result<(), LedgerError> {
    let (settings, scope) = (node.settings(), node.scope());
    let mut attributes = Map::new();
    attributes.insert("name".into(), settings.name.clone().into());
    attributes.insert("company".into(), settings.company.clone().into());
    attributes.insert("ip".into(), settings.network.ip().to_string().into());
    attributes.insert("port".into(), settings.network.port().into());
    attributes.insert("rest_port".into(), settings.http.port().into());
    if role == Role::Operator {
        attributes.insert("cluster".into(), cluster_id(node, scope)?.into());
    }
    // The id is that of what the node is, so that it does not change with its identity.
    let mut policy = Policy::from_value(json!({ role.name(): attributes }))?;
    policy.prepare();
    let id = policy.id().unwrap_or_default().to_owned();
    let known = own_policy(node, role);
    if let Some(known) = &known {
        refuse_another(node, role, known)?;
    }
    if role == Role::Operator {
        let Reached { epoch, position } = node.engine().storage().history().reached();
        attributes.insert("position".into(), position.into());
        attributes.insert("epoch".into(), epoch.to_string().into());
    }
    let is_bound = known.as_ref().is_some_and(|known| known.text(NODE_ID).is_some());
    match known.as_ref().and_then(|known| Some((known, known.id()?))) {
        Some((known, _)) if is_bound && says(known, &attributes) => spread(ledger, known, scope),
        Some((known, id)) => {
            settings.identity.bind(role.name(), &mut attributes, Some(known));
            let policy = Policy::from_value(json!({ role.name(): attributes }))?;
            ledger.replace(id, policy, scope).map(drop)
        }
        None => {
            settings.identity.bind(role.name(), &mut attributes, None);
            attributes.insert("id".into(), id.into());
            let policy = Policy::from_value(json!({ role.name(): attributes }))?;
            ledger.insert(policy, scope).map(drop)
        }
    }
}

/// The policy of the node in a role, under its name.
fn own_policy(node: &Node, role: Role) -> Option<Arc<Policy>> {
    let settings = node.settings();
    let is_own = Condition::All(vec![
        Condition::equal("name", settings.name.as_str()),
        Condition::equal("company", settings.company.as_str()),
    ]);
    node.ledger().select(&Kinds::one(role.name()), &is_own).into_iter().next()
}

/// Refuses to speak for a node with another data folder, and for this one when it is an older copy of
/// itself: its rows would be missed, and nobody would know.
fn refuse_another(node: &Node, role: Role, known: &Policy) -> Result<(), LedgerError> {
    let name = node.settings().name.clone();
    match known.text(NODE_ID) {
        Some(owner) if owner != node.settings().identity.id() => {
            Err(LedgerError::OtherIdentity { kind: role.name().to_owned(), name })
        }
        _ => match node.engine().storage().history().lacks(reached(known)) {
            Some(reason) => Err(LedgerError::Backwards { name, reason }),
            None => Ok(()),
        },
    }
}

/// The id of the node's cluster, whose policy is added when there is none.
fn cluster_id(node: &Node, scope: Scope) -> Result<String, edgemere_ledger::Error> {
    let settings = node.settings();
    let attributes = json!({ "company": settings.company, "name": settings.cluster });
    let mut policy = Policy::from_value(json!({ "cluster": attributes }))?;
    policy.prepare();
    let id = policy.id().unwrap_or_default().to_owned();
    match node.ledger().get(&id) {
        Some(known) => spread(node.ledger(), &known, scope)?,
        None => drop(node.ledger().insert(policy, scope)?),
    }
    Ok(id)
}

/// Whether a policy has all these attributes.
fn says(policy: &Policy, attributes: &Map<String, Value>) -> bool {
    attributes.iter().all(|(name, value)| policy.attribute(name) == Some(value))
}
