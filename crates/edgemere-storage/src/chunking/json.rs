//! Where a value of a JSON text ends. Only brackets and quotes are looked at: whether it is JSON is
//! for the scanner of `ingest` to say, once the value is whole.

/// A value that is being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scan {
    depth: usize,
    in_text: bool,
    after_backslash: bool,
    begun: bool,
}

impl Scan {
    /// The length of an item of a list, if the comma or the bracket behind it is in these bytes.
    pub(super) fn item_end(&mut self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().position(|byte| {
            let is_end = !self.in_text && self.depth == 0 && matches!(byte, b',' | b']');
            if !is_end {
                self.step(*byte);
            }
            is_end
        })
    }

    /// The length of a value that others follow, if its end is in these bytes.
    pub(super) fn value_end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            let was_open = self.in_text || self.depth > 0;
            let is_next = matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b'{' | b'[' | b'"');
            if !was_open && self.begun && is_next {
                return Some(at);
            }
            self.step(*byte);
            if was_open && !self.in_text && self.depth == 0 {
                return Some(at + 1);
            }
        }
        None
    }

    fn step(&mut self, byte: u8) {
        self.begun = true;
        if self.in_text {
            let is_escaped = std::mem::take(&mut self.after_backslash);
            self.after_backslash = byte == b'\\' && !is_escaped;
            self.in_text = byte != b'"' || is_escaped;
            return;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// Looks for the end of the next item of a list, without stepping over anything.
#[derive(Debug, Default)]
pub(super) struct NextItem {
    scan: Scan,
    /// Whether the comma in front of it has been seen, or there is none.
    after_comma: bool,
    begun: bool,
    /// Whether the list ended instead. Then the end of the text is what comes next.
    ended: bool,
}

impl NextItem {
    pub(super) fn new(is_first: bool) -> Self {
        Self { after_comma: is_first, ..Self::default() }
    }

    /// Where the comma or the bracket behind the item is, if it is in these bytes.
    pub(super) fn end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.ended {
                return None;
            }
            let is_outside = !self.scan.in_text && self.scan.depth == 0;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' if !self.begun => {}
                b',' if is_outside && !self.after_comma => self.after_comma = true,
                b']' if is_outside && !self.begun => self.ended = true,
                b',' | b']' if is_outside => return Some(at),
                _ => {
                    self.begun = true;
                    self.scan.step(*byte);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_end_at_their_comma_or_bracket() {
        for (text, length) in [
            ("1, 2]", Some(1)),
            ("{\"a\": [1, 2]}]", Some(13)),
            ("\"a,]\\\",\" ,", Some(9)),
            ("\"\\\\\",", Some(4)),
            ("]", Some(0)),
            ("{\"a\": 1, ", None),
        ] {
            let mut whole = Scan::default();
            assert_eq!(whole.item_end(text.as_bytes()), length, "{text}");
            // Byte by byte it is the same.
            let mut scan = Scan::default();
            let bit = |(at, bit): (usize, &[u8])| scan.item_end(bit).map(|length| at + length);
            assert_eq!(text.as_bytes().chunks(1).enumerate().find_map(bit), length, "{text}");
        }
    }

    #[test]
    fn values_end_with_their_bracket_quote_or_where_the_next_begins() {
        for (text, length) in [
            ("{\"a\": {\"b\": 1}}{", Some(15)),
            ("{\"}\": 1}\n", Some(8)),
            ("\"a b\"1", Some(5)),
            ("12 3", Some(2)),
            ("12{", Some(2)),
            ("12", None),
            ("{\"a\"", None),
        ] {
            assert_eq!(Scan::default().value_end(text.as_bytes()), length, "{text}");
        }
    }
}
