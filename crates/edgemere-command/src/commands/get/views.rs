//! `get views`: the views of this node, and the queries behind them.

use serde_json::json;

use crate::commands::named::optional;
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct Views;

impl Report for Views {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get views",
        usage: "get views [where dbms = NAME] [and format = FORMAT]",
        about: "Lists the views of this node, and their queries.",
        examples: &["get views", "get views where dbms = new_company and format = json"],
        keys: &["dbms"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let wanted = optional(options, "dbms", context)?;
        let storage = context.node.engine().storage();
        let databases = wanted.map_or_else(|| storage.databases(), |dbms| vec![dbms]);
        let mut table = Table::new(["Database", "View name", "Query"]).grouped_by(1);
        let mut list = Vec::new();
        for view in databases.iter().flat_map(|dbms| storage.views(dbms)) {
            table.push([view.dbms.as_str(), &view.name, &view.sql]);
            list.push(json!({ "database": view.dbms, "view": view.name, "sql": view.sql }));
        }
        Ok(Reply::table(table).with_json(list.into()))
    }
}
