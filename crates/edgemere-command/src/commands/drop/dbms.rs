//! `drop dbms`: a database of this node goes, with everything in it.

use crate::commands::named::OnName;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;
use edgemere_service::Effect;

pub(crate) struct Dbms;

impl OnName for Dbms {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "drop dbms",
        usage: "drop dbms NAME",
        about: "Drops a database of this node, with its tables, rows and views.",
        details: "\
Unless it is empty, disconnect it first: \"disconnect dbms NAME\". The policies of its tables \
remain in the ledger.",
        examples: &["drop dbms new_company"],
        effect: Effect::Destructive,
        ..Declaration::WRITE
    };

    async fn run(dbms: &str, _options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        context.node.engine().storage().drop_database(dbms).await?;
        Ok(Reply::done())
    }
}
