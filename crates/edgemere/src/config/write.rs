//! The configuration as TOML: what holds now, and a file to begin with.

use super::key::{Default, Key};
use super::{Config, Entry};

/// Every key with its value and, as a comment, where it came from. It can be read as a file again.
pub(crate) fn show(config: &Config) -> String {
    let lines: Vec<_> = config.entries().iter().map(|entry| (assignment(entry), entry)).collect();
    let width = lines.iter().map(|(line, _)| line.chars().count()).max().unwrap_or(0);
    let mut text: String =
        lines.iter().map(|(line, entry)| format!("{line:width$}  # {}\n", origin(entry))).collect();
    for entry in config.ignored() {
        let (line, file) = (assignment(entry), &entry.source);
        text.push_str(&format!("# ignored: {line}  # {file}, which --config would have to name\n"));
    }
    text
}

fn assignment(entry: &Entry) -> String {
    match &entry.text {
        Some(text) if entry.key.form.hides(text) => format!("# {} = (not shown)", entry.key.name),
        Some(text) => format!("{} = {}", entry.key.name, entry.key.form.write_toml(text)),
        None => format!("# {} =", entry.key.name),
    }
}

fn origin(entry: &Entry) -> String {
    match &entry.key.default {
        Default::Unset(words) if entry.text.is_none() => format!("{}: {words}", entry.source),
        _ => entry.source.to_string(),
    }
}

/// A file with every key at its default. What depends on other keys is a comment, so that it goes
/// on doing so.
pub(crate) fn template() -> String {
    let mut text = String::from(
        "# The configuration of an Edgemere node and of the commands that talk to it.\n\
         # A flag overrides an environment variable, which overrides this file.\n\
         # Name it to use all of its keys: edgemere node --config ./edgemere.toml. Without --config, the\n\
         # file in the current folder cannot set tools, addresses, data folders, keys or access.\n\
         # \"edgemere config show\" prints every key, its value and its source.\n",
    );
    for entry in Config::of(&[]).entries() {
        let key = entry.key;
        text.push_str(&format!("\n# {}.\n", key.help));
        text.push_str(&format!("# Flag {}, variable {}.\n", key.flag(), key.variable));
        text.push_str(&default_line(entry));
    }
    text
}

fn default_line(entry: &Entry) -> String {
    let Key { name, value_name, form, default, .. } = entry.key;
    let value = form.write_toml(entry.text.as_deref().unwrap_or(value_name));
    match default {
        Default::Fixed(_) => format!("{name} = {value}\n"),
        Default::Computed { words, .. } | Default::Unset(words) => {
            format!("# Default: {words}.\n# {name} = {value}\n")
        }
    }
}
