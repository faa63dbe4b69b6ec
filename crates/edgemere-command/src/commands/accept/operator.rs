//! `accept operator`: lets another data folder, or an older one, be an operator of the ledger.

use edgemere_ledger::{Policy, unbound};
use serde_json::json;

use crate::commands::blockchain::policy::{ask_master, is_masters};
use crate::commands::drop::operator::operators;
use crate::commands::named::OnName;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::lexer::quote;
use crate::language::options::Options;
use crate::reply::Reply;
use crate::sync;
use edgemere_service::Effect;

pub(crate) struct Operator;

impl OnName for Operator {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "accept operator",
        usage: "accept operator NAME",
        about: "Accepts another or an older data folder as the operator of this name.",
        details: "\
An operator's policy is bound to its data folder. A node of the same name with another folder, \
or with an older copy of the folder, is refused, since its results would lack rows. This command \
ends the binding: the next node of this name that starts or connects is the operator, with the \
rows that it has. Queries no longer report the rows of the previous folder as missing.",
        examples: &["accept operator plant-7"],
        effect: Effect::Destructive,
        ..Declaration::WRITE
    };

    async fn run(name: &str, _: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let mut is_asked = false;
        for policy in operators(node, name)? {
            let id = policy.id().unwrap_or_default().to_owned();
            if is_masters(context, &id) {
                is_asked = true;
                continue;
            }
            let free = Policy::from_value(json!({ policy.kind(): unbound(&policy) }))?;
            node.change_ledger(move |ledger| ledger.update(&id, free).map(drop)).await?;
        }
        if is_asked {
            ask_master(context, &format!("accept operator {}", quote(name))).await?;
        }
        let settings = node.settings();
        if settings.register && settings.name.eq_ignore_ascii_case(name) {
            sync::register(node).await?;
        }
        Ok(Reply::done())
    }
}
