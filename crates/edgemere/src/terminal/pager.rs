//! Long texts for people, page by page: `$PAGER`, or `less`, which ends by itself when all of it fits. A text is
//! printed as it is where there is no pager, or no terminal.

use std::io::{self, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use anstream::{AutoStream, ColorChoice};

/// What is short enough to print, whatever the terminal is.
const LINES_MAX: usize = 22;
const WIDTH_MAX: usize = 80;

/// The pager when nobody chose one: long lines are cropped, colours shown, and what fits stays on the screen.
const USUAL: [&str; 2] = ["less", "-SFRX"];

/// Shows a text; `print` does it where there is nothing to page.
pub(super) fn show(painted: &str, print: impl FnOnce(&str) -> io::Result<()>) -> io::Result<()> {
    if !io::stdout().is_terminal() || !is_long(painted) {
        return print(painted);
    }
    let Some(mut child) = pager() else { return print(painted) };
    if let Some(mut input) = child.stdin.take() {
        let has_colour = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        // A reader that has enough leaves.
        let _ = match has_colour {
            true => writeln!(input, "{painted}"),
            false => writeln!(input, "{}", anstream::adapter::strip_str(painted)),
        };
    }
    child.wait().map(drop)
}

fn is_long(painted: &str) -> bool {
    let plain = anstream::adapter::strip_str(painted).to_string();
    plain.lines().count() > LINES_MAX || plain.lines().any(|line| line.chars().count() > WIDTH_MAX)
}

/// The pager of the user; none when they want none, or there is none.
fn pager() -> Option<Child> {
    let chosen = std::env::var("PAGER").ok();
    let mut words: Vec<&str> = match &chosen {
        Some(chosen) => chosen.split_whitespace().collect(),
        None => USUAL.to_vec(),
    };
    if words.as_slice() == ["less"] {
        words = USUAL.to_vec();
    }
    let (program, arguments) = words.split_first()?;
    if *program == "cat" {
        return None;
    }
    Command::new(program).args(arguments).stdin(Stdio::piped()).spawn().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_long_is_paged() {
        assert!(!is_long("a\nb"));
        assert!(is_long(&"a\n".repeat(LINES_MAX + 1)));
        assert!(is_long(&"a".repeat(WIDTH_MAX + 1)));
        // Colours have no width.
        assert!(!is_long(&"\u{1b}[1m\u{1b}[0m".repeat(WIDTH_MAX)));
    }
}
