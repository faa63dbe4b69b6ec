//! `drop view`: a view of this node goes.

use crate::commands::named::{OnName, required};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;
use edgemere_service::Effect;

pub(crate) struct View;

impl OnName for View {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "drop view",
        usage: "drop view NAME where dbms = NAME",
        about: "Drops a view of this node; the rows behind it remain.",
        details: "\
Views that use it remain too, and fail until a view or a table of that name exists again.",
        examples: &["drop view hourly where dbms = new_company"],
        effect: Effect::Destructive,
        keys: &["dbms"],
        ..Declaration::WRITE
    };

    async fn run(name: &str, options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let dbms = required(options, "dbms", Self::DECLARATION, context)?;
        context.node.engine().storage().drop_view(&dbms, name).await?;
        Ok(Reply::done())
    }
}
