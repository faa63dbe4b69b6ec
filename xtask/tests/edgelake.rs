//! The list of EdgeLake's commands that do not exist here stays true: none of them is a command.

use serde::Deserialize;

#[derive(Deserialize)]
struct Commands {
    absent: Vec<Absent>,
}

#[derive(Deserialize)]
struct Absent {
    title: String,
    commands: Vec<String>,
}

#[test]
fn commands_that_are_said_not_to_exist_do_not() {
    let list: Commands = toml::from_str(include_str!("../replay/commands.toml")).unwrap();
    let all: Vec<_> = list
        .absent
        .iter()
        .flat_map(|one| one.commands.iter().map(move |command| (&one.title, command)))
        .collect();
    assert!(all.len() > 50, "the list has lost its commands");
    let there: Vec<_> =
        all.iter().filter(|(_, command)| edgemere_command::parse(command).is_ok()).collect();
    assert!(there.is_empty(), "these are commands: {there:?}");
}
