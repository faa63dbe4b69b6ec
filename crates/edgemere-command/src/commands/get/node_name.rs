//! `get node name`: the name under which the network knows the node.

use serde_json::json;

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct NodeName;

impl Report for NodeName {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get node name",
        usage: "get node name [where format = FORMAT]",
        about: "Shows the node's name and its network address.",
        examples: &["get node name"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let name = context.node.assigned_name();
        Ok(Reply::text(&name).with_json(json!({ "node_name": name })))
    }
}
