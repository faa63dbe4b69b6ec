//! The tools of a file, as clients see them.

use std::sync::Arc;

use mcp_serve::{Annotations, BoxFuture, Call, CallTool, Catalog, Fault, Outcome};
use serde_json::{Map, Value};

use super::planned::Planned;
use crate::execute::Executor;
use crate::result::schema;
use crate::template::Answers;
use crate::tool::{Tool, Work};
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
pub(super) fn add(
    catalog: Catalog,
    toolbox: &Arc<Toolbox>,
    index: usize,
    planned: &Planned,
    executor: &Executor,
) -> Catalog {
    let Some(tool) = toolbox.tools().get(index) else { return catalog };
    if !can_work(tool, executor) {
        return catalog;
    }
    let described = mcp_serve::Tool {
        title: tool.title.clone(),
        input_schema: tool.input_schema.clone(),
        output_schema: tool.output_schema.clone().or_else(|| output_schema(tool, planned)),
        annotations: annotations(tool),
        icons: tool.icons.clone(),
        ..mcp_serve::Tool::new(&tool.name, &tool.description)
    };
    let (toolbox, executor) = (Arc::clone(toolbox), executor.clone());
    catalog.tool(described, Offered { toolbox, index, executor })
}

/// Whether the node has one of the commands of a tool.
pub(super) fn can_work(tool: &Tool, executor: &Executor) -> bool {
    let (node, principal) = (executor.commands(), executor.principal());
    match &tool.work {
        Work::Command(plan) => plan.commands().iter().any(|name| node.has(name, principal)),
        _ => true,
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

/// The schema of a tool's answers, where the columns of its rows are known. Of all others it would say
/// nothing that an agent does not see in the first answer, and every word is in every agent's context.
fn output_schema(tool: &Tool, planned: &Planned) -> Option<Map<String, Value>> {
    match (tool.parser(), &tool.work) {
        (None, Work::Command(plan)) if plan.answers() == Answers::Rows => {
            planned.columns(&tool.name).map(schema::rows)
        }
        _ => None,
    }
}
