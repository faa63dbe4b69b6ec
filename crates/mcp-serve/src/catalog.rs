//! What is served: tools, prompts, resources and completions, put together by the host.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use crate::{CallTool, Complete, GetPrompt, Prompt, Resources, Tool};

/// What is served. Put together once and offered with [`Server::offer`](crate::Server::offer); for
/// a change put together another one.
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
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool, in the place of one of the same name.
    #[must_use]
    pub fn tool(mut self, tool: Tool, code: impl CallTool) -> Self {
        self.tools.retain(|(other, _)| other.name != tool.name);
        self.tools.push((tool, Arc::new(code)));
        self
    }

    /// What clients are told before they call anything, in the place of what the
    /// [`Identity`](crate::Identity) says. Where only some tools are offered, sentences that name others
    /// are left out.
    #[must_use]
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into());
        self
    }

    /// Offers these tools alone at `/mcp/<name>`. The names `sse` and `messages` are taken by
    /// routes.
    #[must_use]
    pub fn toolset(
        mut self,
        name: impl Into<String>,
        tools: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.toolsets.insert(name.into(), tools.into_iter().map(Into::into).collect());
        self
    }

    /// Lets a tool be called by another name too. It is not listed, and a tool of that very name goes
    /// before it.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>, tool: impl Into<String>) -> Self {
        self.aliases.insert(alias.into(), tool.into());
        self
    }

    /// Answers calls of tools that are not there. Without it they are errors of the protocol, which not
    /// every client shows to its model.
    #[must_use]
    pub fn missing(mut self, code: impl CallTool) -> Self {
        self.missing = Some(Arc::new(code));
        self
    }

    /// Adds a prompt, in the place of one of the same name.
    #[must_use]
    pub fn prompt(mut self, prompt: Prompt, code: impl GetPrompt) -> Self {
        self.prompts.retain(|(other, _)| other.name != prompt.name);
        self.prompts.push((prompt, Arc::new(code)));
        self
    }

    /// Adds a source of resources. Sources are asked in the order in which they were added.
    #[must_use]
    pub fn resources(mut self, source: impl Resources) -> Self {
        self.resources.push(Arc::new(source));
        self
    }

    /// Adds a source of completions. The first one that knows a hole answers.
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
