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
        about: "The version of the network's ledger that the node knows.",
        details: "Every change of the master's ledger changes the version. Two nodes with the same \
                  version have the same global policies. What a node keeps for itself does not \
                  count, unless it is the master.",
        examples: &["get metadata version"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let version = context.node.metadata_version();
        Ok(Reply::text(&version).with_json(json!({ "version": version })))
    }
}
