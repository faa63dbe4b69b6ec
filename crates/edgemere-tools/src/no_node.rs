//! Nobody who carries out commands: for tools that run programs, which need no node.

use edgemere_command::results::ResultRows;
use edgemere_command::sql::ResultColumn;
use edgemere_command::{Kind, Principal, Rendered, Request};
use mcp_serve::BoxFuture;

use crate::commands::{Answer, Commands, Failure, Wanted};

/// Nobody who carries out commands.
pub(crate) struct NoNode;

impl Commands for NoNode {
    fn answer<'a>(&'a self, _: &'a Request, _: Wanted) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Err(nobody()) })
    }

    fn reply<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Result<Rendered, Failure>> {
        Box::pin(async { Err(nobody()) })
    }

    fn columns<'a>(
        &'a self,
        _: &'a Request,
    ) -> BoxFuture<'a, Result<Option<Vec<ResultColumn>>, Failure>> {
        Box::pin(async { Ok(None) })
    }

    /// There never are rows of which some could be left.
    fn keep_rest(&self, _: &Principal, _: ResultRows) -> String {
        String::new()
    }

    fn link(&self, _: &Request) -> Option<String> {
        None
    }

    fn node_name(&self) -> String {
        "this machine".into()
    }
}

fn nobody() -> Failure {
    Failure::new(Kind::Unavailable, "there is no node that could be asked", None)
}
