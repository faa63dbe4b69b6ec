//! URIs of files, their display names and media types.

use std::path::{Component, Path, Prefix};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// The unreserved characters of RFC 3986. No client normalizes them, so a URI has one form.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The URI of a folder, without a slash at the end.
pub(super) fn of_folder(path: &Path) -> String {
    let mut uri = String::from("file://");
    for part in path.components() {
        match part {
            Component::Normal(name) => {
                uri.push('/');
                uri.extend(percent_encode(name.as_encoded_bytes(), ENCODED));
            }
            Component::Prefix(prefix) => {
                if let Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) = prefix.kind() {
                    uri.extend(['/', char::from(letter), ':']);
                }
            }
            Component::RootDir | Component::CurDir | Component::ParentDir => {}
        }
    }
    uri
}

/// The URI of an entry of a folder.
pub(super) fn within(folder: &str, name: &str) -> String {
    let mut uri = format!("{folder}/");
    uri.extend(percent_encode(name.as_bytes(), ENCODED));
    uri
}

/// The names in a part of a URI, if it is exactly as [`within`] writes it.
pub(super) fn names(path: &str) -> Option<Vec<String>> {
    path.split('/').map(name).collect()
}

fn name(part: &str) -> Option<String> {
    let name = percent_decode_str(part).decode_utf8().ok()?.into_owned();
    let written = percent_encode(name.as_bytes(), ENCODED).to_string();
    (is_name(&name) && written == part).then_some(name)
}

/// Whether it is the name of a single entry.
fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    let first = parts.next();
    let is_one = first == Some(Component::Normal(name.as_ref())) && parts.next().is_none();
    is_one && !name.contains(['/', '\0'])
}

/// A name on one line, for people and models.
pub(super) fn shown(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for char in name.chars() {
        match char.is_control() {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
    }
    shown
}

/// The media type of a file by its extension, if it is known.
pub(super) fn mime_type(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "json" => "application/json",
        "xml" => "application/xml",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" => "text/html",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_one_address() {
        for (name, written) in [
            ("golem.yaml", "golem.yaml"),
            ("a b.yaml", "a%20b.yaml"),
            ("ü.yaml", "%C3%BC.yaml"),
            ("100%.yaml", "100%25.yaml"),
            ("a#b?c.yaml", "a%23b%3Fc.yaml"),
            ("two\nlines.yaml", "two%0Alines.yaml"),
            ("a\\b:c.yaml", "a%5Cb%3Ac.yaml"),
            ("~-_.yaml", "~-_.yaml"),
        ] {
            assert_eq!(within("file:///f", name), format!("file:///f/{written}"));
            assert_eq!(names(written), Some(vec![name.to_owned()]));
        }
    }

    #[test]
    fn no_other_way_of_writing_is_an_address() {
        for other in [
            "", ".", "..", "a/../b", "a//b", "a/", "/a", "./a", "%2e%2e", "%2E%2E/a", "a%2Fb",
            "a%00", "%ff", "%c3%bc", "ü", "a b", "%61", "a%2", "100%", "a%5c", "a\\b", "a:b",
            "a?b", "a#b",
        ] {
            assert_eq!(names(other), None, "{other}");
        }
    }

    #[test]
    fn folders_have_addresses() {
        for (path, uri) in
            [("/", "file://"), ("/a", "file:///a"), ("/a b/c%/", "file:///a%20b/c%25")]
        {
            assert_eq!(of_folder(Path::new(path)), uri);
        }
    }

    #[test]
    fn a_name_is_shown_on_one_line() {
        assert_eq!(shown("a\nb\u{1b}[1m ü.yaml"), "a\\nb\\u{1b}[1m ü.yaml");
    }

    #[test]
    fn the_end_of_a_name_says_what_it_is() {
        assert_eq!(mime_type("sub/golem.YML"), Some("application/yaml"));
        assert_eq!(mime_type("edgemere.toml"), Some("application/toml"));
        assert_eq!(mime_type("start.al"), None);
        assert_eq!(mime_type("Makefile"), None);
    }
}
