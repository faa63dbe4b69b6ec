//! `blockchain add`: adds a policy to this node's ledger and to no other.

use edgemere_ledger::Scope;

use super::one_policy::TakesPolicy;
use super::policy::{change, resolve};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::term::Term;
use crate::reply::Reply;

pub(crate) struct Add;

impl TakesPolicy for Add {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain add",
        usage: "blockchain add POLICY",
        about: "Adds a policy to this node's ledger only.",
        details: "\
The policy is JSON, or a variable that holds JSON. The node adds an id and a date if it has \
none.",
        examples: &[
            "blockchain add {\"device\": {\"name\": \"dev-1\"}}",
            "blockchain add !new_policy",
        ],
        ..Declaration::WRITE
    };

    async fn apply(policy: &Term, context: &Context<'_>) -> Result<Reply, Error> {
        let policy = resolve(policy, context)?;
        change(context, move |ledger| ledger.insert(policy, Scope::Local)).await?;
        Ok(Reply::done())
    }
}
