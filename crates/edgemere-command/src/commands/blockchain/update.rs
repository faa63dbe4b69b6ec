//! `blockchain update policy`: replaces a policy and keeps its id.

use std::fmt;

use super::policy::{ask_master, change, is_masters, resolve};
use crate::commands::Declared;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::lexer::quote;
use crate::language::options::Options;
use crate::language::term::Term;
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Update {
    policy: Term,
    options: Options,
}

impl Declared for Update {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain update policy",
        usage: "blockchain update policy POLICY [where id = ID]",
        about: "Replaces a policy by another with the same id.",
        details: "\
The id is the one in the policy, or the one in \"where id = …\". A global policy belongs to the \
master: a follower \
asks the master to replace it, which replaces it on every node.",
        examples: &[
            "blockchain update policy {\"device\": {\"name\": \"dev-1\", \"rate\": 9}} where id = dev-1-id",
        ],
        keys: &["id"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let policy = cursor.term("a policy")?;
        Ok(Self { policy, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, " {}{}", self.policy, self.options)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let policy = resolve(&self.policy, context)?;
        let id = match (self.options.get("id"), policy.id()) {
            (Some(id), _) => id.text(context.variables())?,
            (None, Some(id)) => id.to_owned(),
            (None, None) => {
                return Err(edgemere_ledger::Error::MissingAttribute {
                    kind: policy.kind().to_owned(),
                    attribute: "id".into(),
                }
                .into());
            }
        };
        if is_masters(context, &id) {
            let update = format!("blockchain update policy {policy} where id = {}", quote(&id));
            ask_master(context, &update).await?;
            return Ok(Reply::done());
        }
        change(context, move |ledger| ledger.update(&id, policy)).await?;
        Ok(Reply::done())
    }
}
