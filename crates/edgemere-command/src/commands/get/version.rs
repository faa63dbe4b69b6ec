//! `get version`: which software the node runs.

use serde_json::json;

use crate::VERSION;
use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct Version;

impl Report for Version {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get version",
        usage: "get version [where format = FORMAT]",
        about: "Shows the version of Edgemere that the node runs.",
        examples: &["get version", "get version where format = mcp"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let node = context.node;
        let text = format!("Edgemere Version: {VERSION}");
        let name = node.assigned_name();
        Ok(Reply::text(&text).with_json(json!({ "version": text, "node_name": name })).with_mcp(
            json!({
                "version": VERSION,
                "node_name": name,
                "node_type": node.node_type(),
            }),
        ))
    }
}
