//! `edgemere tools`: the tools that agents have, looked at, called and checked by people. A file for each
//! command, at the name that the user types.

mod answer;
mod arguments;
mod call;
mod list;
mod schema;
mod show;
mod source;
mod test;
mod validate;

use std::process::ExitCode;

use clap_serve::{CommandExt as _, Effect};
use edgemere_command::{Access, Kind, Principal, near};
use edgemere_tools::{Executor, Kind as ToolKind, Origin, Tool, Toolbox, agent, programs_ended};

use super::signals::Signals;
use crate::config::{self, Config, Entry, keys};
use crate::failure::Failure;
use crate::remote;
use crate::server::BadTools;

/// List, show, call and check the tools that agents can use
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    #[command(effect = Effect::Read)]
    List(list::List),
    #[command(effect = Effect::Read)]
    Show(show::Show),
    #[command(effect = Effect::Destructive)]
    Call(call::Call),
    #[command(effect = Effect::Read)]
    Test(test::Test),
    #[command(effect = Effect::Read)]
    Validate(validate::Validate),
    #[command(effect = Effect::Read)]
    Schema(schema::Schema),
}

impl Command {
    /// The keys of the configuration that flags and the environment give.
    pub(super) fn given(&self) -> Vec<Entry> {
        match self {
            Self::List(list) => list.keys.entries(),
            Self::Show(show) => show.keys.entries(),
            Self::Call(call) => call.keys.entries(),
            Self::Test(test) => test.keys.entries(),
            Self::Validate(_) | Self::Schema(_) => Vec::new(),
        }
    }

    /// Does what needs no configuration; none for all else.
    pub(super) fn run_alone(&self) -> Option<anyhow::Result<ExitCode>> {
        match self {
            Self::Validate(validate) => Some(validate.run()),
            Self::Schema(schema) => Some(schema.run()),
            _ => None,
        }
    }

    pub(super) fn run(self, config: &Config) -> anyhow::Result<ExitCode> {
        match self {
            Self::List(list) => list.run(config),
            Self::Show(show) => show.run(config),
            Self::Call(call) => call.run(config),
            Self::Test(test) => test.run(config),
            Self::Validate(validate) => validate.run(),
            Self::Schema(schema) => schema.run(),
        }
    }
}

/// The tools that the configuration names.
fn toolbox(config: &Config) -> anyhow::Result<Toolbox> {
    Ok(Origin::of(config.get(&keys::TOOLS)).load().map_err(BadTools)?)
}

/// The tool of a name, or those that there are.
fn find<'a>(toolbox: &'a Toolbox, name: &str) -> Result<&'a Tool, Failure> {
    toolbox.tool(name).ok_or_else(|| {
        let names = || toolbox.tools().iter().map(|tool| tool.name.as_str());
        let near = near::hint(name, names());
        let hint = near.unwrap_or_else(|| match toolbox.tools().is_empty() {
            true => "the file has no tools".to_owned(),
            false => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
        });
        Failure::new(Kind::NotFound, format!("there is no tool \"{name}\"")).with_hint(hint)
    })
}

/// What carries out calls of these tools: the node that the configuration names, or this machine alone
/// when all of them run programs. People may do what the node lets them; what agents may is in the node's
/// own configuration.
async fn executor(config: &Config, tools: &[Tool]) -> anyhow::Result<Executor> {
    let principal = Principal::new(agent().name(), Access::Admin);
    if tools.iter().all(|tool| tool.kind == ToolKind::Cli) {
        return Ok(Executor::without_node(principal));
    }
    let url = config::node_url(config.text(&keys::NODE)).map_err(Failure::input)?;
    Ok(Executor::new(remote::connect(url).await?, principal))
}

/// Does something, unless it is interrupted: then the programs that it runs end first.
async fn unless_interrupted<T>(
    work: impl Future<Output = anyhow::Result<T>>,
) -> anyhow::Result<Option<T>> {
    let mut signals = Signals::listen()?;
    let done = tokio::select! {
        done = work => done.map(Some),
        () = signals.any() => Ok(None),
    };
    programs_ended().await;
    done
}
