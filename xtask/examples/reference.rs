//! Prints the reference page of the commands, made from their declarations. `cargo xtask docs`
//! writes it to `docs/reference/commands.md`.

use std::io::{self, Write};

use edgemere_command::{Declaration, declarations};

const INTRODUCTION: &str = "\
<!-- Written by `cargo xtask docs` from the declarations in crates/edgemere-command. Edit the texts there. -->
# Commands

Every command works the same over REST, in `edgemere shell` and with `edgemere run`. The effect says what a
command does to the node; the caller needs the access for it. The method is the HTTP method of REST.
";

fn main() -> io::Result<()> {
    let mut commands: Vec<&Declaration> = declarations().to_vec();
    commands.sort_by_key(|command| command.name);
    io::stdout().write_all(page(&commands).as_bytes())
}

fn page(commands: &[&Declaration]) -> String {
    let sections: String = commands.iter().map(|command| section(command)).collect();
    format!("{INTRODUCTION}\n{}{sections}", index(commands))
}

/// A table with a line for each command.
fn index(commands: &[&Declaration]) -> String {
    let mut table =
        String::from("| command | what it does | effect | method |\n|---|---|---|---|\n");
    for Declaration { name, about, effect, method, .. } in commands {
        let (anchor, about) = (anchor(name), cell(about));
        table.push_str(&format!("| [{name}](#{anchor}) | {about} | {effect} | {method} |\n"));
    }
    table
}

fn section(command: &Declaration) -> String {
    let Declaration { name, usage, about, details, effect, method, .. } = command;
    let mut text = format!("\n## {name}\n\n{about}\n\n```text\n{usage}\n```\n");
    if !details.is_empty() {
        text.push_str(&format!("\n{}\n", details.trim()));
    }
    if !command.examples.is_empty() {
        text.push_str(&format!("\nExamples:\n\n```text\n{}\n```\n", command.examples.join("\n")));
    }
    text.push_str(&format!("\nEffect: {effect}. Method: {method}.{}\n", formats(command)));
    text
}

fn formats(command: &Declaration) -> String {
    let names: Vec<&str> = command.formats.iter().map(|format| format.name()).collect();
    if names.is_empty() { String::new() } else { format!(" Formats: {}.", names.join(", ")) }
}

/// The anchor that a heading gets on the usual hosts.
fn anchor(name: &str) -> String {
    let lower = name.to_lowercase().replace(' ', "-");
    lower.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
