//! `get retention`: how much of this node's tables is kept.

use edgemere_engine::storage::Retention as Rule;
use serde_json::{Value, json};

use crate::commands::named::optional;
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::language::quantity::{bytes_text, time_text};
use crate::reply::Reply;

pub(crate) struct Retention;

impl Report for Retention {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get retention",
        usage: "get retention [where dbms = NAME] [and format = FORMAT]",
        about: "How much of this node's tables is kept, where that is not everything.",
        details: "The table * stands for all tables of the database that have no rule of their own.",
        examples: &["get retention", "get retention where dbms = new_company and format = json"],
        keys: &["dbms"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let wanted = optional(options, "dbms", context)?;
        let storage = context.node.engine().storage();
        let mut shown = Table::new(["DBMS", "Table", "Age", "Size"]).grouped_by(1);
        let mut list = Vec::new();
        for database in storage.all_databases() {
            let dbms = database.name.as_str();
            if !database.connected || wanted.as_deref().is_some_and(|wanted| wanted != dbms) {
                continue;
            }
            let own = storage.tables(dbms);
            let own = own.iter().map(|table| (table.name().to_owned(), table.retention()));
            let rules = std::iter::once(("*".to_owned(), database.retention)).chain(own);
            for (table, rule) in rules.filter(|(_, rule)| rule.is_set()) {
                let Rule { max_age, max_bytes } = rule;
                let (age, size) = (max_age.map(time_text), max_bytes.map(bytes_text));
                shown.push([json!(dbms), json!(table), json!(age), json!(size)]);
                list.push(json!({
                    "dbms": dbms,
                    "table": table,
                    "age_s": max_age.map(|age| age.as_secs()),
                    "size_bytes": max_bytes,
                }));
            }
        }
        Ok(Reply::table(shown).with_json(Value::Array(list)))
    }
}
