//! The command line: a file for each command, at the name that the user types. This file lists
//! them, reads the configuration and hands it to the one that was asked for.

mod backup;
mod completions;
mod config;
mod data;
mod demo;
mod help;
mod import;
mod ledger;
mod mcp;
mod node;
mod policy;
mod reference;
mod restore;
mod run;
pub(crate) mod serve;
mod shell;
mod signals;
mod sql;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_serve::{CommandExt as _, Effect};
use tokio::runtime::{Builder, Runtime};

use crate::client::is_run_for_agent;
use crate::config::{Config, Entry, Flags, LogKeys, keys, misspelt};
use crate::failure::Failure;
use crate::{logging, terminal};

/// The heading in help of what every command takes.
pub(crate) const GLOBAL_HEADING: &str = "Global options";

/// Make the machines at the edge one database: run a node, or talk to one
#[derive(Debug, Parser)]
#[command(name = "edgemere", version, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,

    /// The configuration file [default: edgemere/edgemere.toml in the user's configuration folder, and
    /// the harmless keys of edgemere.toml in the current folder]
    #[arg(long, global = true, env = "EDGEMERE_CONFIG", value_name = "FILE")]
    #[arg(help_heading = GLOBAL_HEADING)]
    config: Option<PathBuf>,

    /// When to use colour; NO_COLOR and CLICOLOR apply as well
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    #[arg(help_heading = GLOBAL_HEADING)]
    color: clap::ColorChoice,

    #[command(flatten)]
    log: Flags<LogKeys>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Node(node::Node),
    Demo(demo::Demo),
    Run(run::Run),
    #[command(effect = Effect::Read)]
    Sql(sql::Sql),
    #[command(effect = Effect::Write)]
    Import(import::Import),
    Shell(shell::Shell),
    Mcp(Box<mcp::Mcp>),
    #[command(subcommand)]
    Policy(policy::Command),
    #[command(subcommand)]
    Tools(tools::Command),
    #[command(subcommand)]
    Config(config::Command),
    #[command(effect = Effect::Destructive)]
    Backup(backup::Backup),
    #[command(effect = Effect::Destructive)]
    Restore(restore::Restore),
    #[command(subcommand)]
    Data(data::Command),
    #[command(subcommand)]
    Ledger(ledger::Command),
    Completions(completions::Completions),
    #[command(hide = true)]
    Reference(reference::Reference),
}

/// The whole command line.
pub(crate) fn command() -> clap::Command {
    help::grouped(Cli::command())
}

/// Reads the command line; ends the process when it asks only for help, or is wrong.
pub(crate) fn parse() -> Cli {
    let matches = command().get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

impl Cli {
    /// Does what was asked for, and gives the exit code.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        terminal::choose_colour(self.color);
        // What needs no configuration works with a broken one, too.
        match &self.command {
            Command::Completions(completions) => return completions.run(),
            Command::Reference(reference) => return reference.run(),
            Command::Config(config::Command::Init(init)) => return init.run(self.config),
            Command::Tools(command) => {
                if let Some(done) = command.run_alone() {
                    return done;
                }
            }
            _ => {}
        }
        let given = [self.command.given(), self.log.entries()].concat();
        let config = Config::load(self.config.as_deref(), given)?;
        self.command.heed(&config)?;
        warn_of_misspelt();
        let filter = config.get(&keys::LOG).unwrap_or(self.command.log_default());
        logging::init(filter, config.text(&keys::LOG_FORMAT) == "json")?;
        match self.command {
            Command::Node(node) => node.run(&config),
            Command::Demo(demo) => demo.run(&config),
            Command::Run(run) => run.run(&config),
            Command::Sql(sql) => sql.run(&config),
            Command::Import(import) => import.run(&config),
            Command::Shell(shell) => shell.run(&config),
            Command::Mcp(mcp) => mcp.run(&config),
            Command::Policy(command) => command.run(&config),
            Command::Tools(command) => command.run(&config),
            Command::Config(command) => command.run(&config),
            Command::Backup(backup) => backup.run(&config),
            Command::Restore(restore) => restore.run(&config),
            Command::Data(command) => command.run(&config),
            Command::Ledger(command) => command.run(&config),
            Command::Completions(completions) => completions.run(),
            Command::Reference(reference) => reference.run(),
        }
    }
}

impl Command {
    /// The keys of the configuration that flags and the environment give.
    fn given(&self) -> Vec<Entry> {
        match self {
            Self::Node(node) => node.keys.entries(),
            Self::Run(run) => run.keys.entries(),
            Self::Sql(sql) => sql.keys.entries(),
            Self::Import(import) => import.keys.entries(),
            Self::Shell(shell) => shell.keys.entries(),
            Self::Mcp(mcp) => mcp.given(),
            Self::Policy(command) => command.given(),
            Self::Tools(command) => command.given(),
            Self::Config(command) => command.given(),
            Self::Backup(backup) => backup.keys.entries(),
            Self::Restore(restore) => restore.keys.entries(),
            Self::Data(command) => command.given(),
            Self::Ledger(command) => command.given(),
            Self::Demo(_) | Self::Completions(_) | Self::Reference(_) => Vec::new(),
        }
    }

    /// Says what the file of the working folder may not say. A node does not start with half of a
    /// configuration; what is run for an agent keeps quiet.
    fn heed(&self, config: &Config) -> anyhow::Result<()> {
        match config.warning() {
            Some(failure) if matches!(self, Self::Node(_)) => Err(failure.into()),
            Some(Failure { message, hint, .. }) if !is_run_for_agent() => {
                terminal::say(&format!("warning: {message}"));
                hint.iter().for_each(|hint| terminal::say(&format!("hint: {hint}")));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What is logged when nobody says anything: a node tells what it does, the rest is quiet.
    fn log_default(&self) -> &'static str {
        match self {
            Self::Node(_) => "info",
            _ => "warn",
        }
    }
}

/// Says which variables of the environment nobody reads, though they look as if they were meant for us.
fn warn_of_misspelt() {
    if is_run_for_agent() {
        return;
    }
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for (name, near) in misspelt(names) {
        terminal::say(&format!("warning: nothing reads the variable {name}"));
        terminal::say(&format!("hint: did you mean {near}?"));
    }
}

/// A runtime for a node.
fn node_runtime() -> anyhow::Result<Runtime> {
    Builder::new_multi_thread()
        .thread_stack_size(edgemere_query::sql::STACK_BYTES)
        .enable_all()
        .build()
        .context("cannot start the runtime")
}

/// A runtime for a client, which does one thing at a time.
fn client_runtime() -> anyhow::Result<Runtime> {
    Builder::new_current_thread().enable_all().build().context("cannot start the runtime")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }
}
