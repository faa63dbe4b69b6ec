//! `get metadata version`: the state of the node's copy of the ledger, as one number.

use serde_json::json;

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::language::options::Options;
use crate::reply::Reply;

pub(crate) struct MetadataVersion;

impl Report for MetadataVersion {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "get metadata version",
        usage: "get metadata version [where format = FORMAT]",
        about: "Shows the version of the network's ledger that the node has.",
        details: "\
Every change of the master's ledger changes the version. Two nodes with the same version have \
the same global policies. A node's local policies do not count, unless it is the master.",
        examples: &["get metadata version"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let version = context.node.metadata_version();
        Ok(Reply::text(&version).with_json(json!({ "version": version })))
    }
}
