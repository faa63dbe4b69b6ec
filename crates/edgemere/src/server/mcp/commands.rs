//! The commands of tools, carried out by the node: within the same limits as those of REST, measured
//! and logged alike.

use std::sync::Arc;

use edgemere_command::results::{self, ResultRows};
use edgemere_command::sql::ResultColumn;
use edgemere_command::sync::LedgerAge;
use edgemere_command::{Principal, Rendered, Request};
use edgemere_tools::{Answer, Commands, Failure, Wanted};
use mcp_serve::BoxFuture;

use crate::server::execute;
use crate::server::http::results::PATH;
use crate::server::state::State;

/// A node's own commands.
pub(in crate::server) struct NodeCommands(pub(in crate::server) Arc<State>);

impl Commands for NodeCommands {
    /// Whoever takes the rows takes them as they are wanted.
    fn answer<'a>(
        &'a self,
        request: &'a Request,
        _wanted: Wanted,
    ) -> BoxFuture<'a, Result<Answer, Failure>> {
        // Calls of tools have a limit of their own.
        Box::pin(async move { Ok(execute::answer(&self.0, request).await?.0.into()) })
    }

    fn reply<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Rendered, Failure>> {
        Box::pin(async move { Ok(execute::execute(&self.0, request).await?) })
    }

    fn columns<'a>(
        &'a self,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Option<Vec<ResultColumn>>, Failure>> {
        Box::pin(async move { Ok(results::columns(&self.0.node, request).await?) })
    }

    fn keep_rest(&self, principal: &Principal, rest: ResultRows) -> String {
        results::keep_rest(&self.0.node, principal, rest)
    }

    fn link(&self, request: &Request) -> Option<String> {
        let id = results::keep_question(&self.0.node, request);
        Some(format!("http://{}{PATH}/{id}?format=ndjson", self.0.node.settings().http))
    }

    fn version(&self) -> Option<String> {
        Some(self.0.node.ledger().version())
    }

    fn ledger_age(&self) -> Option<LedgerAge> {
        self.0.node.ledger_age()
    }

    fn node_name(&self) -> String {
        self.0.node.name()
    }
}
