//! `get connections`: where the node listens.

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct Connections;

impl Report for Connections {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get connections",
        usage: "get connections [where format = FORMAT]",
        about: "Lists the addresses that the node listens on.",
        examples: &["get connections", "get connections where format = json"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let settings = context.node.settings();
        let services = [
            ("TCP", settings.network.to_string(), settings.bind.to_string()),
            ("REST", settings.http.to_string(), settings.http.to_string()),
            ("Messaging", "Not declared".to_owned(), "Not declared".to_owned()),
        ];
        let columns = ["Type", "External Address", "Internal Address", "Bind Address"];
        let mut table = Table::new(columns);
        let mut json = Map::new();
        for (name, address, bind) in services {
            table.push([name, &address, &address, &bind]);
            let addresses = json!({ "external": address, "local": address, "bind": bind });
            json.insert(name.into(), addresses);
        }
        Ok(Reply::table(table).with_json(Value::Object(json)))
    }
}
