//! `drop view`: a view of this node goes.

use crate::commands::named::{OnName, required};
use crate::declaration::{Declaration, Effect};
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct View;

impl OnName for View {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "drop view",
        usage: "drop view NAME where dbms = NAME",
        about: "Drops a view of this node; the rows behind it stay.",
        details: "Views that stand on it stay too, and fail until there is a view or a table of the \
                  name again.",
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
