//! Captured port numbers to the ones that are bound in this run.
//!
//! Requests, seeds and expected replies are rewritten alike, so that no port needs a mask.

use std::collections::BTreeMap;

/// From a captured port to the one in its place.
#[derive(Debug, Default)]
pub(crate) struct Ports(BTreeMap<u16, u16>);

impl Ports {
    pub(crate) fn set(&mut self, captured: u16, bound: u16) {
        self.0.insert(captured, bound);
    }

    /// The text with every captured port replaced, in one pass, so that a port that is bound and
    /// was also captured is never replaced twice.
    pub(crate) fn rewrite(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_word) {
            let (before, from) = rest.split_at(start);
            let end = from.find(|c| !is_word(c)).unwrap_or(from.len());
            let (word, after) = from.split_at(end);
            out.push_str(before);
            self.push(word, &mut out);
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn push(&self, word: &str, out: &mut String) {
        match word.parse::<u16>().ok().and_then(|port| self.0.get(&port)) {
            Some(bound) => out.push_str(&bound.to_string()),
            None => out.push_str(word),
        }
    }
}

/// Digits within a longer word, such as an id, are no port.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports() -> Ports {
        let mut ports = Ports::default();
        ports.set(33148, 40001);
        ports.set(33158, 33148);
        ports
    }

    #[test]
    fn a_port_is_replaced_wherever_it_stands_alone() {
        let text = r#"{"ip": "127.0.0.1:33148", "port": 33148}"#;
        assert_eq!(ports().rewrite(text), r#"{"ip": "127.0.0.1:40001", "port": 40001}"#);
    }

    #[test]
    fn a_bound_port_that_was_captured_is_replaced_once() {
        assert_eq!(ports().rewrite("33148,33158"), "40001,33148");
    }

    #[test]
    fn digits_of_an_id_or_of_a_longer_number_stay() {
        let text = "a33148b 133148 33148x 19:46:07.331480";
        assert_eq!(ports().rewrite(text), text);
    }
}
