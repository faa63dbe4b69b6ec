//! `blockchain push`: adds a policy to the network's ledger, which the master keeps.

use super::one_policy::TakesPolicy;
use super::policy::{resolve, share};
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
        about: "Adds a policy to the network's ledger, which the master keeps.",
        details: "\
The policy is JSON, or a variable that holds JSON. The node adds an id and a date if it has \
none. While the master is unreachable, the policy waits, and is sent later.",
        examples: &[
            "blockchain push {\"device\": {\"name\": \"dev-1\"}}",
            "blockchain push !new_policy",
        ],
        ..Declaration::WRITE
    };

    async fn apply(policy: &Term, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        if !node.has_role(Role::Master) && node.follows().is_none() {
            return Err(Error::NotMaster { master: None });
        }
        share(context, resolve(policy, context)?).await?;
        Ok(Reply::done())
    }
}
