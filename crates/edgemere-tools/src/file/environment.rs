//! Values of the environment in the texts of a file: `${NAME}` and `${NAME:-default}`; `$${NAME}` is
//! only a text. Templates take them by themselves, as values (`template/scan.rs`): here they would
//! become a part of the command.

use super::node::{Content, Node};
use super::source::Source;
use super::surroundings::Surroundings;
use crate::problem::Problem;

/// Puts the values in, everywhere but in templates.
pub(super) fn fill(
    node: &mut Node,
    source: &Source,
    surroundings: &Surroundings,
    problems: &mut Vec<Problem>,
) {
    Filler { source, surroundings, problems, path: Vec::new() }.fill(node);
}

struct Filler<'a> {
    source: &'a Source,
    surroundings: &'a Surroundings,
    problems: &'a mut Vec<Problem>,
    path: Vec<String>,
}

impl Filler<'_> {
    fn fill(&mut self, node: &mut Node) {
        match &mut node.content {
            Content::List(nodes) => nodes.iter_mut().for_each(|node| self.inside("*", node)),
            Content::Map(entries) => {
                entries.iter_mut().for_each(|(key, node)| self.inside(&key.name, node));
            }
            Content::Scalar(value) if !is_template(&self.path) => {
                let Some(text) = value.as_str().filter(|text| text.contains("${")) else { return };
                match filled(text, self.surroundings) {
                    Ok(text) => {
                        *value = text.into();
                        node.is_veiled = true;
                    }
                    Err(message) => self.problems.push(
                        self.source.problem(&node.range, message).with_hint(Some(HINT.into())),
                    ),
                }
            }
            Content::Scalar(_) => {}
        }
    }

    fn inside(&mut self, key: &str, node: &mut Node) {
        self.path.push(key.to_owned());
        self.fill(node);
        self.path.pop();
    }
}

pub(crate) const HINT: &str = "set it, or give a default: \"${NAME:-default}\"";

/// Whether the text there is a template.
fn is_template(path: &[String]) -> bool {
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["prompts", "*", "text"] => true,
        ["tools" | "resources", "*", "command" | "edgelake_command", inside @ ..] => matches!(
            inside,
            [] | ["template" | "sql" | "database"]
                | ["cases", "when", _]
                | ["headers", "destination"]
                | ["args", "*"]
        ),
        _ => false,
    }
}

fn filled(text: &str, surroundings: &Surroundings) -> Result<String, String> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        if let Some(stem) = before.strip_suffix('$') {
            filled.truncate(filled.len() - (before.len() - stem.len()));
            filled.push_str("${");
            rest = after;
            continue;
        }
        let (inside, after) =
            after.split_once('}').ok_or_else(|| "\"${\" has no \"}\" after it".to_owned())?;
        filled.push_str(&variable(inside, surroundings)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The value of `NAME` or `NAME:-default`.
pub(crate) fn variable(inside: &str, surroundings: &Surroundings) -> Result<String, String> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let is_name = !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if !is_name {
        return Err(format!("\"{name}\" cannot be the name of an environment variable"));
    }
    let value = surroundings.value(name).filter(|value| !value.is_empty());
    value
        .or_else(|| default.map(str::to_owned))
        .ok_or_else(|| format!("the environment variable \"{name}\" has no value"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_defaults_are_put_in() {
        let around = Surroundings::of([("SITE", "plant 1"), ("EMPTY", "")]);
        let fill = |text| filled(text, &around);
        assert_eq!(fill("at ${SITE}!").unwrap(), "at plant 1!");
        assert_eq!(fill("${NONE:-a}${EMPTY:-b}${SITE}").unwrap(), "abplant 1");
        assert_eq!(fill("a $${SITE} stays, $ too").unwrap(), "a ${SITE} stays, $ too");
        assert!(fill("${NONE}").unwrap_err().contains("\"NONE\" has no value"));
        assert!(fill("${a b}").is_err());
        assert!(fill("${SITE").is_err());
    }
}
