//! Cleans terminal output for a model: no colours, no control characters, only the last state of an
//! overwritten line, always UTF-8.

use anstream::adapter::strip_str;

/// The cleaned text.
pub(super) fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains(is_control) {
        return text.into_owned();
    }
    let plain = strip_str(&text).to_string();
    let mut cleaned = String::with_capacity(plain.len());
    for line in plain.split_inclusive('\n') {
        cleaned.extend(last_state(line).chars().filter(|c| !is_control(*c)));
        if line.ends_with('\n') {
            cleaned.push('\n');
        }
    }
    cleaned
}

/// The last state of an overwritten line: of a progress bar only its end.
fn last_state(line: &str) -> &str {
    let line = line.trim_end_matches(['\n', '\r']);
    line.rsplit('\r').next().unwrap_or(line)
}

/// Control characters other than line breaks and tabs.
fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// The first bytes of a text, cut between characters.
pub(super) fn cut(text: &str, bytes_max: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes_max)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(bytes: impl AsRef<[u8]>) -> String {
        text(bytes.as_ref())
    }

    #[test]
    fn what_is_for_terminals_is_removed() {
        assert_eq!(cleaned("\x1b[1;31mred\x1b[0m \x1b[38;5;200mpink\x1b[m\n"), "red pink\n");
        assert_eq!(cleaned("\x1b]8;;https://e.org\x1b\\link\x1b]8;;\x1b\\\n"), "link\n");
        assert_eq!(cleaned("\x1b]0;title\x07text"), "text");
        assert_eq!(cleaned("a\x07b\x08c\x00d\x7fe\x0cf\u{9b}g"), "abcdefg");
        assert_eq!(cleaned("cut in the middle\x1b[3"), "cut in the middle");
        assert_eq!(cleaned("a\tb\n\nc"), "a\tb\n\nc");
    }

    #[test]
    fn what_was_written_over_is_only_its_last_state() {
        assert_eq!(cleaned("10%\r50%\r100%\ndone\n"), "100%\ndone\n");
        assert_eq!(cleaned("10%\r\x1b[K50%\r"), "50%");
        assert_eq!(cleaned("dos\r\nlines\r\n\r\n"), "dos\nlines\n\n");
        assert_eq!(cleaned("\r\r\n"), "\n");
    }

    #[test]
    fn what_is_not_utf_8_is_replaced() {
        assert_eq!(cleaned(b"caf\xe9 \xf0\x9f\n"), "caf\u{fffd} \u{fffd}\n");
        assert_eq!(cleaned("grüße 日本 🦀"), "grüße 日本 🦀");
        assert_eq!(cleaned("\x1b[1m日本\x1b[0m🦀é"), "日本🦀é");
    }

    #[test]
    fn a_cut_is_never_inside_of_a_character() {
        assert_eq!(cut("日本", 5), "日");
        assert_eq!(cut("日本", 6), "日本");
        assert_eq!(cut("ab", 0), "");
        assert_eq!(cut("ab", 9), "ab");
    }
}
