//! `accept ledger`: takes the master's ledger, whatever it drops of this node's copy.

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;
use crate::sync;
use edgemere_service::Effect;

pub(crate) struct Ledger;

impl Report for Ledger {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "accept ledger",
        usage: "accept ledger",
        about: "Accepts the master's ledger, whatever it drops from this node's copy.",
        details: "\
A node refuses the ledger of another network, an older one, and one that has lost policies, and \
keeps its copy (\"get synchronizer\" reports it). This command accepts it, once and for this \
node only. The node saves its previous ledger next to it, as ledger.before-N. For a stopped \
node: \"edgemere ledger accept --data DIR\".",
        examples: &["accept ledger"],
        effect: Effect::Destructive,
        ..Declaration::WRITE
    };

    async fn report(_: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        if node.follows().is_none() {
            return Err(Error::NoMaster);
        }
        node.change_ledger(|ledger| ledger.accept()).await?;
        sync::catch_up(node).await?;
        Ok(Reply::done())
    }
}
