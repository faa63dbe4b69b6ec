//! `get retention`: how much of this node's tables is kept.

use edgemere_storage::storage::Retention as Rule;
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
        about: "Lists the retention rules of this node's tables.",
        details: "\
The table * stands for all tables of the database without a rule of their own. \"Held\" says why \
the node drops less than the rule says: the clock of the machine jumped, or more than half of a \
table would be dropped at once.",
        examples: &["get retention", "get retention where dbms = new_company and format = json"],
        keys: &["dbms"],
        ..Declaration::READ
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let wanted = optional(options, "dbms", context)?;
        let storage = context.node.engine().storage();
        let mut shown = Table::new(["DBMS", "Table", "Age", "Size", "Held"]).grouped_by(1);
        let mut list = Vec::new();
        for database in storage.all_databases() {
            let dbms = database.name.as_str();
            if !database.connected || wanted.as_deref().is_some_and(|wanted| wanted != dbms) {
                continue;
            }
            let own = storage.tables(dbms);
            let of_database = own.iter().filter(|table| !table.retention().is_set());
            let mut of_database = of_database.filter_map(|table| storage.retention_held(table));
            let of_database = ("*".to_owned(), database.retention, of_database.next());
            let own = own.iter().map(|table| {
                (table.name().to_owned(), table.retention(), storage.retention_held(table))
            });
            let rules = std::iter::once(of_database).chain(own);
            for (table, rule, held) in rules.filter(|(_, rule, _)| rule.is_set()) {
                let Rule { max_age, max_bytes } = rule;
                let (age, size) = (max_age.map(time_text), max_bytes.map(bytes_text));
                shown.push([json!(dbms), json!(table), json!(age), json!(size), json!(held)]);
                list.push(json!({
                    "dbms": dbms,
                    "table": table,
                    "age_s": max_age.map(|age| age.as_secs()),
                    "size_bytes": max_bytes,
                    "held": held,
                }));
            }
        }
        Ok(Reply::table(shown).with_json(Value::Array(list)))
    }
}
