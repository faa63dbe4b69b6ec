//! `edgemere tools schema`: the JSON Schema of files of tools, with which editors complete them.

use std::process::ExitCode;

use crate::terminal;

/// Print the JSON Schema of tools files, for editors
#[derive(Debug, clap::Args)]
#[command(after_help = "Example, for editors with the YAML language server:\n  \
                        edgemere tools schema > tools.schema.json\n  and as the first line of \
                        tools.yaml:\n  # yaml-language-server: $schema=tools.schema.json")]
pub(crate) struct Schema {}

impl Schema {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let schema = serde_json::to_string_pretty(&edgemere_tools::schema())?;
        terminal::print_json(&schema)?;
        Ok(ExitCode::SUCCESS)
    }
}
