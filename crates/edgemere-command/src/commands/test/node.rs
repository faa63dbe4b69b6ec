//! `test node`: whether the node's own services answer and its ledger is sound.

use crate::commands::report::Report;
use crate::declaration::Declaration;
use crate::dispatch::Context;
use crate::error::Error;
use crate::format::table::Table;
use crate::language::options::Options;
use crate::peers::PING_TIMEOUT;
use crate::reply::Reply;

pub(crate) struct Node;

impl Report for Node {
    const DECLARATION: &'static Declaration = &Declaration {
        name: "test node",
        usage: "test node [where format = FORMAT]",
        about: "Tests that the node's services answer and that its ledger is valid.",
        examples: &["test node"],
        ..Declaration::READ
    };

    async fn report(_options: &Options, context: &Context<'_>) -> Result<Reply, Error> {
        let settings = context.node.settings();
        let network = settings.network.to_string();
        let http = settings.http.to_string();
        let told = |result: Result<String, Error>| result.unwrap_or_else(|error| error.message());
        let tcp = settings.peers.call(&network, "get status", PING_TIMEOUT).await;
        let tcp = match tcp {
            Ok(reply) => reply.into_text().await,
            Err(error) => Err(error),
        };
        let tcp = told(tcp.map(|reply| format!("[From Node {network}] {reply}")));
        let rest = told(settings.peers.rest_status(&http, PING_TIMEOUT).await);
        let ledger = match super::super::blockchain::test::verify(context).await {
            Ok(_) => "Pass".into(),
            Err(error) => error.message(),
        };
        let mut table = Table::new(["Test", "Status"]);
        table.push(["Metadata Version", &context.node.ledger().version()]);
        table.push(["Metadata Test", &ledger]);
        table.push([format!("TCP test using {network}"), tcp]);
        table.push([format!("REST test using http://{http}"), rest]);
        Ok(Reply::table(table))
    }
}
