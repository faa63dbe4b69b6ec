//! `edgemere.toml`: where it is looked for, and what it says. What is wrong in it is reported with the
//! line and the column.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use edgemere_command::{Kind, Span};
use toml::{Spanned, Value};

use super::folders::config_folder;
use super::key::Key;
use super::{Entry, Source, keys};
use crate::failure::Failure;

/// The file's name.
pub(crate) const FILE_NAME: &str = "edgemere.toml";

/// How near a key must be to be meant.
const NEAR_MIN: f64 = 0.8;

/// Reads a file that must be there.
pub(super) fn named(file: &Path) -> anyhow::Result<Vec<Entry>> {
    match read_text(file)? {
        Some(text) => parse(file, &text),
        None => Err(missing(file).into()),
    }
}

/// Reads the user's own file, if there is one.
pub(super) fn of_user() -> anyhow::Result<Vec<Entry>> {
    match config_folder() {
        Some(folder) => found(&folder.join(FILE_NAME)),
        None => Ok(Vec::new()),
    }
}

/// Reads the file of the working folder, if there is one. Nobody has named it: the folder may be
/// another user's.
pub(super) fn of_folder() -> anyhow::Result<Vec<Entry>> {
    found(&PathBuf::from(FILE_NAME))
}

fn found(file: &Path) -> anyhow::Result<Vec<Entry>> {
    read_text(file)?.map_or_else(|| Ok(Vec::new()), |text| parse(file, &text))
}

/// The file's text, or none when there is no file.
fn read_text(file: &Path) -> anyhow::Result<Option<String>> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let failure = Failure::input(error.to_string());
            Err(failure).with_context(|| format!("cannot read \"{}\"", file.display()))
        }
    }
}

fn missing(file: &Path) -> Failure {
    Failure::new(Kind::NotFound, format!("there is no configuration file \"{}\"", file.display()))
        .with_hint("\"edgemere config init\" writes one")
}

fn parse(file: &Path, text: &str) -> anyhow::Result<Vec<Entry>> {
    let at = |span: &Span, message: &str| {
        let (line, column) = position(text, span.start);
        Failure::input(format!("{}:{line}:{column}: {message}", file.display()))
    };
    let table: BTreeMap<Spanned<String>, Spanned<Value>> = toml::from_str(text)
        .map_err(|error| at(&error.span().unwrap_or_default(), error.message()))?;
    let mut entries = Vec::new();
    for (name, value) in &table {
        if value.get_ref().is_table() {
            let name_text = name.get_ref();
            let message = format!("\"[{name_text}]\" begins a section, and the file has none");
            let failure = at(&name.span(), &message);
            return Err(failure.with_hint(format!("leave the line \"[{name_text}]\" out")).into());
        }
        let key = known(name.get_ref())
            .ok_or_else(|| unknown(name.get_ref(), |message| at(&name.span(), message)))?;
        let text = (key.form)
            .read_toml(value.get_ref())
            .map_err(|why| at(&value.span(), &format!("the value of \"{}\": {why}", key.name)))?;
        if key.form.hides(&text) {
            let message = format!("\"{}\" is a secret itself, and not the file with it", key.name);
            let failure = at(&value.span(), &message);
            return Err(failure.with_hint(secret_hint(key)).into());
        }
        let source = Source::File(file.to_owned());
        entries.push(Entry { key, text: Some(text), source });
    }
    Ok(entries)
}

/// What to do with a secret that stands in a file which others read.
fn secret_hint(key: &Key) -> String {
    format!(
        "write it to a file of its own that only you can read (chmod 600) and give that file's name, or \
         set {}",
        key.variable
    )
}

fn known(name: &str) -> Option<&'static Key> {
    keys::ALL.into_iter().find(|key| key.name == name)
}

fn unknown(name: &str, at: impl Fn(&str) -> Failure) -> Failure {
    let near = keys::ALL
        .iter()
        .map(|key| (strsim::jaro_winkler(name, key.name), key.name))
        .filter(|(likeness, _)| *likeness >= NEAR_MIN)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let hint = match near {
        Some((_, near)) => format!("did you mean \"{near}\"?"),
        None => format!("the keys are {}", keys::ALL.map(|key| key.name).join(", ")),
    };
    at(&format!("unknown key \"{name}\"")).with_hint(hint)
}

/// The line and the column of a place, from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
    (line, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> Failure {
        Failure::of(parse(Path::new(FILE_NAME), text).unwrap_err())
    }

    #[test]
    fn an_unknown_key_is_told_with_its_place_and_the_near_one() {
        let failure = refused("# é\nname = \"a\"\n  htpp = \"127.0.0.1:0\"\n");
        assert_eq!(failure.message, "edgemere.toml:3:3: unknown key \"htpp\"");
        assert_eq!(failure.hint.as_deref(), Some("did you mean \"http\"?"));
        assert_eq!(failure.kind, Kind::Input);
        let hint = refused("frobnicate = 1").hint.unwrap();
        assert!(hint.starts_with("the keys are name, role,"), "{hint}");
    }

    #[test]
    fn a_section_is_told_as_such() {
        for name in ["node", "server"] {
            let failure = refused(&format!("[{name}]\nname = \"a\"\n"));
            let message =
                format!("edgemere.toml:1:2: \"[{name}]\" begins a section, and the file has none");
            assert_eq!(failure.message, message);
            assert_eq!(failure.hint, Some(format!("leave the line \"[{name}]\" out")));
        }
    }

    #[test]
    fn a_key_itself_is_refused_and_not_repeated() {
        let secret = "a1".repeat(32);
        let failure = refused(&format!("name = \"a\"\nnetwork-key = \"{secret}\"\n"));
        assert_eq!(
            failure.message,
            "edgemere.toml:2:15: \"network-key\" is a secret itself, and not the file with it"
        );
        assert!(failure.hint.unwrap().contains("EDGEMERE_NETWORK_KEY"));
        assert!(parse(Path::new(FILE_NAME), "network-key = \"network.key\"").is_ok());
    }

    #[test]
    fn a_wrong_value_is_told_with_its_place() {
        assert_eq!(
            refused("register = \"yes\"").message,
            "edgemere.toml:1:12: the value of \"register\": it must be true or false, without quotes"
        );
        assert_eq!(
            refused("role = [\"master\", \"boss\"]").message,
            "edgemere.toml:1:8: the value of \"role\": \"boss\" is none of master, operator, query"
        );
    }

    #[test]
    fn what_is_not_toml_is_told_with_its_place() {
        let message = refused("name = \"a\"\nhttp 1\n").message;
        assert!(message.starts_with("edgemere.toml:2:"), "{message}");
    }

    #[test]
    fn a_list_and_a_text_with_commas_are_the_same_roles() {
        for text in ["role = [\"master\", \"query\"]", "role = \"master,query\""] {
            let entries = parse(Path::new(FILE_NAME), text).unwrap();
            assert_eq!(entries[0].text.as_deref(), Some("master,query"));
        }
    }
}
