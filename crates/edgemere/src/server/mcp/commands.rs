//! The commands of tools, carried out by the node: within the same limits as those of REST, measured
//! and logged alike.

use std::sync::Arc;

use edgemere_command::results::{self, ResultRows};
use edgemere_command::sql::ResultColumn;
use edgemere_command::{Node, Principal, Rendered, Request};
use edgemere_tools::{Answer, Commands, Failure, Wanted};
use mcp_serve::BoxFuture;

use crate::server::execute;
use crate::server::http::results::PATH;
use crate::server::state::State;

/// A node's own commands.
pub(super) struct NodeCommands(pub(super) Arc<State>);

impl Commands for NodeCommands {
    /// Whoever takes the rows takes them as they are wanted.
    fn answer<'a>(
        &'a self,
        request: &'a Request,
        _wanted: Wanted,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move { Ok(execute::answer(&self.0, request).await?.into()) })
    }

    fn reply<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Rendered, Failure>> {
        Box::pin(async move { Ok(execute::execute(&self.0, request).await?) })
    }

    fn columns<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Vec<ResultColumn>, Failure>> {
        Box::pin(async move { Ok(results::columns(&self.0.node, request).await?) })
    }

    fn keep_rest(&self, principal: &Principal, rest: ResultRows) -> String {
        results::keep_rest(&self.0.node, principal, rest)
    }

    fn link(&self, request: &Request) -> Option<String> {
        Some(link(&self.0.node, request))
    }

    fn version(&self) -> Option<String> {
        Some(self.0.node.ledger().version())
    }

    fn node_name(&self) -> String {
        self.0.node.name()
    }
}

/// Where all rows of a query can be read, for an hour.
pub(in crate::server) fn link(node: &Node, request: &Request) -> String {
    let id = results::keep_question(node, request);
    format!("http://{}{PATH}/{id}?format=ndjson", node.settings().http)
}
