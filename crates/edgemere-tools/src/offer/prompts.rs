//! The prompts of a file, as clients see them.

use std::sync::Arc;

use mcp_serve::{BoxFuture, Catalog, Fault, GetPrompt, PromptArgument, PromptCall, PromptText};

use crate::toolbox::Toolbox;

/// A prompt of a file.
struct Offered {
    toolbox: Arc<Toolbox>,
    index: usize,
}

impl GetPrompt for Offered {
    fn get<'a>(&'a self, call: &'a PromptCall) -> BoxFuture<'a, Result<PromptText, Fault>> {
        let text = match self.toolbox.prompts().get(self.index) {
            Some(prompt) => prompt
                .text(&call.arguments)
                .map(PromptText::user)
                .map_err(|errors| Fault::invalid_params(errors.to_string())),
            None => Err(Fault::not_found("there is no such prompt")),
        };
        Box::pin(std::future::ready(text))
    }
}

/// Adds a prompt to a catalog.
pub(super) fn add(catalog: Catalog, toolbox: &Arc<Toolbox>, index: usize) -> Catalog {
    let Some(prompt) = toolbox.prompts().get(index) else { return catalog };
    let arguments = prompt.arguments.iter().map(|argument| PromptArgument {
        name: argument.name.clone(),
        description: argument.description.clone(),
        required: argument.required,
        ..PromptArgument::default()
    });
    let described = mcp_serve::Prompt {
        name: prompt.name.clone(),
        title: prompt.title.clone(),
        description: Some(prompt.description.clone()),
        arguments: arguments.collect(),
        icons: prompt.icons.clone(),
        ..mcp_serve::Prompt::default()
    };
    catalog.prompt(described, Offered { toolbox: Arc::clone(toolbox), index })
}
