//! `disconnect dbms`: a database answers no more, and keeps its rows.

use crate::commands::named::OnName;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct Dbms;

impl OnName for Dbms {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "disconnect dbms",
        usage: "disconnect dbms NAME",
        about: "Disconnects a database of this node; its rows remain.",
        details: "\
The node refuses queries and rows for it until \"connect dbms NAME where type = edgemere\" \
reconnects it, also after a restart. Running queries continue.",
        examples: &["disconnect dbms new_company"],
        ..Declaration::WRITE
    };

    async fn run(dbms: &str, _options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        context.node.engine().storage().disconnect(dbms).await?;
        Ok(Reply::done())
    }
}
