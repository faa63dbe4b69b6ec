//! `edgemere tools show`: all that there is to know of a tool.

use std::process::ExitCode;

use edgemere_tools::Tool;
use serde_json::{Value, json};

use super::{arguments, find, source, toolbox};
use crate::config::{Config, Flags, ToolKeys};
use crate::terminal;

/// Show a tool: its description, arguments, definition and an example call
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// The tool
    name: String,

    #[command(flatten)]
    pub(super) keys: Flags<ToolKeys>,
}

impl Show {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let toolbox = toolbox(config)?;
        let tool = find(&toolbox, &self.name)?;
        let written = source::of(tool, &toolbox);
        match terminal::is_for_people() {
            true => terminal::print_sections(&sections(tool, &written))?,
            false => terminal::print(&described(tool, &written).to_string())?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn sections(tool: &Tool, written: &str) -> Vec<(String, String)> {
    let title = tool.title.as_deref().unwrap_or(&tool.name);
    let effect = match (tool.annotations.read_only, tool.annotations.destructive) {
        (true, _) => "It changes nothing.",
        (false, false) => "It changes something.",
        (false, true) => "It may take something away.",
    };
    let schema = serde_json::to_string_pretty(&tool.input_schema).unwrap_or_default();
    let place = format!("{}:{}", tool.position.file, tool.position.line);
    vec![
        (title.to_owned(), format!("{}\n{effect}", tool.description.trim())),
        ("Arguments".to_owned(), schema),
        (format!("As it is written in {place}"), written.to_owned()),
        ("A call".to_owned(), arguments::example(tool)),
    ]
}

fn described(tool: &Tool, written: &str) -> Value {
    let hints = &tool.annotations;
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": {
            "readOnlyHint": hints.read_only,
            "destructiveHint": hints.destructive,
            "idempotentHint": hints.idempotent,
            "openWorldHint": hints.open_world,
        },
        "toolsets": tool.toolsets,
        "file": tool.position.file,
        "line": tool.position.line,
        "source": written,
        "example": arguments::example(tool),
    })
}
