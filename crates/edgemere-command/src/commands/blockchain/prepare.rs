//! `blockchain prepare policy`: gives a policy its id and date.

use super::one_policy::TakesPolicy;
use super::policy::resolve;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::term::Term;
use crate::reply::Reply;

pub(crate) struct Prepare;

impl TakesPolicy for Prepare {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain prepare policy",
        usage: "blockchain prepare policy POLICY",
        about: "Gives a policy its id and date, without adding it to the ledger.",
        details: "A policy in a variable is changed there; one that is written out is shown.",
        examples: &["blockchain prepare policy !new_policy"],
        ..Declaration::WRITE
    };

    async fn apply(policy: &Term, context: &Context<'_>) -> Result<Reply, Error> {
        let mut prepared = resolve(policy, context.node)?;
        prepared.prepare();
        match policy {
            Term::Variable(name) => {
                context.node.variables.set(name, prepared.to_value())?;
                Ok(Reply::done())
            }
            _ => Ok(Reply::json(prepared.to_value())),
        }
    }
}
