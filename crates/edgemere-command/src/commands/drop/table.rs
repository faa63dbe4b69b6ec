//! `drop table`: a table of this node goes, with its rows.

use crate::commands::named::{OnName, required};
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::lookup;
use crate::reply::Reply;
use edgemere_service::Effect;

pub(crate) struct Table;

impl OnName for Table {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "drop table",
        usage: "drop table NAME where dbms = NAME",
        about: "Drops a table of this node, with all its rows.",
        details: "\
Other nodes keep theirs, and the table's policy remains in the ledger (\"blockchain drop \
policy\" removes it), so that \"create table NAME where dbms = NAME\" creates the table again. \
Running queries continue to read their snapshot.",
        examples: &["drop table rand_data where dbms = new_company"],
        effect: Effect::Destructive,
        keys: &["dbms"],
        ..Declaration::WRITE
    };

    async fn run(name: &str, options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let dbms = required(options, "dbms", Self::DECLARATION, context)?;
        let storage = context.node.engine().storage();
        lookup::local_table(storage, &dbms, name)?;
        storage.drop_table(&dbms, name).await?;
        Ok(Reply::done())
    }
}
