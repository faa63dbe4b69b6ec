//! What people see: replies on stdout, talk on stderr, colour only where it is wanted. In a pipe a
//! reply is the bytes that came.

mod excerpt;
mod pager;
mod problem;
mod reply;
mod table;

use std::io::{self, ErrorKind, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use edgemere_command::Media;
use edgemere_tools::Problem;

use crate::client::Answer;
use crate::failure::Failure;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();

/// Decides for the whole process when there is colour. Without a choice it is on terminals, unless
/// the environment says otherwise (`NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE`).
pub(crate) fn choose_colour(choice: clap::ColorChoice) {
    let choice = match choice {
        clap::ColorChoice::Auto => ColorChoice::Auto,
        clap::ColorChoice::Always => ColorChoice::Always,
        clap::ColorChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

/// Whether talk has colour.
pub(crate) fn stderr_has_colour() -> bool {
    AutoStream::choice(&io::stderr()) != ColorChoice::Never
}

/// Prints a reply: painted for people, or as it came for programs.
pub(crate) fn print_reply(reply: &Answer) -> io::Result<()> {
    let body = reply.body.trim_matches('\n');
    match (reply.media, is_for_people()) {
        _ if body.is_empty() => Ok(()),
        (Media::Json, true) => print_painted(&reply::paint_json(body)),
        (Media::Text, true) => print_painted(&reply::paint_text(body)),
        _ => print(body),
    }
}

/// Prints JSON: painted for people, or as it is for programs.
pub(crate) fn print_json(json: &str) -> io::Result<()> {
    match is_for_people() {
        true => print_painted(&reply::paint_json(json)),
        false => print(json),
    }
}

/// Prints a text for people.
pub(crate) fn print_text(text: &str) -> io::Result<()> {
    print_painted(&reply::paint_text(text.trim_matches('\n')))
}

/// Prints a table for people.
pub(crate) fn print_table(columns: &[String], rows: &[Vec<String>]) -> io::Result<()> {
    print_painted(&reply::paint_text(&table::table(columns, rows)))
}

/// Shows a table for people, page by page when it is long, and what is said under it.
pub(crate) fn show_table(
    columns: &[String],
    rows: Vec<Vec<String>>,
    under: &str,
) -> io::Result<()> {
    show_text(&table::table(columns, &rows), under)
}

/// Shows a text for people, page by page when it is long, and what is said under it.
pub(crate) fn show_text(text: &str, under: &str) -> io::Result<()> {
    let mut painted = reply::paint_text(text.trim_matches('\n'));
    if !under.is_empty() {
        painted.push_str(&format!("\n{}", paint(DIM, &reply::printable(under))));
    }
    pager::show(&painted, print_painted)
}

/// Prints texts under titles, for people.
pub(crate) fn print_sections(sections: &[(String, String)]) -> io::Result<()> {
    let section = |(title, text): &(String, String)| {
        let text = reply::printable(text).replace('\n', "\n  ");
        format!("{}\n  {text}", paint(BOLD, &reply::printable(title)))
    };
    print_painted(&sections.iter().map(section).collect::<Vec<_>>().join("\n\n"))
}

/// Prints a piece of a longer text on stdout as it is; whether there is still somebody who reads.
pub(crate) fn print_piece(piece: &[u8]) -> io::Result<()> {
    io::stdout().lock().write_all(piece)
}

/// Prints TOML, with its comments dim for people.
pub(crate) fn print_toml(toml: &str) -> io::Result<()> {
    match is_for_people() {
        true => print_painted(&reply::paint_comments(toml.trim_end())),
        false => print(toml.trim_end()),
    }
}

/// Prints a text on stdout as it is.
pub(crate) fn print(text: &str) -> io::Result<()> {
    write_line(io::stdout().lock(), text)
}

/// Prints a text on stdout, with its colours where they are wanted.
fn print_painted(text: &str) -> io::Result<()> {
    write_line(anstream::stdout().lock(), text)
}

fn write_line(mut to: impl Write, text: &str) -> io::Result<()> {
    match writeln!(to, "{text}").and_then(|()| to.flush()) {
        // The reader has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Says a line on stderr.
pub(crate) fn say(text: &str) {
    // When nobody hears it there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// Tells why something failed, on stderr.
pub(crate) fn report(failure: &Failure) {
    say(&paint_failure(failure));
}

/// Tells what is wrong with a file of tools, on stderr.
pub(crate) fn report_problem(problem: &Problem) {
    say(&problem::paint_problem(problem));
}

/// Whether what is printed is for people, and not for programs.
pub(crate) fn is_for_people() -> bool {
    io::stdout().is_terminal() || AutoStream::choice(&io::stdout()) != ColorChoice::Never
}

/// A number as people read it.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn paint_failure(failure: &Failure) -> String {
    let mut text = format!("{} {}", paint(RED, "error:"), reply::printable(&failure.message));
    if let Some((source, at)) = &failure.place {
        for line in excerpt::excerpt(source, at) {
            text.push_str(&format!("\n  {}", reply::printable(&line)));
        }
    }
    if let Some(hint) = &failure.hint {
        let hint = format!("hint: {}", reply::printable(hint));
        text.push_str(&format!("\n{}", paint(DIM, &hint)));
    }
    text
}

fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_is_shown_with_the_place_and_the_next_step() {
        let error = edgemere_command::parse("get statu").unwrap_err();
        let shown = paint_failure(&Failure::of_command(error, "get statu"));
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(
            plain,
            "error: unknown command \"get statu\"\n  get statu\n      ^^^^^\n\
             hint: did you mean \"get status\"?"
        );
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }
}
