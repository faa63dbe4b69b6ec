//! `blockchain insert`: adds a policy to the ledger, and at the master.

use edgemere_ledger::{Policy, Scope};

use super::policy::{change, resolve, share};
use crate::addresses::permit;
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::node::{Node, Role};
use crate::reply::Reply;

pub(crate) struct Insert;

impl Report for Insert {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain insert",
        usage: "blockchain insert where policy = POLICY [and local = true|false] \
                [and master = ADDRESS]",
        about: "Adds a policy to this node's ledger and to the master's.",
        details: "\
The policy is JSON, or a variable that holds JSON. The node adds an id and a date if it has \
none. At least one of \"local\" and \"master\" says where it goes. With both, a policy waits \
while the master is unreachable, and is sent later.",
        examples: &[
            "blockchain insert where policy = {\"device\": {\"name\": \"dev-1\"}} and local = true",
            "blockchain insert where policy = !new_policy and local = true and master = !master_node",
        ],
        keys: &["policy", "local", "master", "blockchain"],
        ..Declaration::WRITE
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let mut policy = resolve(options.require("policy", Self::DECLARATION)?, context)?;
        policy.prepare();
        let master =
            options.get("master").map(|master| master.text(context.variables())).transpose()?;
        if options.get("local").is_none() && master.is_none() {
            options.require("local", Self::DECLARATION)?;
        }
        let own = node.settings().network.to_string();
        let is_here = master.as_ref().is_some_and(|master| *master == own);
        let is_local = options.flag("local", is_here)?;
        if is_local && master.is_some() && master.as_deref() == node.follows() {
            return share(context, policy).await.map(|()| Reply::done());
        }
        let scope = policy.scope().unwrap_or(default_scope(node));
        if let Some(master) = master.filter(|_| !is_here) {
            permit(&master, context)?;
            refuse_known(&policy, node)?;
            let push = format!("blockchain push {policy}");
            let caller = context.forwarded();
            let peers = &node.settings().peers;
            peers.call_as(&master, &push, &caller, context.timeout()).await?;
        }
        if is_local || is_here {
            change(context, move |ledger| ledger.insert(policy, scope)).await?;
        }
        Ok(Reply::done())
    }
}

/// Refuses what this node's ledger would refuse afterwards, so that the master does not get it.
fn refuse_known(policy: &Policy, node: &Node) -> Result<(), Error> {
    match policy.id().filter(|id| node.ledger().get(id).is_some()) {
        Some(id) => Err(edgemere_ledger::Error::DuplicateId { id: id.to_owned() }.into()),
        None => Ok(()),
    }
}

/// What is added at the master is everyone's at once; elsewhere only when the master has it.
fn default_scope(node: &Node) -> Scope {
    if node.has_role(Role::Master) { Scope::Global } else { Scope::Local }
}
