//! `get rest server info`: how the REST service is set up.

use serde_json::{Map, Value, json};

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::COMMAND_BYTES_MAX;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::language::term::text_of;
use crate::peers::TIMEOUT;
use crate::reply::Reply;

pub(crate) struct RestServerInfo;

impl Report for RestServerInfo {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get rest server info",
        usage: "get rest server info [where format = FORMAT]",
        about: "Shows the settings of the node's REST service.",
        examples: &["get rest server info"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let settings = context.node.settings();
        let attributes = [
            ("connection", json!(format!("http://{}", settings.http))),
            ("is_bind", json!(true)),
            ("is_ssl", json!(false)),
            ("timeout", json!(TIMEOUT.as_secs())),
            ("command_bytes_max", json!(COMMAND_BYTES_MAX)),
        ];
        let mut table = Table::new(["Attribute", "Value"]);
        let mut json = Map::new();
        for (name, value) in attributes {
            table.push([json!(name), json!(text_of(&value))]);
            json.insert(name.into(), value);
        }
        Ok(Reply::table(table).with_json(Value::Object(json)))
    }
}
