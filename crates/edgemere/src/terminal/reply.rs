//! Replies painted for people: tables with a bold header and a dim rule, JSON with indentation and
//! a little colour. Nothing that a reply contains speaks to the terminal itself.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter, Serializer};

use super::{BOLD, CYAN, DIM, YELLOW, paint};

/// A text, with the tables in it painted.
pub(super) fn paint_text(text: &str) -> String {
    let text = printable(text);
    let lines: Vec<&str> = text.lines().collect();
    let paint_line = |(index, line): (usize, &&str)| {
        let is_header = lines.get(index + 1).is_some_and(|below| is_rule(below));
        match (is_rule(line), is_header) {
            (true, _) => paint(DIM, line),
            (false, true) => paint(BOLD, line),
            (false, false) => (*line).to_owned(),
        }
    };
    lines.iter().enumerate().map(paint_line).collect::<Vec<_>>().join("\n")
}

/// Whether a line is the rule under a table's header: dashes, with a bar after each column.
fn is_rule(line: &str) -> bool {
    let line = line.trim_end();
    line.starts_with('-') && line.ends_with('|') && line.chars().all(|c| matches!(c, '-' | '|'))
}

/// A JSON text with indentation and colour, or the text itself when it is not JSON.
pub(super) fn paint_json(text: &str) -> String {
    let painted = serde_json::from_str::<Value>(text).ok().and_then(|value| {
        let mut painted = Vec::new();
        let painter = Painter { layout: PrettyFormatter::new(), in_key: false };
        value.serialize(&mut Serializer::with_formatter(&mut painted, painter)).ok()?;
        String::from_utf8(painted).ok()
    });
    painted.unwrap_or_else(|| printable(text))
}

/// TOML, with its comments dim.
pub(super) fn paint_comments(text: &str) -> String {
    let paint_line = |line: &str| match line.rfind("  # ") {
        _ if line.starts_with('#') => paint(DIM, line),
        Some(at) => {
            let (value, comment) = line.split_at(at);
            format!("{value}{}", paint(DIM, comment))
        }
        None => line.to_owned(),
    };
    text.lines().map(paint_line).collect::<Vec<_>>().join("\n")
}

/// A text whose control characters are written out, except for new lines and tabs.
pub(super) fn printable(text: &str) -> String {
    let write_out = |c: char| match c.is_control() && !matches!(c, '\n' | '\t') {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    text.chars().map(write_out).collect()
}

/// Writes JSON with indentation; keys, numbers and the other bare words are coloured.
struct Painter {
    layout: PrettyFormatter<'static>,
    in_key: bool,
}

impl Painter {
    fn bare(&self, to: &mut (impl Write + ?Sized), word: impl std::fmt::Display) -> io::Result<()> {
        write!(to, "{YELLOW}{word}{YELLOW:#}")
    }
}

impl Formatter for Painter {
    fn write_null<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        write!(to, "{DIM}null{DIM:#}")
    }

    fn write_bool<W: ?Sized + Write>(&mut self, to: &mut W, value: bool) -> io::Result<()> {
        self.bare(to, value)
    }

    fn write_i64<W: ?Sized + Write>(&mut self, to: &mut W, value: i64) -> io::Result<()> {
        self.bare(to, value)
    }

    fn write_u64<W: ?Sized + Write>(&mut self, to: &mut W, value: u64) -> io::Result<()> {
        self.bare(to, value)
    }

    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        self.bare(to, Value::from(value))
    }

    fn begin_string<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        match self.in_key {
            true => write!(to, "{CYAN}\""),
            false => to.write_all(b"\""),
        }
    }

    fn end_string<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        match self.in_key {
            true => write!(to, "\"{CYAN:#}"),
            false => to.write_all(b"\""),
        }
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        to.write_all(printable(fragment).as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        self.layout.write_char_escape(to, escape)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.layout.begin_array(to)
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.layout.end_array(to)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.layout.begin_array_value(to, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.layout.end_array_value(to)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.layout.begin_object(to)
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.layout.end_object(to)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.in_key = true;
        self.layout.begin_object_key(to, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.in_key = false;
        self.layout.end_object_key(to)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.layout.begin_object_value(to)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.layout.end_object_value(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(painted: &str) -> String {
        anstream::adapter::strip_str(painted).to_string()
    }

    #[test]
    fn a_table_is_known_by_its_rule() {
        for rule in ["----|", "-----------|----------|------|", "-|-|  "] {
            assert!(is_rule(rule), "{rule}");
        }
        for other in ["", "---", "|", "a|b|", "- - |", "--|--", "| --- |", "-1|"] {
            assert!(!is_rule(other), "{other}");
        }
    }

    #[test]
    fn the_header_is_bold_the_rule_dim_and_the_rest_as_it_is() {
        let table = "Tables\nName Rows \n----|----|\na   |   1|";
        let painted = paint_text(table);
        assert_eq!(plain(&painted), table);
        let bold = paint(BOLD, "Name Rows ");
        let dim = paint(DIM, "----|----|");
        assert_eq!(painted, format!("Tables\n{bold}\n{dim}\na   |   1|"));
    }

    #[test]
    fn json_is_indented_and_stays_the_same_json() {
        let text = r#"{"a":{"b":[1,-2,0.5,true,null,"x\ny\"é"]},"c":{},"d":[]}"#;
        let painted = paint_json(text);
        assert!(painted.contains(&format!("\n  {}: {{", paint(CYAN, "\"a\""))), "{painted}");
        let before: Value = serde_json::from_str(text).unwrap();
        let after: Value = serde_json::from_str(&plain(&painted)).unwrap();
        assert_eq!(before, after);
        assert_eq!(paint_json("not json"), "not json");
    }

    #[test]
    fn nothing_in_a_reply_speaks_to_the_terminal() {
        assert_eq!(paint_text("a\u{1b}[31mb\u{7}"), "a\\u{1b}[31mb\\u{7}");
        assert!(!paint_json("\"\u{9b}31m\"").contains('\u{9b}'));
    }
}
