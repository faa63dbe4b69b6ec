//! `blockchain drop policy`: takes policies out of the ledger.

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
use edgemere_service::Effect;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drop {
    policy: Option<Term>,
    options: Options,
}

impl Declared for Drop {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "blockchain drop policy",
        aliases: &["blockchain delete policy"],
        usage: "blockchain drop policy POLICY | where id = ID [and local = true] \
                [and master = ADDRESS]",
        about: "Removes a policy from the ledger.",
        details: "\
Commas separate several ids. \"master\" removes the policy from the master's ledger too. A \
global policy belongs to the master: a follower \
asks the master to remove it, which removes it on every node.",
        examples: &["blockchain drop policy where id = dev-1-id"],
        effect: Effect::Destructive,
        keys: &["id", "local", "master"],
        ..Declaration::WRITE
    };

    fn parse(cursor: &mut Cursor<'_>) -> Result<Self, Error> {
        if cursor.peek_keyword().as_deref() == Some("where") {
            let options = Options::parse_required(cursor, Self::DECLARATION)?;
            options.require("id", Self::DECLARATION)?;
            return Ok(Self { policy: None, options });
        }
        let policy = cursor.term("a policy or \"where id = …\"")?;
        Ok(Self { policy: Some(policy), options: Options::parse(cursor, Self::DECLARATION)? })
    }

    fn print(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(policy) = &self.policy {
            write!(f, " {policy}")?;
        }
        write!(f, "{}", self.options)
    }

    async fn run(&self, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let ids = self.ids(context)?;
        let (masters, ids): (Vec<_>, Vec<_>) =
            ids.into_iter().partition(|id| is_masters(context, id));
        if !masters.is_empty() {
            ask_master(context, &drop_command(&masters)).await?;
        }
        if ids.is_empty() {
            return Ok(Reply::done());
        }
        let master = self.options.get("master");
        let master = master.map(|master| master.text(context.variables())).transpose()?;
        let own = node.settings().network.to_string();
        let elsewhere = master.filter(|master| *master != own);
        if self.options.flag("local", true)? {
            let ids = ids.clone();
            change(context, move |ledger| ledger.remove(&ids)).await?;
        }
        if let Some(master) = elsewhere {
            let drop = drop_command(&ids);
            let caller = context.forwarded();
            let peers = &node.settings().peers;
            peers.call_as(&master, &drop, &caller, context.timeout()).await?;
        }
        Ok(Reply::done())
    }
}

fn drop_command(ids: &[String]) -> String {
    format!("blockchain drop policy where id = {}", quote(&ids.join(",")))
}

impl Drop {
    fn ids(&self, context: &Context<'_>) -> Result<Vec<String>, Error> {
        let variables = context.variables();
        if let Some(policy) = &self.policy {
            let mut policy = resolve(policy, context)?;
            policy.prepare();
            return Ok(policy.id().map(String::from).into_iter().collect());
        }
        let mut ids = Vec::new();
        for term in self.options.all("id") {
            let text = term.text(variables)?;
            ids.extend(text.split(',').map(|id| id.trim().to_owned()).filter(|id| !id.is_empty()));
        }
        Ok(ids)
    }
}
