//! `blockchain test`: whether the ledger on disk is whole, unchanged and the one in use.

use std::fmt;

use edgemere_ledger::Verified;
use serde_json::json;

use super::policy::change;
use crate::commands::Declared;
use crate::declaration::{Declaration, Method};
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::cursor::Cursor;
use crate::language::options::{Options, Output};
use crate::language::term::Term;
use crate::reply::Reply;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Test {
    id: Option<Term>,
    options: Options,
}

impl Declared for Test {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain test",
        usage: "blockchain test [id ID] [where format = FORMAT]",
        about: "Verifies that the ledger's history on disk is complete and unchanged.",
        details: "\
The node computes the hash of every entry again and replays the history. \"id\" only tests \
whether a policy with that id exists.",
        examples: &["blockchain test", "blockchain test id dev-1-id"],
        method: Method::Post,
        ..Declaration::READ
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        let id = cursor.keyword("id").then(|| cursor.term("an id")).transpose()?;
        Ok(Self { id, options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(id) = &self.id {
            write!(f, " id {id}")?;
        }
        write!(f, "{}", self.options)
    }

    fn output(&self) -> &Output {
        &self.options.output
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        if let Some(id) = &self.id {
            let id = id.text(context.variables())?;
            let is_there = context.node.ledger().get(&id).is_some();
            let text = if is_there { "in" } else { "not in" };
            return Ok(Reply::text(format!("ID Status: {text} Blockchain file"))
                .with_json(json!({ "id": id, "in_ledger": is_there })));
        }
        let Verified { entries, policies, head, .. } = verify(context).await?;
        let text = format!(
            "Blockchain file status: OK\n{entries} entries verified, {policies} policies, head {head}"
        );
        Ok(Reply::text(text).with_json(json!({
            "status": "ok", "entries": entries, "policies": policies, "head": head,
        })))
    }
}

/// Verifies the ledger on a thread that may wait for the disk.
pub(in crate::commands) async fn verify(context: &Context<'_>) -> Result<Verified, Error> {
    change(context, |ledger| ledger.verify()).await
}
