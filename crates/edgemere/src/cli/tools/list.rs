//! `edgemere tools list`: the tools with what each is for.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::toolbox;
use crate::config::{Config, Flags, ToolKeys};
use crate::terminal;

/// List the tools, as a table on a terminal and as JSON in a pipe
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(super) keys: Flags<ToolKeys>,
}

impl List {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let toolbox = toolbox(config)?;
        let tools = toolbox.tools().iter();
        if terminal::is_for_people() {
            let rows = tools.map(|tool| vec![tool.name.clone(), first_sentence(&tool.description)]);
            let columns = ["Tool".to_owned(), "What it is for".to_owned()];
            terminal::print_table(&columns, &rows.collect::<Vec<_>>())?;
        } else {
            let tools: Vec<Value> = tools.map(|tool| {
                json!({ "name": tool.name, "description": tool.description, "read_only": tool.annotations.read_only })
            }).collect();
            terminal::print(&Value::Array(tools).to_string())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What comes before the first full stop that ends a sentence.
fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.split_once(". ") {
        Some((first, _)) => format!("{first}."),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_with_its_full_stop_and_not_inside_of_a_word() {
        assert_eq!(first_sentence("Reads t.csv\n now. And more."), "Reads t.csv now.");
        assert_eq!(first_sentence("All of it"), "All of it");
    }
}
