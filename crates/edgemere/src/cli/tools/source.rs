//! A tool as it is written: its lines of the file.

use std::fs;

use edgemere_tools::{Tool, Toolbox};

/// The lines of a tool; none when its file cannot be read any more.
pub(super) fn of(tool: &Tool, toolbox: &Toolbox) -> String {
    // A tool of a file that is included has its lines there.
    let named = toolbox.text().lines().nth(tool.position.line.saturating_sub(1));
    let is_main = toolbox.files().is_empty() || named.is_some_and(|l| l.contains(&tool.name));
    let text = match is_main {
        true => toolbox.text().to_owned(),
        false => fs::read_to_string(&tool.position.file).unwrap_or_default(),
    };
    item(&text, tool.position.line)
}

/// The item of a list that has a line, without what it is indented by.
fn item(text: &str, line: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let named = line.saturating_sub(1);
    let indent = |line: &str| line.len() - line.trim_start().len();
    let begins = |at: &usize| lines.get(*at).is_some_and(|l| l.trim_start().starts_with("- "));
    let Some(start) = (0..=named).rev().find(begins) else { return String::new() };
    let margin = lines.get(start).map_or(0, |line| indent(line));
    let belongs = |line: &&&str| line.trim().is_empty() || indent(line) > margin;
    let after = lines.get(start + 1..).unwrap_or_default().iter().take_while(belongs);
    let own = lines.get(start).into_iter().chain(after);
    let own: Vec<_> = own.map(|line| line.get(margin..).unwrap_or_default()).collect();
    let is_empty = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let end = own.iter().rposition(|line| !is_empty(line)).map_or(0, |last| last + 1);
    own.get(..end).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
tools:
  - name: a
    command: get status

  - description: second
    name: b
    command:
      template: get version
      list:
        - x

  # The last
  - name: c
    command: help
";

    #[test]
    fn an_item_is_all_of_its_lines_and_none_of_others() {
        assert_eq!(item(FILE, 2), "- name: a\n  command: get status");
        let second = "- description: second\n  name: b\n  command:\n    template: get version\n    \
                      list:\n      - x";
        assert_eq!(item(FILE, 6), second);
        assert_eq!(item(FILE, 13), "- name: c\n  command: help");
        assert_eq!(item("", 1), "");
    }
}
