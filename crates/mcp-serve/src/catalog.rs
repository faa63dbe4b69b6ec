//! The catalog: the tools, prompts, resources and completions of a server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use crate::{CallTool, Complete, GetPrompt, Prompt, Resources, Tool};

/// The tools, prompts, resources and completions of a server. Build one and pass it to
/// [`Server::publish`](crate::Server::publish); to change it, publish another one.
#[derive(Clone, Default)]
pub struct Catalog {
    pub(crate) tools: Vec<(Tool, Arc<dyn CallTool>)>,
    pub(crate) toolsets: BTreeMap<String, BTreeSet<String>>,
    pub(crate) aliases: BTreeMap<String, String>,
    pub(crate) missing: Option<Arc<dyn CallTool>>,
    pub(crate) prompts: Vec<(Prompt, Arc<dyn GetPrompt>)>,
    pub(crate) resources: Vec<Arc<dyn Resources>>,
    pub(crate) completions: Vec<Arc<dyn Complete>>,
    pub(crate) instructions: Option<String>,
}

impl Catalog {
    /// An empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. It replaces a tool with the same name.
    #[must_use]
    pub fn tool(mut self, tool: Tool, code: impl CallTool) -> Self {
        self.tools.retain(|(other, _)| other.name != tool.name);
        self.tools.push((tool, Arc::new(code)));
        self
    }

    /// Instructions for models, instead of those of the [`Identity`](crate::Identity). Clients of a toolset
    /// get them without the sentences that name other tools.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Serves only these tools at `/mcp/<name>`. The names `sse` and `messages` are reserved for routes.
    #[must_use]
    pub fn toolset(
        mut self,
        name: impl Into<String>,
        tools: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.toolsets.insert(name.into(), tools.into_iter().map(Into::into).collect());
        self
    }

    /// Adds an alias for a tool. Aliases are not listed, and a tool with that name takes precedence.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>, tool: impl Into<String>) -> Self {
        self.aliases.insert(alias.into(), tool.into());
        self
    }

    /// Handles calls of unknown tools. Without it they are protocol errors, which not every client shows
    /// to its model.
    #[must_use]
    pub fn missing(mut self, code: impl CallTool) -> Self {
        self.missing = Some(Arc::new(code));
        self
    }

    /// Adds a prompt. It replaces a prompt with the same name.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt, code: impl GetPrompt) -> Self {
        self.prompts.retain(|(other, _)| other.name != prompt.name);
        self.prompts.push((prompt, Arc::new(code)));
        self
    }

    /// Adds a source of resources. Sources are consulted in the order in which they were added.
    #[must_use]
    pub fn resources(mut self, source: impl Resources) -> Self {
        self.resources.push(Arc::new(source));
        self
    }

    /// Adds a source of completions. The first source with a suggestion answers.
    #[must_use]
    pub fn completions(mut self, source: impl Complete) -> Self {
        self.completions.push(Arc::new(source));
        self
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: Vec<&str>| names.join(", ");
        f.debug_struct("Catalog")
            .field("tools", &names(self.tools.iter().map(|(tool, _)| &*tool.name).collect()))
            .field("prompts", &names(self.prompts.iter().map(|(one, _)| &*one.name).collect()))
            .field("resources", &self.resources.len())
            .field("completions", &self.completions.len())
            .finish()
    }
}
