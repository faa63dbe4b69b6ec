//! A catalog as it is served: looked up by name, spelled for the wire once, compared with the one
//! before it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use crate::{
    CallTool, Catalog, Complete, GetPrompt, Prompt, Resources, TaskSupport, hub::Change, wire,
};

/// A catalog as it is served.
pub(crate) struct Offer {
    /// Counts the catalogs that were offered: a page of a list is of one of them.
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

/// A tool as it is called.
struct Entry {
    /// Where it stands in the list.
    index: usize,
    code: Arc<dyn CallTool>,
    tasks: TaskSupport,
}

impl Offer {
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

    /// Whether there is such a toolset.
    pub(crate) fn has_toolset(&self, name: &str) -> bool {
        self.toolsets.contains_key(name)
    }

    /// What a client of a toolset, or of all tools, is told before it calls anything: no sentence names a
    /// tool that it does not have.
    pub(crate) fn instructions(&self, toolset: Option<&str>) -> Option<String> {
        let text = self.instructions.as_ref()?;
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let is_hidden = |word: &str| self.calls.contains_key(word) && !self.is_in(toolset, word);
        let is_shown = |sentence: &&str| !sentence.split(|c: char| !is_part(c)).any(is_hidden);
        let shown: String = text.split_inclusive(". ").filter(is_shown).collect();
        Some(shown.trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// The tools of a toolset, or all.
    pub(crate) fn tools_of(&self, toolset: Option<&str>) -> Vec<rmcp::model::Tool> {
        let tools = self.tools.iter().filter(|tool| self.is_in(toolset, &tool.name));
        tools.cloned().collect()
    }

    /// The code behind a tool of a toolset, or behind those that are not there.
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

    /// Whether a call of any tool may become a task.
    pub(crate) fn has_tasks(&self) -> bool {
        self.calls.values().any(|entry| entry.tasks != TaskSupport::Never)
    }

    /// How a tool is described.
    pub(crate) fn tool(&self, name: &str) -> Option<&rmcp::model::Tool> {
        self.calls.get(name).and_then(|entry| self.tools.get(entry.index))
    }

    /// A prompt and the code behind it.
    pub(crate) fn prompt(&self, name: &str) -> Option<&(Prompt, Arc<dyn GetPrompt>)> {
        self.gets.get(name)
    }

    /// Whether a source tells of changes of this resource.
    pub(crate) fn may_subscribe(&self, uri: &str) -> bool {
        self.resources.iter().any(|source| source.may_subscribe(uri))
    }

    /// The lists that differ from those of another offer.
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

    /// The families of resources of all sources.
    pub(crate) fn templates(&self) -> Vec<rmcp::model::ResourceTemplate> {
        let all = self.resources.iter().flat_map(|source| source.templates());
        all.map(wire::resource_template).collect()
    }

    fn is_in(&self, toolset: Option<&str>, tool: &str) -> bool {
        let is_in = |name| self.toolsets.get(name).is_some_and(|tools| tools.contains(tool));
        toolset.is_none_or(is_in)
    }
}

/// Whether these are the very same sources. Others may have another list.
fn same(some: &[Arc<dyn Resources>], others: &[Arc<dyn Resources>]) -> bool {
    let pairs = some.iter().zip(others);
    some.len() == others.len() && pairs.into_iter().all(|(one, other)| Arc::ptr_eq(one, other))
}

impl std::fmt::Debug for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Offer")
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
        let offer = Offer::new(1, catalog());
        let all = "Start with find. Then ask_more tells the rest. Be brief.";
        assert_eq!(offer.instructions(None).as_deref(), Some(all));
        assert_eq!(offer.instructions(Some("few")).as_deref(), Some("Start with find. Be brief."));
        assert_eq!(Offer::new(1, Catalog::new()).instructions(None), None);
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
