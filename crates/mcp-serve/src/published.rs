//! The published catalog: indexed by name, converted to wire types once, and compared with its
//! predecessor.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    CallTool, Catalog, Complete, GetPrompt, Prompt, Resources, TaskSupport, notifier::Change, wire,
};

/// A published catalog.
pub(crate) struct PublishedCatalog {
    /// The number of this publication. Cursors of lists are bound to it.
    pub(crate) generation: u64,
    pub(crate) tools: Vec<rmcp::model::Tool>,
    calls: HashMap<String, Entry>,
    toolsets: BTreeMap<String, BTreeSet<String>>,
    aliases: BTreeMap<String, String>,
    missing: Option<Arc<dyn CallTool>>,
    pub(crate) prompts: Vec<rmcp::model::Prompt>,
    gets: HashMap<String, (Prompt, Arc<dyn GetPrompt>)>,
    pub(crate) resources: Vec<Arc<dyn Resources>>,
    pub(crate) completions: Vec<Arc<dyn Complete>>,
    instructions: Option<String>,
}

/// A tool and its implementation.
struct Entry {
    /// Its index in the list of tools.
    index: usize,
    code: Arc<dyn CallTool>,
    tasks: TaskSupport,
}

impl PublishedCatalog {
    pub(crate) fn new(generation: u64, catalog: Catalog) -> Self {
        let Catalog {
            tools,
            toolsets,
            aliases,
            missing,
            prompts,
            resources,
            completions,
            instructions,
        } = catalog;
        Self {
            generation,
            tools: tools.iter().map(|(tool, _)| wire::tool(tool)).collect(),
            calls: tools
                .into_iter()
                .enumerate()
                .map(|(index, (tool, code))| (tool.name, Entry { index, code, tasks: tool.tasks }))
                .collect(),
            toolsets,
            aliases,
            missing,
            prompts: prompts.iter().map(|(prompt, _)| wire::prompt(prompt)).collect(),
            gets: prompts
                .into_iter()
                .map(|(prompt, code)| (prompt.name.clone(), (prompt, code)))
                .collect(),
            resources,
            completions,
            instructions,
        }
    }

    /// Whether the catalog has this toolset.
    pub(crate) fn has_toolset(&self, name: &str) -> bool {
        self.toolsets.contains_key(name)
    }

