//! Arguments that name files and folders of this machine. Which files are read and written is the choice of
//! who starts the server and not of agents: every such argument is withheld, also one that comes to be,
//! unless it is listed here with what confines it.

use std::any::TypeId;
use std::path::PathBuf;

use clap::{Arg, Command};

/// Words in help that stand for a file or a folder.
const PATH_NAMES: [&str; 5] = ["FILE", "DIR", "FOLDER", "PATH", "DATA"];

/// Commands whose files are confined: `import` opens only what is below a folder that was declared.
const CONFINED: [&str; 1] = ["import"];

/// The patterns of what agents may not choose. A command that cannot do without such an argument is
/// withheld as a whole; so is a confined one when there is no folder for it.
pub(super) fn not_for_agents(command: &Command, has_folder: bool) -> Vec<String> {
    let mut patterns = Vec::new();
    for inner in command.get_subcommands() {
        walk(inner, "", has_folder, &mut patterns);
    }
    patterns
}

fn walk(command: &Command, above: &str, has_folder: bool, patterns: &mut Vec<String>) {
    let path = format!("{above} {}", command.get_name()).trim().to_owned();
    if CONFINED.contains(&path.as_str()) {
        patterns.extend((!has_folder).then(|| path.clone()));
        return;
    }
    for arg in command.get_arguments().filter(|arg| names_file(arg)) {
        match arg.is_required_set() || arg.is_positional() {
            true => patterns.push(path.clone()),
            false => patterns.push(format!("{path} --{}", long(arg))),
        }
    }
    command.get_subcommands().for_each(|inner| walk(inner, &path, has_folder, patterns));
}

fn long(arg: &Arg) -> &str {
    arg.get_long().unwrap_or(arg.get_id().as_str())
}

/// Whether an argument's value is a path: by its type, or by what stands for it in help.
fn names_file(arg: &Arg) -> bool {
    if !arg.get_action().takes_values() {
        return false;
    }
    let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let names = arg.get_value_names().unwrap_or_default();
    is_path || names.iter().any(|name| PATH_NAMES.contains(&name.trim_end_matches('…')))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap_serve::Tools;

    use super::super::{Cli, options};
    use super::*;

    #[test]
    fn no_tool_for_agents_has_an_argument_that_names_a_file() {
        let all = options().allow(["destructive"]);
        let tools = Tools::new(Cli::command(), super::super::run::handled(all, None)).unwrap();
        let names: Vec<_> = tools.names().map(str::to_owned).collect();
        assert!(!names.contains(&"import".to_owned()), "{names:?}");
        let shown = format!("{tools:?}");
        for (_, arg) in arguments(&Cli::command(), "") {
            if names_file(&arg) && arg.is_positional() {
                continue;
            }
            if names_file(&arg) {
                let schema = format!("\"{}\":", long(&arg).replace('-', "_"));
                assert!(!shown.contains(&schema), "--{} is offered", long(&arg));
            }
        }
    }

    #[test]
    fn every_argument_that_names_a_file_is_withheld() {
        let command = Cli::command();
        let patterns = not_for_agents(&command, true);
        let mut found = 0;
        for (path, arg) in arguments(&command, "") {
            if !names_file(&arg) || CONFINED.contains(&path.as_str()) || path.is_empty() {
                continue;
            }
            found += 1;
            let one = format!("{path} --{}", long(&arg));
            assert!(patterns.contains(&one) || patterns.contains(&path), "{one}: {patterns:?}");
        }
        assert!(found >= 3, "only {found} arguments name files");
        assert!(not_for_agents(&command, false).contains(&"import".to_owned()));
        assert!(!patterns.contains(&"import".to_owned()));
    }

    fn arguments(command: &Command, above: &str) -> Vec<(String, Arg)> {
        let own = command.get_arguments().map(|arg| (above.to_owned(), arg.clone()));
        let inner = command
            .get_subcommands()
            .flat_map(|inner| arguments(inner, format!("{above} {}", inner.get_name()).trim()));
        own.chain(inner).collect()
    }
}
