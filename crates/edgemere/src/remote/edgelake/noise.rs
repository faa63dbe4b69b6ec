//! EdgeLake's replies are what its command line would print: JSON may stand between prompts and messages.

use serde_json::Value;

/// Which JSON is the reply when there are several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefer {
    /// The longest list, or the longest of all when there is no list: policies come as lists.
    Lists,
    /// The longest.
    Longest,
}

/// At how many places of a text JSON is looked for. Messages may have brackets of their own.
const PLACES_MAX: usize = 1000;

/// The JSON in a text; none when there is none.
pub(super) fn picked(text: &str, prefer: Prefer) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Some(value);
    }
    let text = without_prompts(text);
    let found = candidates(&text);
    let longest = |only_lists: bool| {
        let wanted = found.iter().filter(|(value, _)| !only_lists || value.is_array());
        wanted.max_by_key(|(_, length)| *length).map(|(value, _)| value.clone())
    };
    match prefer {
        Prefer::Lists => longest(true).or_else(|| longest(false)),
        Prefer::Longest => longest(false),
    }
}

/// The lists and objects in a text that are inside of no other, with their lengths.
fn candidates(text: &str) -> Vec<(Value, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for _ in 0..PLACES_MAX {
        let rest = text.get(at..).unwrap_or_default();
        let Some(start) = rest.find(['[', '{']) else { break };
        let rest = rest.get(start..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                let length = values.byte_offset();
                found.push((value, length));
                at += start + length;
            }
            _ => at += start + 1,
        }
    }
    found
}

/// A text without the prompts of EdgeLake's command line, such as `EL query +>`, and without colours.
pub(super) fn without_prompts(text: &str) -> String {
    let text = without_colours(text);
    let lines = text.split('\n').map(|line| {
        let mut line = line;
        while let Some(rest) = after_prompt(line.trim_start()) {
            line = rest;
        }
        line
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What follows the prompt that a line begins with: `EL NAME +>`, `AL >`.
fn after_prompt(line: &str) -> Option<&str> {
    const PROMPT_CHARS_MAX: usize = 80;
    let rest = line.strip_prefix("EL").or_else(|| line.strip_prefix("AL"))?;
    let end = rest.find('>')?;
    let (name, after) = rest.split_at_checked(end)?;
    let is_name = |c: char| c.is_alphanumeric() || " _-.+@:".contains(c);
    let is_prompt = name.starts_with(' ') && name.len() <= PROMPT_CHARS_MAX;
    (is_prompt && name.chars().all(is_name)).then(|| after.get(1..)).flatten()
}

/// A text without the sequences that colour a terminal.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = sequence.find(|c: char| c.is_ascii_alphabetic()).map_or(0, |end| end + 1);
        rest = sequence.get(end..).unwrap_or_default();
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_between_prompts_and_messages() {
        let text = "\r\nEL query +> blockchain get table\r\n[From Node 127.0.0.1:33148] ok\r\n\
                    [{\"table\": {\"name\": \"a > b\"}}]\r\nEL query +> ";
        assert_eq!(picked(text, Prefer::Lists), Some(json!([{"table": {"name": "a > b"}}])));
    }

    #[test]
    fn lists_come_before_objects_where_policies_are_expected() {
        let text = "{\"Result.set\": \"a longer message than the reply itself\"}\n[{\"a\": {}}]";
        assert_eq!(picked(text, Prefer::Lists), Some(json!([{"a": {}}])));
        let message = json!({"Result.set": "a longer message than the reply itself"});
        assert_eq!(picked(text, Prefer::Longest), Some(message.clone()));
        assert_eq!(picked(&message.to_string(), Prefer::Lists), Some(message));
    }

    #[test]
    fn a_text_without_json_has_none_and_ends_soon() {
        assert_eq!(picked("Query@127.0.0.1:33348 running", Prefer::Longest), None);
        assert_eq!(picked("{\"max(value)\":not a number.0}", Prefer::Longest), None);
        assert_eq!(picked(&"[{".repeat(100_000), Prefer::Longest), None);
    }

    #[test]
    fn prompts_and_colours_are_no_part_of_a_text() {
        let text = "\u{1b}[92mEL edge-query +> \u{1b}[0mAL anylog-node > running\nELSE > 5";
        assert_eq!(without_prompts(text), " running\nELSE > 5");
    }
}
