//! What is not as in EdgeLake, as a page for its users: of `differences.toml`, which the replay holds true,
//! and of `commands.toml`, the commands that do not exist here.

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::replay::differences::{Differences, SOURCE};

const COMMANDS: &str = include_str!("../../replay/commands.toml");

/// What no exchange shows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Commands {
    absent: Vec<Absent>,
    differs: Vec<Differs>,
}

/// Commands that do not exist, and what to do instead.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Absent {
    title: String,
    commands: Vec<String>,
    instead: String,
}

/// A difference in a sentence.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Differs {
    text: String,
}

const HEAD: &str = "\
<!-- Written by `cargo xtask docs` from xtask/replay/commands.toml and differences.toml. -->
# Differences from EdgeLake

Edgemere understands EdgeLake's commands, REST forms and SQL, and replies in its formats. `cargo xtask replay` sends
requests that were captured from a real EdgeLake network to Edgemere and compares every reply. This page lists the
differences: the commands that do not exist, and the replies that differ on purpose. [Coming from
EdgeLake](../guides/from-edgelake.md) describes how to move.
";

/// The page.
pub(crate) fn page() -> Result<String> {
    let commands: Commands = toml::from_str(COMMANDS).context("commands.toml")?;
    let differences = Differences::load()?;
    let mut page = HEAD.to_owned();
    page.push_str("\n## Commands that do not exist\n");
    for Absent { title, commands, instead } in &commands.absent {
        let names: Vec<_> = commands.iter().map(|command| format!("`{command}`")).collect();
        page.push_str(&format!("\n### {title}\n\n{}\n\n{instead}\n", names.join(", ")));
    }
    page.push_str("\n## Replies that differ\n\n");
    for text in differences.general.iter().chain(commands.differs.iter().map(|one| &one.text)) {
        page.push_str(&format!("- {text}\n"));
    }
    for (title, entries) in sections(&differences)? {
        page.push_str(&format!("\n### {title}\n\n"));
        for reason in entries {
            page.push_str(&format!("- {reason}\n"));
        }
    }
    Ok(page)
}

/// The reasons under the headings that stand in the file as comments. Those that only point to another
/// exchange say nothing to a reader.
fn sections(differences: &Differences) -> Result<Vec<(String, Vec<&str>)>> {
    let (_, body) = SOURCE.split_once("\n]\n").context("differences.toml has no list in front")?;
    let mut sections: Vec<(String, Vec<&str>)> = Vec::new();
    let mut entries = differences.entries.iter();
    for line in body.lines() {
        if let Some(title) = line.strip_prefix("# ") {
            sections.push((title.trim_end_matches('.').to_owned(), Vec::new()));
        } else if line == "[[difference]]"
            && let (Some(entry), Some((_, reasons))) = (entries.next(), sections.last_mut())
            && !names_exchange(&entry.reason)
            && !reasons.contains(&entry.reason.as_str())
        {
            reasons.push(&entry.reason);
        }
    }
    sections.retain(|(_, reasons)| !reasons.is_empty());
    Ok(sections)
}

/// Whether a reason speaks of an exchange by its number.
fn names_exchange(reason: &str) -> bool {
    let is_number = |word: &str| word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    reason.split(|c: char| !c.is_ascii_alphanumeric()).any(is_number)
}
