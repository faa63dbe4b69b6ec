//! `edgemere --help`: the commands in groups, and examples. clap lists commands in one block, so
//! the block is made here, from what clap knows of them.

use clap::Command;

/// The groups of commands.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Run a node", &["node", "demo"]),
    ("Talk to a node", &["run", "sql", "import", "policy", "shell"]),
    ("Serve agents", &["mcp", "tools"]),
    ("Set up and maintain", &["config", "backup", "restore", "data", "ledger", "completions"]),
];

const EXAMPLES: [(&str, &str); 7] = [
    ("edgemere demo", "try a network with sample data"),
    ("edgemere node --name plant-1", "start a node with its data in ./edgemere-data"),
    ("edgemere run 'get status'", "send a command to the node on this machine"),
    ("edgemere run 'blockchain get operator'", "list the nodes that store rows"),
    ("edgemere import pumps.csv --dbms water", "store the rows of a file"),
    ("edgemere shell", "type SQL and commands, with completion"),
    ("edgemere --serve", "serve these commands to agents as MCP tools"),
];

/// The command line with its commands in groups.
pub(super) fn grouped(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let heading = |text: &str| format!("{header}{text}:{header:#}\n");
    let line = |name: &str, about: &str, width: usize| {
        format!("  {literal}{name:width$}{literal:#}  {about}\n")
    };
    let mut groups = String::new();
    for (title, names) in GROUPS {
        groups.push_str(&heading(title));
        groups.extend(names.iter().map(|name| line(name, &about(&command, name), 11)));
        groups.push('\n');
    }
    let examples: String = EXAMPLES.iter().map(|(text, about)| line(text, about, 39)).collect();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{options}{{options}}\
         {{after-help}}",
        options = heading("Options"),
    );
    command.help_template(template).after_help(format!(
        "{}{examples}\n\"edgemere COMMAND --help\" describes a command in detail.",
        heading("Examples")
    ))
}

fn about(command: &Command, name: &str) -> String {
    let found = command.find_subcommand(name).and_then(|command| command.get_about());
    found.map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_says_what_it_does() {
        let command = crate::cli::command();
        let mut listed: Vec<_> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut known: Vec<_> = shown.map(Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
        for name in known {
            assert!(!about(&command, name).is_empty(), "{name}");
        }
    }

    #[test]
    fn every_flag_of_every_command_has_help() {
        fn check(command: &Command) {
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{} {}", command.get_name(), arg.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&crate::cli::command());
    }
}
