//! `blockchain push`: adds a policy to the network's ledger, which the master keeps.

use edgemere_ledger::Scope;

use super::one_policy::TakesPolicy;
use super::policy::{change, resolve};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::term::Term;
use crate::node::Role;
use crate::reply::Reply;

pub(crate) struct Push;

impl TakesPolicy for Push {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain push",
        usage: "blockchain push POLICY",
        about: "Adds a policy to the network's ledger. The master is asked.",
        details: "The policy is JSON or a variable that holds JSON. It gets an id and a date when \
                  it has none.",
        examples: &[
            "blockchain push {\"device\": {\"name\": \"dev-1\"}}",
            "blockchain push !new_policy",
        ],
        ..Declaration::WRITE
    };

    async fn apply(policy: &Term, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        if !node.has_role(Role::Master) {
            return Err(Error::NotMaster { master: node.settings().master.clone() });
        }
        let policy = resolve(policy, node)?;
        change(context, move |ledger| ledger.insert(policy, Scope::Global)).await?;
        Ok(Reply::done())
    }
}
