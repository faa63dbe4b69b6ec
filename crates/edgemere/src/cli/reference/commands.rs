//! The page of the command line: every command with its usage, arguments and examples, and the exit
//! codes, from clap's own tree.

use clap::{Arg, Command};
use edgemere_command::Kind;

use super::cell;
use crate::cli::GLOBAL_HEADING;
use crate::cli::import::PARTIAL;
use crate::cli::signals::{INTERRUPTED, TERMINATED};
use crate::config::keys;

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs` from the code of crates/edgemere. Edit the texts there. -->
# Command line

`edgemere` is one program: it runs nodes, talks to them, and serves agents. stdout carries data, stderr
carries messages. `edgemere COMMAND --help` prints what this page says about a command.
";

/// Commands with more flags than this for keys of the configuration refer to that page.
const KEY_FLAGS_MAX: usize = 4;

pub(super) fn page(mut command: Command) -> String {
    command.build();
    let mut text = format!("{INTRODUCTION}\n{}", index(&command));
    text.push_str(&global_options(&command));
    text.push_str(&exit_codes());
    sections(&command, &mut text);
    text
}

/// A table with a line for each command that does something.
fn index(command: &Command) -> String {
    let mut table = String::from("| command | what it does |\n|---|---|\n");
    lines(command, &mut table);
    table
}

fn lines(command: &Command, table: &mut String) {
    for command in shown(command) {
        let name = path(command);
        let anchor = name.replace(' ', "-");
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        table.push_str(&format!("| [`{name}`](#{anchor}) | {} |\n", cell(&about)));
        lines(command, table);
    }
}

fn sections(command: &Command, text: &mut String) {
    for command in shown(command) {
        text.push_str(&section(command));
        sections(command, text);
    }
}

fn section(command: &Command) -> String {
    let about = command.get_long_about().or_else(|| command.get_about());
    let about = about.map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let mut text = format!("\n## {}\n\n{about}\n\n```text\n{usage}\n```\n", path(command));
    text.push_str(&arguments(command));
    if let Some(after) = command.get_after_help() {
        text.push_str(&after_help(&after.to_string()));
    }
    text
}

/// What stands below the options in help: a heading, and examples.
fn after_help(text: &str) -> String {
    match text.split_once(":\n") {
        Some((heading, lines)) => {
            let lines: Vec<&str> =
                lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
            format!("\n{heading}:\n\n```text\n{}\n```\n", lines.join("\n"))
        }
        None => format!("\n{text}\n"),
    }
}

fn arguments(command: &Command) -> String {
    let own = |arg: &&Arg| {
        !arg.is_hide_set()
            && arg.get_help_heading() != Some(GLOBAL_HEADING)
            && !["help", "version"].contains(&arg.get_id().as_str())
    };
    let is_key = |arg: &Arg| keys::ALL.iter().any(|key| key.name == arg.get_id().as_str());
    let all: Vec<&Arg> = command.get_arguments().filter(own).collect();
    let has_all_keys = all.iter().filter(|arg| is_key(arg)).count() > KEY_FLAGS_MAX;
    let listed: Vec<&Arg> = all.into_iter().filter(|arg| !(has_all_keys && is_key(arg))).collect();
    let mut text = table(&listed);
    if has_all_keys {
        text.push_str(
            "\nIt takes the keys of [the configuration](configuration.md) as flags: `--NAME VALUE`.\n",
        );
    }
    text
}

fn table(arguments: &[&Arg]) -> String {
    if arguments.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n| argument | what it does |\n|---|---|\n");
    for arg in arguments {
        text.push_str(&format!("| {} | {} |\n", cell(&name(arg)), cell(&help(arg))));
    }
    text
}

fn name(arg: &Arg) -> String {
    let values: Vec<String> =
        arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect();
    let takes_value = arg.get_action().takes_values();
    let value = if takes_value { values.join(" ") } else { String::new() };
    let short = arg.get_short().map(|short| format!("`-{short}`, ")).unwrap_or_default();
    match arg.get_long() {
        Some(long) if value.is_empty() => format!("{short}`--{long}`"),
        Some(long) => format!("{short}`--{long} {value}`"),
        None => format!("`{value}`"),
    }
}

fn help(arg: &Arg) -> String {
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let possible = arg.get_possible_values();
    if arg.get_action().takes_values() && !possible.is_empty() {
        let names: Vec<String> =
            possible.iter().map(|value| format!("`{}`", value.get_name())).collect();
        text.push_str(&format!(": {}", names.join(", ")));
    }
    let defaults = arg.get_default_values();
    if arg.get_action().takes_values() && !defaults.is_empty() {
        let defaults: Vec<_> = defaults.iter().map(|value| value.to_string_lossy()).collect();
        text.push_str(&format!(" [default: {}]", defaults.join(" ")));
    }
    text
}

fn global_options(command: &Command) -> String {
    let is_global = |arg: &&Arg| arg.get_help_heading() == Some(GLOBAL_HEADING);
    let arguments: Vec<&Arg> = command.get_arguments().filter(is_global).collect();
    format!("\n## Global options\n\nEvery command takes them.\n{}", table(&arguments))
}

fn exit_codes() -> String {
    let mut text = String::from(
        "\n## Exit codes\n\nOne classification of failures decides the exit code, the HTTP status \
         and what an agent gets.\n\n| exit code | failure | HTTP status |\n|---|---|---|\n| 0 | none | 200 |\n",
    );
    text.push_str(&format!(
        "| {PARTIAL} | `edgemere import` stored some rows and rejected others | 207 |\n"
    ));
    for kind in Kind::ALL {
        let (exit, status) = (kind.exit_code(), kind.http_status());
        text.push_str(&format!("| {exit} | {} | {status} |\n", meaning(kind)));
    }
    text.push_str(&format!(
        "| {INTERRUPTED} | interrupted (Ctrl-C) | |\n| {TERMINATED} | terminated (SIGTERM) | |\n"
    ));
    text
}

fn meaning(kind: Kind) -> &'static str {
    match kind {
        Kind::Input => "wrong input: the command, statement, flag or file cannot be used as it is",
        Kind::NotFound => "not found: a database, table, policy, job or tool does not exist",
        Kind::Denied => "denied: the caller lacks the permission",
        Kind::Conflict => "conflict with the current state",
        Kind::Unavailable => {
            "unavailable now: a node does not answer, or a limit is reached; retry later"
        }
        Kind::Internal => "an internal error; the log has the details",
    }
}

fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let is_shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    command.get_subcommands().filter(is_shown)
}

/// A command as a user types it.
fn path(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).to_owned()
}
