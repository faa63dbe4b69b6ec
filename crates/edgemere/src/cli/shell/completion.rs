//! What can come next in a command that is being typed, from the declarations of the commands: the
//! words of names, the keys after `where`, the values of `format`.

use std::collections::BTreeSet;

use edgemere_command::{Declaration, declarations};

/// Where the word at the end of `text` begins, and the words that it can become.
pub(super) fn complete(text: &str) -> (usize, Vec<&'static str>) {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '=' | '<' | '(' | ')');
    let start = text.rfind(is_end).map_or(0, |at| at + 1);
    let (before, begun) = text.split_at(start);
    let begun = begun.to_lowercase();
    let words = next_words(&words(before));
    (start, words.into_iter().filter(|word| word.starts_with(&begun)).collect())
}

/// The words of a text, in lower case and with `=` as one of its own.
fn words(text: &str) -> Vec<String> {
    let text = text.trim_start().trim_start_matches('<').replace('=', " = ");
    text.split_whitespace().map(str::to_lowercase).collect()
}

fn next_words(words: &[String]) -> BTreeSet<&'static str> {
    let words = command_of(words);
    match words.iter().position(|word| word == "where") {
        None => names(words).chain(where_of(words)).collect(),
        Some(at) => {
            let (name, options) = words.split_at(at);
            command(name).map(|command| in_where(command, options)).unwrap_or_default()
        }
    }
}

/// The words of the command itself: after `help`, and after `run client (…)`.
fn command_of(words: &[String]) -> &[String] {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let skipped = match texts.as_slice() {
        ["help", ..] => 1,
        ["run", "client", rest @ ..] => match rest.iter().position(|word| word.ends_with(')')) {
            Some(closed) => closed + 3,
            None => 0,
        },
        _ => 0,
    };
    words.get(skipped..).unwrap_or_default()
}

/// The words that come next in the names that begin with these words.
fn names(words: &[String]) -> impl Iterator<Item = &'static str> {
    let next = |name: &'static str| {
        let mut keywords = keywords(name);
        let begins = words.iter().all(|word| keywords.next() == Some(word.as_str()));
        begins.then(|| keywords.next()).flatten()
    };
    all_names().filter_map(move |(name, _)| next(name))
}

/// `where`, after the name of a command that has one.
fn where_of(words: &[String]) -> Option<&'static str> {
    let command = command(words)?;
    (!keys(command).is_empty()).then_some("where")
}

/// What comes next in a `where`, which is the first of `words`.
fn in_where(command: &'static Declaration, words: &[String]) -> BTreeSet<&'static str> {
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    match texts.as_slice() {
        [.., "where" | "and"] => keys(command),
        [.., "format", "="] => command.formats.iter().map(|format| format.name()).collect(),
        [.., "="] => BTreeSet::new(),
        [.., "=", _] => BTreeSet::from(["and"]),
        _ => BTreeSet::from(["="]),
    }
}

/// The keys of a command's `where` that have names of their own.
fn keys(command: &'static Declaration) -> BTreeSet<&'static str> {
    let looks: &[_] = if command.formats.is_empty() { &[] } else { &["format", "extract"] };
    command.keys.iter().chain(looks).copied().filter(|key| is_keyword(key)).collect()
}

/// The command with the longest name that these words begin with.
fn command(words: &[String]) -> Option<&'static Declaration> {
    let fits = |name: &'static str| {
        let mut words = words.iter();
        keywords(name).all(|keyword| words.next().is_some_and(|word| word == keyword))
    };
    all_names()
        .filter(|(name, _)| keywords(name).next().is_some() && fits(name))
        .max_by_key(|(name, _)| keywords(name).count())
        .map(|(_, declaration)| declaration)
}

fn all_names() -> impl Iterator<Item = (&'static str, &'static Declaration)> {
    declarations().iter().flat_map(|declaration| {
        let names = std::iter::once(&declaration.name).chain(declaration.aliases);
        names.map(move |name| (*name, *declaration))
    })
}

/// The words of a name that are written as they stand.
fn keywords(name: &'static str) -> impl Iterator<Item = &'static str> {
    name.split(' ').take_while(|word| is_keyword(word))
}

fn is_keyword(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_lowercase() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(text: &str) -> Vec<&'static str> {
        complete(text).1
    }

    #[test]
    fn names_are_completed_word_by_word() {
        assert_eq!(candidates("bl"), ["blockchain"]);
        assert_eq!(complete("get sta"), (4, vec!["status"]));
        assert_eq!(candidates("GET Sta"), ["status"]);
        assert_eq!(candidates("get cpu "), ["usage"]);
        assert!(candidates("").contains(&"get"));
        assert!(candidates("get ").contains(&"tables"));
        assert!(candidates("zzz").is_empty());
        assert!(candidates("zzz ").is_empty());
    }

    #[test]
    fn a_name_with_options_goes_on_with_where() {
        assert_eq!(candidates("get tables "), ["where"]);
        assert_eq!(candidates("get tables w"), ["where"]);
        assert_eq!(candidates("exit "), Vec::<&str>::new());
    }

    #[test]
    fn keys_and_formats_are_completed_in_a_where() {
        assert_eq!(candidates("get tables where "), ["dbms", "extract", "format"]);
        assert_eq!(candidates("get tables where d"), ["dbms"]);
        assert_eq!(candidates("get tables where dbms "), ["="]);
        assert_eq!(candidates("get tables where dbms = "), Vec::<&str>::new());
        assert_eq!(candidates("get tables where dbms = x "), ["and"]);
        assert_eq!(candidates("get tables where dbms = x and f"), ["format"]);
        assert_eq!(candidates("get tables where format = "), ["json", "mcp", "table"]);
        assert_eq!(complete("get tables where format=j"), (24, vec!["json"]));
    }

    #[test]
    fn the_command_after_help_and_after_run_client_is_completed() {
        assert_eq!(candidates("help get sta"), ["status"]);
        assert_eq!(candidates("run client (a:1, b:2) get sta"), ["status"]);
        assert_eq!(candidates("run client () get tables where d"), ["dbms"]);
        assert_eq!(candidates("< get sta"), ["status"]);
    }
}
