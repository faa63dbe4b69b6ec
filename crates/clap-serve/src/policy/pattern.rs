//! Patterns of commands, such as `cloud token *`, and of arguments, such as `deploy --force`.

use std::str::FromStr;

use serde::Deserialize;

use crate::{Error, glob};

/// A pattern of command paths, or of arguments.
///
/// Each word matches a word of a path. In a word `*` is any text and `?` one character; `*` alone matches one
/// word, and at the end any number of words. If the last word begins with `-` the pattern matches arguments,
/// not commands. Case is ignored, and `_` equals `-`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Pattern {
    path: Vec<String>,
    argument: Option<String>,
}

impl Pattern {
    /// Whether it matches arguments.
    pub(crate) fn is_of_arguments(&self) -> bool {
        self.argument.is_some()
    }

    /// Whether it matches this command.
    pub(crate) fn matches(&self, path: &[String]) -> bool {
        self.argument.is_none() && self.matches_path(path)
    }

    /// Whether it matches this command or one above it.
    pub(crate) fn covers(&self, path: &[String]) -> bool {
        (1..=path.len()).any(|length| self.matches(path.get(..length).unwrap_or_default()))
    }

    /// Whether it matches an argument of this command, by any of its names: `--force`, `-f`, `force`.
    pub(crate) fn matches_argument(&self, path: &[String], names: &[String]) -> bool {
        let Some(argument) = &self.argument else { return false };
        let is_named = names.iter().any(|name| glob::fits(argument, &plain(name)));
        is_named && (self.path.is_empty() || self.matches_path(path))
    }

    fn matches_path(&self, path: &[String]) -> bool {
        let (words, rest) = match self.path.split_last() {
            Some((last, words)) if last == "*" => (words, true),
            _ => (self.path.as_slice(), false),
        };
        let fits = path.len() == words.len() || (rest && path.len() > words.len());
        fits && words.iter().zip(path).all(|(word, name)| glob::fits(word, &plain(name)))
    }
}

impl FromStr for Pattern {
    type Err = Error;

    fn from_str(pattern: &str) -> Result<Self, Error> {
        let wrong = |problem| Error::Pattern { pattern: pattern.to_owned(), problem };
        let mut path: Vec<&str> = pattern.split_whitespace().collect();
        let argument = path.pop_if(|last| last.starts_with('-'));
        match (path.iter().any(|word| word.starts_with('-')), path.is_empty(), argument) {
            (true, ..) => Err(wrong("has an argument before its end")),
            (_, true, None) => Err(wrong("is empty")),
            (_, _, Some(argument)) if plain(argument).is_empty() => {
                Err(wrong("has an argument without a name"))
            }
            (_, _, argument) => Ok(Self {
                path: path.into_iter().map(plain).collect(),
                argument: argument.map(plain),
            }),
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = Error;

    fn try_from(pattern: String) -> Result<Self, Error> {
        pattern.parse()
    }
}

/// A name in its canonical form for comparison.
fn plain(name: &str) -> String {
    name.trim_start_matches('-').to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path: &str) -> Vec<String> {
        path.split_whitespace().map(str::to_owned).collect()
    }

    fn pattern(text: &str) -> Pattern {
        text.parse().unwrap()
    }

    #[test]
    fn words_stand_for_words() {
        for (text, yes, no) in [
            (
                "component list",
                &["component list", "Component LIST"][..],
                &["component", "list"][..],
            ),
            ("cloud token *", &["cloud token", "cloud token new", "cloud token a b"], &["cloud"]),
            ("* list", &["component list", "worker list"], &["list", "api definition list"]),
            ("*", &["a", "a b c"], &[]),
            ("get-*", &["get-one", "get_one", "get-"], &["get", "get-one more"]),
            ("a * c", &["a b c"], &["a c", "a b b c"]),
            ("*-*", &["a-b", "a_b"], &["ab"]),
        ] {
            for yes in yes {
                assert!(pattern(text).matches(&path(yes)), "{text} is of {yes}");
            }
            for no in no {
                assert!(!pattern(text).matches(&path(no)), "{text} is not of {no}");
            }
        }
    }

    #[test]
    fn what_is_below_is_covered() {
        let grant = pattern("cloud account grant");
        assert!(grant.covers(&path("cloud account grant new")));
        assert!(!grant.matches(&path("cloud account grant new")));
        assert!(!grant.covers(&path("cloud account")));
        assert!(!grant.covers(&path("cloud account grants")));
    }

    #[test]
    fn arguments_are_known_by_each_of_their_names() {
        let names = ["force".to_owned(), "f".to_owned(), "overwrite_all".to_owned()];
        for yes in ["deploy --force", "deploy -f", "* --FORCE", "--overwrite-all", "dep* --over*"] {
            assert!(pattern(yes).matches_argument(&path("deploy"), &names), "{yes}");
            assert!(!pattern(yes).matches(&path("deploy")), "{yes}");
        }
        for no in ["build --force", "deploy --forced", "deploy -g", "deploy"] {
            assert!(!pattern(no).matches_argument(&path("deploy"), &names), "{no}");
        }
    }

    #[test]
    fn what_can_match_nothing_is_refused() {
        for wrong in ["", "  ", "a --b c", "a --", "-"] {
            let error = wrong.parse::<Pattern>().unwrap_err().to_string();
            assert!(error.contains("cloud token *"), "{error}");
        }
    }
}
