//! `edgemere tools call`: one call of a tool, as an agent would make it.

use std::process::ExitCode;

use mcp_serve::Context;

use super::super::client_runtime;
use super::{answer, arguments, executor, find, toolbox, unless_interrupted};
use crate::cli::signals::INTERRUPTED;
use crate::config::{CallKeys, Config, Flags};
use crate::failure::Failure;

/// Call a tool on a node, as an agent would
#[derive(Debug, clap::Args)]
#[command(
    long_about = "Call a tool on a node, as an agent would, and print its result: a table or \
                  text on a terminal, and in a pipe the JSON that an agent gets.\n\nThe node may \
                  be an EdgeLake node. Exit codes are those of \"edgemere run\".",
    after_help = "Examples:\n  edgemere tools call list_databases\n  \
                  edgemere tools call query --arg database=water --arg table=pumps --arg limit=5\n  \
                  edgemere tools call query --arg database=water --arg table=pumps \\\n    \
                  --arg 'select=site,avg(level)' --arg group_by=site\n  \
                  edgemere tools call sql --json '{\"database\": \"water\", \"sql\": \"SELECT 1\"}'"
)]
pub(crate) struct Call {
    /// The tool
    name: String,

    /// An argument; a list is JSON, or its items separated by commas
    #[arg(long = "arg", value_name = "KEY=VALUE", value_parser = arguments::pair)]
    args: Vec<(String, String)>,

    /// All arguments as one JSON object; --arg overrides it
    #[arg(long, value_name = "OBJECT")]
    json: Option<String>,

    #[command(flatten)]
    pub(super) keys: Flags<CallKeys>,
}

impl Call {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        let toolbox = toolbox(config)?;
        let tool = find(&toolbox, &self.name)?;
        let arguments = arguments::collect(tool, self.json.as_deref(), &self.args)?;
        // What does not fit is reported before a node is looked for.
        tool.bind(&arguments).map_err(|errors| {
            Failure::input(format!("the arguments do not fit:\n{errors}"))
                .with_hint(format!("\"edgemere tools show {}\" tells what it takes", tool.name))
        })?;
        let call =
            mcp_serve::Call::new(&tool.name, arguments, Context::detached(Default::default()));
        let outcome = client_runtime()?.block_on(unless_interrupted(async {
            let executor = executor(config, std::slice::from_ref(tool)).await?;
            let outcome = executor.try_call(tool, &call, toolbox.testing()).await;
            outcome.map_err(|failure| anyhow::Error::new(Failure::of_tool(failure)))
        }))?;
        match outcome {
            Some(outcome) => answer::print(&outcome),
            None => Ok(ExitCode::from(INTERRUPTED)),
        }
    }
}
