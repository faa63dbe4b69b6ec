//! `drop operator`: an operator that does not come back goes out of the ledger.

use std::sync::Arc;

use edgemere_ledger::Policy;

use crate::commands::blockchain::policy::{ask_master, is_masters};
use crate::commands::named::OnName;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::lexer::quote;
use crate::language::options::Options;
use crate::near;
use crate::node::Node;
use crate::reply::Reply;
use edgemere_service::Effect;

pub(crate) struct Operator;

impl OnName for Operator {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "drop operator",
        usage: "drop operator NAME",
        about: "Removes an operator that does not come back from the ledger.",
        details: "\
Queries of the network then lack its rows without saying so. Its data folder stays as it is, and \
when the node starts again it publishes itself again. \"accept operator\" puts another data \
folder in its place.",
        examples: &["drop operator plant-7"],
        effect: Effect::Destructive,
        ..Declaration::WRITE
    };

    async fn run(name: &str, _: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let ids = operators(node, name)?;
        let ids = ids.iter().filter_map(|policy| policy.id().map(str::to_owned));
        let (masters, own): (Vec<_>, Vec<_>) = ids.partition(|id| is_masters(context, id));
        if !own.is_empty() {
            node.change_ledger(move |ledger| ledger.remove(&own).map(drop)).await?;
        }
        if !masters.is_empty() {
            ask_master(context, &format!("drop operator {}", quote(name))).await?;
        }
        Ok(Reply::done())
    }
}

/// The policies of the operators of a name, which must be there.
pub(in crate::commands) fn operators(node: &Node, name: &str) -> Result<Vec<Arc<Policy>>, Error> {
    let all = crate::lookup::of_kind(node.ledger(), "operator");
    let is_of_name =
        |policy: &&Arc<Policy>| policy.name().is_some_and(|own| own.eq_ignore_ascii_case(name));
    let found: Vec<_> = all.iter().filter(is_of_name).map(Arc::clone).collect();
    match found.is_empty() {
        false => Ok(found),
        true => Err(Error::UnknownOperator {
            name: name.to_owned(),
            hint: near::hint(name, all.iter().filter_map(|policy| policy.name()))
                .or_else(|| Some("\"blockchain get operator\" lists the operators".into())),
        }),
    }
}
