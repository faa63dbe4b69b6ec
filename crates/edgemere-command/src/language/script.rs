//! Scripts: a text of many commands, one a line; `< … >` makes several lines one command.

/// A command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line of the script where it begins, from 1.
    pub number: usize,
    /// The command's text.
    pub text: String,
}

/// The commands of a script, without empty lines and comments.
pub fn lines(script: &str) -> Vec<Line> {
    let mut commands = Vec::new();
    let mut open: Option<Line> = None;
    for (index, line) in script.lines().enumerate() {
        let line = line.trim();
        let mut command = match open.take() {
            Some(mut command) => {
                command.text.push('\n');
                command.text.push_str(line);
                command
            }
            None if line.is_empty() || line.starts_with('#') => continue,
            None => Line { number: index + 1, text: line.to_owned() },
        };
        if is_complete(&command.text) {
            command.text = unwrap_block(&command.text).to_owned();
            commands.push(command);
        } else {
            open = Some(command);
        }
    }
    commands.extend(open);
    commands
}

/// Whether a text is a whole command: not one that began with `<` and is still without its `>`.
pub fn is_complete(text: &str) -> bool {
    let text = text.trim();
    !text.starts_with('<') || text.ends_with('>')
}

/// The command inside `< … >`, or the text itself.
pub(crate) fn unwrap_block(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_one_command_and_keeps_its_first_line_number() {
        let script = "# setup\n\nx = 1\n<policy = {\n  \"device\": {}\n}>\nget status\n";
        let commands: Vec<_> = lines(script).into_iter().map(|l| (l.number, l.text)).collect();
        assert_eq!(
            commands,
            [
                (3, "x = 1".to_string()),
                (4, "policy = {\n\"device\": {}\n}".to_string()),
                (7, "get status".to_string()),
            ]
        );
    }

    #[test]
    fn a_block_that_does_not_end_is_still_a_command_and_will_be_told_as_wrong() {
        assert_eq!(lines("<x = {\n1").len(), 1);
        assert!(!is_complete("<x = {"));
    }
}
