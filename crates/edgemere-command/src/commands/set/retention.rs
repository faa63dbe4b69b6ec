//! `set retention`: how much of this node's tables is kept.

use edgemere_storage::storage::Retention as Rule;

use crate::commands::drop::partition::said;
use crate::commands::named::{optional, required};
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::language::quantity;
use crate::lookup;
use crate::reply::Reply;
use edgemere_service::Effect;

pub(crate) struct Retention;

impl Report for Retention {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "set retention",
        usage: "set retention where dbms = NAME [and table = NAME] [and age = TIME] [and size = SIZE] | \
                set retention where clock = right",
        about: "Sets how much of a table the node keeps; it drops older rows, now and regularly.",
        details: "\
The node drops whole Parquet files: by age, those whose newest row is older, by the table's \
first timestamp column or, without one, by the time of the insert, counted from now or from the \
table's newest row, whichever is earlier; by size, the oldest until the table's files fit. Rows \
in the memtable remain. Without a table, the rule applies to each table of the database without \
a rule of its own. The node applies it every minute.

The rule replaces the previous one. \"age = none\" or \"size = none\" alone removes it: without \
a rule the node keeps everything.

When the clock of the machine jumps ahead, the node drops nothing by age until the clock is \
back, or until an admin confirms it: \"clock = right\". \"get retention\" shows whether that is \
so.",
        examples: &[
            "set retention where dbms = new_company and table = rand_data and age = \"30 days\" and size = \"10 GB\"",
            "set retention where dbms = new_company and age = 12h",
            "set retention where dbms = new_company and age = none",
            "set retention where clock = right",
        ],
        effect: Effect::Destructive,
        keys: &["dbms", "table", "age", "size", "clock"],
        ..Declaration::WRITE
    };

    async fn report(options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        if let Some(said_of_clock) = optional(options, "clock", context)? {
            return confirm_clock(&said_of_clock, context).await;
        }
        let dbms = required(options, "dbms", Self::DECLARATION, context)?;
        let table = optional(options, "table", context)?;
        if options.get("size").is_none() {
            options.require("age", Self::DECLARATION)?;
        }
        let rule = Rule {
            max_age: limit(options, "age", quantity::time, "\"30 days\", 12h or none", context)?,
            max_bytes: limit(
                options,
                "size",
                quantity::bytes,
                "\"10 GB\", 500MB or none",
                context,
            )?,
        };
        // These say what is near when the table or the database is not there.
        lookup::wanted_tables(context.node, Some(&dbms), table.as_deref())?;
        let storage = context.node.engine().storage();
        let dropped = storage.set_retention(&dbms, table.as_deref(), rule).await?;
        let held = rule.max_age.and_then(|_| storage.clock_trouble());
        Ok(Reply::text(match held {
            Some(held) => format!("{}; nothing by age, because {held}", said(dropped)),
            None => said(dropped),
        }))
    }
}

/// Records that an admin has confirmed the clock.
async fn confirm_clock(said: &str, context: &Context<'_>) -> Result<Reply, Error> {
    if said != "right" {
        let (key, value, expected) = ("clock".into(), said.into(), "right".into());
        return Err(Error::BadValue { key, value, expected, at: None });
    }
    context.node.engine().storage().confirm_clock().await?;
    Ok(Reply::text("the clock is taken for right"))
}

/// The limit under a key, if there is one.
fn limit<T>(
    options: &Options,
    key: &str,
    read: impl FnOnce(&str) -> Option<T>,
    expected: &str,
    context: &Context<'_>,
) -> Result<Option<T>, Error> {
    let Some(text) = optional(options, key, context)?.filter(|text| text != "none") else {
        return Ok(None);
    };
    match read(&text) {
        Some(limit) => Ok(Some(limit)),
        None => Err(Error::BadValue {
            key: key.into(),
            value: text,
            expected: expected.into(),
            at: None,
        }),
    }
}
