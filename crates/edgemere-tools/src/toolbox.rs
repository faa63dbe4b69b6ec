//! The toolbox: all that a file and those that it includes say, checked as one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mcp_serve::Icon;
use serde_json::{Map, Value};

use crate::arguments::ArgumentErrors;
use crate::bound::Bound;
use crate::check;
use crate::file::source::Source;
use crate::file::surroundings::Surroundings;
use crate::file::{self, Files};
use crate::problem::Problems;
use crate::shipped::{EDGELAKE, EDGEMERE, Shipped};
use crate::template::{Plan, Prose};
use crate::tool::{Position, Tool};

/// A file that was read and checked. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Toolbox(Arc<Contents>);

/// What is in it.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) testing: bool,
    pub(crate) instructions: Option<String>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) toolsets: Vec<Toolset>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) text: String,
}

impl Toolbox {
    /// Reads a file and those that it includes.
    pub fn load(path: &Path, surroundings: &Surroundings) -> Result<Self, Problems> {
        Self::of(file::read(path, surroundings)?)
    }

    /// Reads a text, which includes nothing.
    pub fn from_text(
        name: &str,
        text: &str,
        surroundings: &Surroundings,
    ) -> Result<Self, Problems> {
        let (name, text) = (name.to_owned(), text.to_owned());
        Self::of(file::read_text(Source { name, text, is_proven: false }, surroundings)?)
    }

    /// The tools that come with Edgemere.
    pub fn builtin() -> Result<Self, Problems> {
        Self::shipped(&EDGEMERE)
    }

    /// The tools with EdgeLake's own names and parameters.
    pub fn edgelake() -> Result<Self, Problems> {
        Self::shipped(&EDGELAKE)
    }

    fn shipped(file: &Shipped) -> Result<Self, Problems> {
        Self::of(file::read_text(file.source(), &Surroundings::empty())?)
    }

    fn of(files: Files) -> Result<Self, Problems> {
        check::check(files).map(|contents| Self(Arc::new(contents)))
    }

    /// The tools, in the order of the file.
    pub fn tools(&self) -> &[Tool] {
        &self.0.tools
    }

    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.0.tools.iter().find(|tool| tool.name == name)
    }

    /// The groups of tools that can be asked for alone.
    pub fn toolsets(&self) -> &[Toolset] {
        &self.0.toolsets
    }

    /// The prompts.
    pub fn prompts(&self) -> &[Prompt] {
        &self.0.prompts
    }

    /// The resources.
    pub fn resources(&self) -> &[Resource] {
        &self.0.resources
    }

    /// The instructions for agents before they call anything, where a file says so.
    pub fn instructions(&self) -> Option<&str> {
        self.0.instructions.as_deref()
    }

    /// Whether every call is to be logged in full.
    pub fn testing(&self) -> bool {
        self.0.testing
    }

    /// The files that were read, which are to be watched for changes.
    pub fn files(&self) -> &[PathBuf] {
        &self.0.files
    }

    /// The text of the file that was loaded, as it was written.
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

/// A group of tools that can be asked for alone, as `/mcp/<name>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolset {
    /// What it is called.
    pub name: String,
    /// The names of its tools, in the order of the file.
    pub tools: Vec<String>,
}

/// A prompt that people choose.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// What it is called.
    pub name: String,
    /// What people are shown instead of the name.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// What it asks for.
    pub arguments: Vec<PromptArgument>,
    /// Pictures that clients may show beside it.
    pub icons: Vec<Icon>,
    /// Where it is declared.
    pub position: Position,
    pub(crate) text: Prose,
}

impl Prompt {
    /// The text with the arguments in it.
    pub fn text(&self, arguments: &Map<String, Value>) -> Result<String, ArgumentErrors> {
        let known: Vec<_> = self.arguments.iter().map(|argument| argument.name.as_str()).collect();
        let required = self.arguments.iter().filter(|argument| argument.required);
        let required: Vec<_> = required.map(|argument| argument.name.as_str()).collect();
        self.text.fill(arguments, &known, &required)
    }
}

/// What a prompt asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// Whether the prompt cannot do without.
    pub required: bool,
}

/// A resource: what a command answers, under an address.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The address; with `{names}` in it, a template of addresses.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// What people are shown instead of the name.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// What it is written in.
    pub mime_type: String,
    /// The names in the address, in their order.
    pub variables: Vec<String>,
    /// Pictures that clients may show beside it.
    pub icons: Vec<Icon>,
    /// Where it is declared.
    pub position: Position,
    pub(crate) plan: Plan,
}

impl Resource {
    /// Whether the address has names in it that must be given.
    pub fn is_template(&self) -> bool {
        !self.variables.is_empty()
    }

    /// The command that answers, with the names of the address as values.
    pub fn bind(&self, variables: &Map<String, Value>) -> Result<Bound, ArgumentErrors> {
        self.plan.bind(variables.clone())
    }
}
