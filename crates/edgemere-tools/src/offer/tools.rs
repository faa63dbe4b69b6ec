//! The tools of a file, as clients see them.

use std::sync::Arc;

use edgemere_command::Request;
use mcp_serve::{Annotations, BoxFuture, Call, CallTool, Catalog, Fault, Outcome};

use crate::execute::Executor;
use crate::result::schema;
use crate::tool::{Kind, Tool};
use crate::toolbox::Toolbox;

/// A tool of a file.
struct Offered {
    toolbox: Arc<Toolbox>,
    index: usize,
    executor: Executor,
}

impl CallTool for Offered {
    fn call<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Outcome, Fault>> {
        Box::pin(async move {
            match self.toolbox.tools().get(self.index) {
                Some(tool) => Ok(self.executor.call(tool, call, self.toolbox.testing()).await),
                None => Err(Fault::not_found("there is no such tool")),
            }
        })
    }
}

/// Adds a tool to a catalog.
pub(super) async fn add(
    catalog: Catalog,
    toolbox: &Arc<Toolbox>,
    index: usize,
    executor: &Executor,
) -> Catalog {
    let Some(tool) = toolbox.tools().get(index) else { return catalog };
    let described = described(tool, executor).await;
    let (toolbox, executor) = (Arc::clone(toolbox), executor.clone());
    catalog.tool(described, Offered { toolbox, index, executor })
}

async fn described(tool: &Tool, executor: &Executor) -> mcp_serve::Tool {
    let output_schema = match &tool.output_schema {
        Some(schema) => Some(schema.clone()),
        None => output_schema(tool, executor).await,
    };
    mcp_serve::Tool {
        title: tool.title.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema,
        annotations: annotations(tool),
        ..mcp_serve::Tool::new(&tool.name, &tool.description)
    }
}

/// Only what differs from what clients take for granted: each word is in every agent's context.
fn annotations(tool: &Tool) -> Annotations {
    let hints = &tool.annotations;
    Annotations {
        read_only: Some(hints.read_only),
        destructive: (!hints.read_only).then_some(hints.destructive),
        idempotent: (!hints.read_only).then_some(hints.idempotent),
        open_world: hints.open_world.then_some(true),
        title: None,
    }
}

/// The schema of a tool's answers: of a query with known columns these, of others what is always so.
async fn output_schema(
    tool: &Tool,
    executor: &Executor,
) -> Option<serde_json::Map<String, serde_json::Value>> {
    if tool.parser().is_some() {
        return Some(schema::value());
    }
    match tool.kind {
        Kind::NetworkSql | Kind::LocalSql => {
            let columns = columns(tool, executor).await;
            Some(schema::rows(columns.as_deref()))
        }
        Kind::Command | Kind::Internal | Kind::Cli => None,
    }
}

/// The columns of a query whose tables are there already.
async fn columns(tool: &Tool, executor: &Executor) -> Option<Vec<(String, String)>> {
    let bound = tool.sample()?;
    let principal = executor.principal_of(&mcp_serve::Context::detached(Default::default()));
    let request: Request = executor.request(&bound, &principal);
    let columns = executor.commands().columns(&request).await.ok()?;
    Some(columns.into_iter().map(|column| (column.name, column.type_name)).collect())
}
