//! The place in a text that is wrong: its line, and a line of carets under the place.

use edgemere_command::Span;

/// How much of a line is shown.
const WIDTH_MAX: usize = 76;

/// How much of a cropped line is shown before the place.
const WIDTH_BEFORE: usize = 40;

/// The line that the place is in, and the carets.
pub(crate) fn excerpt(text: &str, at: &Span) -> [String; 2] {
    let before = text.get(..at.start.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = text.get(line_start..).unwrap_or_default().lines().next().unwrap_or_default();
    let column = before.get(line_start..).unwrap_or_default().chars().count();
    let wrong = text.get(at.clone()).unwrap_or_default().lines().next().unwrap_or_default();
    let cropped = Cropped::new(line, column);
    let room = (WIDTH_MAX + 1).saturating_sub(cropped.column).max(1);
    let carets = "^".repeat(wrong.chars().count().clamp(1, room));
    [cropped.line, format!("{}{carets}", " ".repeat(cropped.column))]
}

/// A line of which at most the part around a column is kept.
struct Cropped {
    line: String,
    column: usize,
}

impl Cropped {
    fn new(line: &str, column: usize) -> Self {
        // A tab is as wide as the terminal likes, which would move the carets.
        let characters: Vec<char> = line.replace('\t', " ").chars().collect();
        let skipped = match characters.len() > WIDTH_MAX {
            true => column.saturating_sub(WIDTH_BEFORE),
            false => 0,
        };
        let mut shown: String = characters.iter().skip(skipped).take(WIDTH_MAX).collect();
        let mut column = column - skipped;
        if skipped + WIDTH_MAX < characters.len() {
            shown.push('…');
        }
        if skipped > 0 {
            shown.insert(0, '…');
            column += 1;
        }
        Self { line: shown, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_under_the_place() {
        assert_eq!(excerpt("get statu", &(4..9)), ["get statu", "    ^^^^^"]);
        assert_eq!(excerpt("gét\tx", &(5..6)), ["gét x", "    ^"]);
    }

    #[test]
    fn the_end_of_a_text_can_be_pointed_at() {
        assert_eq!(excerpt("get", &(3..4)), ["get", "   ^"]);
        assert_eq!(excerpt("", &(0..1)), ["", "^"]);
        assert_eq!(excerpt("é", &(9..10)), ["é", " ^"]);
    }

    #[test]
    fn of_many_lines_only_the_one_with_the_place_is_shown() {
        assert_eq!(excerpt("<a\nbc de\nf>", &(6..8)), ["bc de", "   ^^"]);
    }

    #[test]
    fn a_long_line_is_cropped_around_the_place() {
        let text = format!("{}WRONG{}", "a".repeat(1000), "b".repeat(1000));
        let [line, carets] = excerpt(&text, &(1000..1005));
        assert_eq!(line.chars().count(), WIDTH_MAX + 2);
        let start = carets.find('^').unwrap();
        let pointed: String = line.chars().skip(start).take(5).collect();
        assert_eq!(pointed, "WRONG");
        assert_eq!(carets.len(), start + 5);
    }
}
