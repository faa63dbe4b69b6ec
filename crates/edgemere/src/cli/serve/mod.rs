//! `edgemere --serve`: the commands of this very command line as tools for agents.
//!
//! What each command does is declared where it is listed, in `cli`. Here is what is not for agents:
//! commands that do not end, and arguments that would let an agent choose a file or a machine. A node
//! with `cli-tools` offers the same beside the tools of its file.

mod files;
mod redact;
mod run;

use std::net::SocketAddr;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_serve::{Allow, Effect, Options, Tools};
use edgemere_command::Access;

use super::Cli;
use super::import::{FOLDER_VARIABLE, import_folder};
use crate::client::ACCESS_VARIABLE;
use crate::config::keys;

/// Commands that run until they are stopped, ask a person, or write the files of other programs; what
/// calls tools that may do anything; and what would show the lines of any file.
const NOT_FOR_AGENTS: [&str; 11] = [
    "node",
    "demo",
    "shell",
    "mcp *",
    "completions",
    "reference",
    "tools call",
    "tools validate",
    "backup",
    "restore",
    "data repair",
];

/// Arguments that are the choice of who starts the server: files of this machine, other machines, and
/// how a terminal looks.
const NOT_FOR_AGENTS_TO_CHOOSE: [&str; 8] = [
    "--config",
    "--node",
    "--tools",
    "--data",
    "--color",
    "--log",
    "--log-format",
    "config show --*",
];

/// The files that are offered as resources.
const MANIFESTS: [&str; 3] = ["edgemere.toml", "tools.yaml", "*.al"];

/// What the names of tools beside those of a file begin with.
const PREFIX: &str = "cli_";

/// Serves, when `--serve` is the first argument, and gives the exit code.
pub(crate) fn if_asked() -> Option<ExitCode> {
    let command = Cli::command();
    let options = clap_serve::options_from_args(&command, options())?;
    let served = options.map(|options| {
        let options = run::handled(for_agents(options), None);
        clap_serve::serve_to_end(command, options)
    });
    Some(served.unwrap_or_else(|code| code))
}

/// The same commands beside the tools of a node's file, for this node.
pub(super) fn beside(http: SocketAddr, access: Access) -> Result<Tools, clap_serve::Error> {
    let node = format!("http://{http}");
    let mut options = options();
    PREFIX.clone_into(&mut options.prefix);
    options.policy.allow.extend(allowed(access).map(Allow::Effect));
    options.environment = options.environment.set(keys::NODE.variable, &node);
    Tools::new(Cli::command(), run::handled(for_agents(options), Some(node)))
}

/// Tells the commands that are run that they are run for agents, and what those may do at most. They
/// tell it to the node that they ask.
fn for_agents(mut options: Options) -> Options {
    let access = run::access(options.policy.gravest());
    options.environment = options.environment.set(ACCESS_VARIABLE, access.name());
    options
}

fn options() -> Options {
    let mut options = Options::new()
        .deny(NOT_FOR_AGENTS)
        .deny(NOT_FOR_AGENTS_TO_CHOOSE)
        .deny(files::not_for_agents(&Cli::command(), import_folder().is_some()))
        .manifests(MANIFESTS);
    options.view = Some(redact::view);
    if let Some(folder) = import_folder() {
        options.environment = options.environment.set(FOLDER_VARIABLE, folder);
    }
    options
}

/// What agents are offered beside reading.
fn allowed(access: Access) -> Option<Effect> {
    match access {
        Access::Read => None,
        Access::Write => Some(Effect::Write),
        Access::Admin => Some(Effect::Destructive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(options: Options) -> Vec<String> {
        let tools = Tools::new(Cli::command(), run::handled(options, None)).unwrap();
        assert_eq!(tools.undeclared, Vec::<String>::new(), "say what these do");
        tools.names().map(str::to_owned).collect()
    }

    #[test]
    fn more_is_offered_when_it_is_allowed() {
        let read = names(options());
        let write = names(options().allow(["write"]));
        let more = "config_init".to_owned();
        assert!(write.contains(&more) && !read.contains(&more), "{write:?}");
        // Only with a folder of files for it.
        assert!(!write.contains(&"import".to_owned()), "{write:?}");
        assert!(!write.contains(&"ledger_repair".to_owned()));
        let all = names(options().allow(["destructive"]));
        assert!(all.contains(&"ledger_repair".to_owned()), "{all:?}");
        for never in ["node", "demo", "shell", "mcp", "mcp_install", "tools_call", "tools_validate"]
        {
            assert!(!all.contains(&never.to_owned()), "{never}");
        }
    }
}
