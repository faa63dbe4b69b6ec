//! `blockchain prepare policy`: gives a policy its id and date.

use super::one_policy::TakesPolicy;
use super::policy::resolve;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::term::Term;
use crate::reply::Reply;
use crate::variables::Variable;

pub(crate) struct Prepare;

impl TakesPolicy for Prepare {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain prepare policy",
        usage: "blockchain prepare policy POLICY",
        about: "Adds an id and a date to a policy, without adding it to the ledger.",
        details: "A policy in a variable is changed there; a policy in the command is returned.",
        examples: &["blockchain prepare policy !new_policy"],
        ..Declaration::WRITE
    };

    async fn apply(policy: &Term, context: &Context<'_>) -> Result<Reply, Error> {
        let mut prepared = resolve(policy, context)?;
        prepared.prepare();
        match policy {
            Term::Variable(name) => {
                let (value, own) = (prepared.to_value(), context.own.filter(|own| own.has(name)));
                match own {
                    Some(own) => own.assign(name, Variable { value, is_secret: false })?,
                    None => context.node.variables.set(name, value)?,
                }
                Ok(Reply::done())
            }
            _ => Ok(Reply::json(prepared.to_value())),
        }
    }
}