    /// The instructions for clients of a toolset, or of all tools, without the sentences that name a tool
    /// outside of it.
    pub(crate) fn instructions(&self, toolset: Option<&str>) -> Option<String> {
        let text = self.instructions.as_ref()?;
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let is_hidden = |word: &str| self.calls.contains_key(word) && !self.is_in(toolset, word);
        let is_shown = |sentence: &&str| !sentence.split(|c: char| !is_part(c)).any(is_hidden);
        let shown: String = text.split_inclusive(". ").filter(is_shown).collect();
        Some(shown.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The tools of a toolset, or all tools.
    pub(crate) fn tools_of(&self, toolset: Option<&str>) -> Vec<rmcp::model::Tool> {
        let tools = self.tools.iter().filter(|tool| self.is_in(toolset, &tool.name));
        tools.cloned().collect()
    }

    /// The implementation of a tool, or of unknown tools where the catalog has one.
    pub(crate) fn call(
        &self,
        toolset: Option<&str>,
        name: &str,
    ) -> Option<(Arc<dyn CallTool>, TaskSupport)> {
        let name = match self.calls.contains_key(name) {
            true => name,
            false => self.aliases.get(name).map_or(name, String::as_str),
        };
        let entry = self.calls.get(name).filter(|_| self.is_in(toolset, name));
        let found = entry.map(|entry| (entry.code.clone(), entry.tasks));
        found.or_else(|| Some((self.missing.clone()?, TaskSupport::Never)))
    }

    /// Whether any tool supports tasks.
    pub(crate) fn has_tasks(&self) -> bool {
        self.calls.values().any(|entry| entry.tasks != TaskSupport::Never)
    }

    /// The description of a tool.
    pub(crate) fn tool(&self, name: &str) -> Option<&rmcp::model::Tool> {
        self.calls.get(name).and_then(|entry| self.tools.get(entry.index))
    }

    /// A prompt and its implementation.
    pub(crate) fn prompt(&self, name: &str) -> Option<&(Prompt, Arc<dyn GetPrompt>)> {
        self.gets.get(name)
    }

    /// Whether clients can subscribe to this resource.
    pub(crate) fn may_subscribe(&self, uri: &str) -> bool {
        self.resources.iter().any(|source| source.may_subscribe(uri))
    }

    /// The lists that differ from those of another publication.
    pub(crate) fn differs(&self, other: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.tools != other.tools || self.toolsets != other.toolsets {
            changes.push(Change::Tools);
        }
        if self.prompts != other.prompts {
            changes.push(Change::Prompts);
        }
        if self.templates() != other.templates() || !same(&self.resources, &other.resources) {
            changes.push(Change::Resources);
        }
        changes
    }

    /// The resource templates of all sources.
    pub(crate) fn templates(&self) -> Vec<rmcp::model::ResourceTemplate> {
        let all = self.resources.iter().flat_map(|source| source.templates());
        all.map(wire::resource_template).collect()
    }

    fn is_in(&self, toolset: Option<&str>, tool: &str) -> bool {
        let is_in = |name| self.toolsets.get(name).is_some_and(|tools| tools.contains(tool));
        toolset.is_none_or(is_in)
    }
}

/// Whether both have the same sources. Another source may list other resources.
fn same(some: &[Arc<dyn Resources>], others: &[Arc<dyn Resources>]) -> bool {
    let pairs = some.iter().zip(others);
    some.len() == others.len() && pairs.into_iter().all(|(one, other)| Arc::ptr_eq(one, other))
}

impl std::fmt::Debug for PublishedCatalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PublishedCatalog")
            .field("generation", &self.generation)
            .field("tools", &self.calls.keys())
            .field("prompts", &self.gets.keys())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Outcome};

    fn catalog() -> Catalog {
        let code = |_: Call| async { Ok(Outcome::text("")) };
        Catalog::new()
            .tool(crate::Tool::new("find", "finds"), code)
            .tool(crate::Tool::new("ask_more", "asks"), code)
            .toolset("few", ["find"])
            .instructions("Start with find. Then ask_more tells the rest. Be brief.")
    }

    #[test]
    fn no_sentence_names_a_tool_that_is_not_served() {
        let catalog = PublishedCatalog::new(1, catalog());
        let all = "Start with find. Then ask_more tells the rest. Be brief.";
        assert_eq!(catalog.instructions(None).as_deref(), Some(all));
        assert_eq!(
            catalog.instructions(Some("few")).as_deref(),
            Some("Start with find. Be brief.")
        );
        assert_eq!(PublishedCatalog::new(1, Catalog::new()).instructions(None), None);
    }

    #[test]
    fn a_schema_is_listed_without_what_some_clients_cannot_read() {
        let schema = serde_json::json!({
            "type": "object",
            "properties": {
                "additionalProperties": { "type": "string" },
                "a": { "type": "object", "additionalProperties": false },
                "b": { "type": "object", "additionalProperties": { "type": "string" } },
            },
            "additionalProperties": false,
        });
        let mut tool = crate::Tool::new("find", "finds");
        tool.input_schema = schema.as_object().unwrap().clone();
        let listed = serde_json::to_value(&*wire::tool(&tool).input_schema).unwrap();
        let expected = serde_json::json!({
            "type": "object",
            "properties": {
                "additionalProperties": { "type": "string" },
                "a": { "type": "object" },
                "b": { "type": "object", "additionalProperties": { "type": "string" } },
            },
        });
        assert_eq!(listed, expected);
    }
}
