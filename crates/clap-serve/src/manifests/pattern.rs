//! Patterns of file names: `*` and `?`, as in a shell.

use super::ManifestError;
use crate::glob;

/// A pattern of file names.
#[derive(Clone, Debug)]
pub(super) struct Pattern(String);

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, ManifestError> {
        let is_name = !matches!(text, "" | "." | "..") && !text.contains(['/', '\\', '\0']);
        match is_name {
            true => Ok(Self(text.to_owned())),
            false => Err(ManifestError::Pattern(text.to_owned())),
        }
    }

    /// Whether a name matches. A leading dot hides a file: it must be matched by a dot.
    pub(super) fn fits(&self, name: &str) -> bool {
        let is_hidden = name.starts_with('.');
        (!is_hidden || self.0.starts_with('.')) && glob::fits(&self.0, name)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fit(pattern: &str, name: &str) -> bool {
        Pattern::new(pattern).unwrap().fits(name)
    }

    #[test]
    fn names_fit_as_in_a_shell() {
        for (pattern, name) in [
            ("golem.yaml", "golem.yaml"),
            ("golem-*.yaml", "golem-a.yaml"),
            ("golem-*.yaml", "golem-.yaml"),
            ("*.al", "é b.al"),
            ("*", "anything"),
            ("?.al", "é.al"),
            ("a*b*c", "a-b-b-c-c"),
            ("**a**", "bab"),
            (".golem*", ".golem.yaml"),
        ] {
            assert!(fit(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("golem.yaml", "Golem.yaml"),
            ("golem.yaml", "golem.yaml.bak"),
            ("golem.yaml", "my-golem.yaml"),
            ("golem-*.yaml", "golem.yaml"),
            ("*.al", ".al"),
            ("*", ".env"),
            ("?env", ".env"),
            ("?.al", ".al"),
            ("a*b*c", "a-b-b"),
            ("[ab].al", "a.al"),
        ] {
            assert!(!fit(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_pattern_is_one_name() {
        for bad in ["", ".", "..", "a/b", "/a", "../a.yaml", "a\\b", "a\0"] {
            assert!(Pattern::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_bad_pattern_takes_no_time() {
        assert!(!fit(&"*a".repeat(100), &"a".repeat(99)));
        assert!(!fit(&format!("{}b", "*a".repeat(100)), &"a".repeat(250)));
    }

    /// The meaning of a pattern, as a simple and slow reference.
    fn means(pattern: &[char], name: &[char]) -> bool {
        match (pattern, name) {
            ([], name) => name.is_empty(),
            (['*', rest @ ..], name) => (0..=name.len()).any(|taken| means(rest, &name[taken..])),
            ([_, ..], []) => false,
            ([one, rest @ ..], [next, left @ ..]) => {
                (*one == '?' || one == next) && means(rest, left)
            }
        }
    }

    proptest! {
        #[test]
        fn it_fits_what_it_means(pattern in "[ab*?]{1,8}", name in "[ab]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<_>>();
            prop_assert_eq!(fit(&pattern, &name), means(&chars(&pattern), &chars(&name)));
        }
    }
}
