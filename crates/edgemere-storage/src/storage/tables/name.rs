//! Names of databases, tables and columns: which are allowed, and how the first two look as the
//! names of folders.

use std::collections::HashSet;
use std::fmt::Write;

use twox_hash::XxHash64;

use crate::schema::{Column, SYSTEM_COLUMNS};
use crate::storage::Error;
use crate::storage::options::{COLUMNS_MAX, NAME_LENGTH_MAX};

/// The longest encoded name that is used as it is. File systems stop at 255 bytes.
const FOLDER_LENGTH_MAX: usize = 200;

/// Checks the name of a database or table.
pub(crate) fn check(what: &'static str, name: &str) -> Result<(), Error> {
    let wrong = |reason| Err(Error::Name { what, name: name.to_owned(), reason });
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.len() > NAME_LENGTH_MAX {
        return wrong("it is longer than 128 characters");
    }
    match name.chars().next() {
        None => return wrong("it is empty"),
        Some(first) if !plain(first) => return wrong("it begins with another character"),
        Some(_) => {}
    }
    if name.chars().any(|c| !plain(c) && !" .;-".contains(c)) {
        return wrong("it has other characters");
    }
    Ok(())
}

/// Checks columns that are to be added to those that a table has.
pub(crate) fn check_columns(present: &[Column], added: &[Column]) -> Result<(), Error> {
    if present.len() + added.len() > COLUMNS_MAX {
        let limit = format!("{COLUMNS_MAX} columns");
        return Err(Error::TooLarge { what: "the table", limit });
    }
    let mut names: HashSet<_> = present.iter().map(|column| column.name.as_str()).collect();
    names.extend(SYSTEM_COLUMNS);
    for column in added {
        let name = column.name.as_str();
        if name.is_empty() || name.len() > NAME_LENGTH_MAX {
            let reason = "it must have 1 to 128 bytes";
            return Err(Error::Name { what: "column", name: name.to_owned(), reason });
        }
        if !names.insert(name) {
            return Err(Error::columns(format!("the table has a column \"{name}\" already")));
        }
    }
    Ok(())
}

/// A name as that of a folder: whatever the name, one that every file system takes and that leads
/// nowhere else.
pub(crate) fn folder(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => encoded.push(char::from(byte)),
            // Writing to a text does not fail.
            _ => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    if encoded.len() > FOLDER_LENGTH_MAX {
        let hash = XxHash64::oneshot(0, name.as_bytes());
        encoded.truncate(FOLDER_LENGTH_MAX);
        _ = write!(encoded, "~{hash:016x}");
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers() {
        for name in ["a", "_x", "0", "rand_data", "a b", "t.1", "x;y-z", &"n".repeat(128)] {
            check("table", name).unwrap();
        }
        for name in ["", "A", ".", "..", " a", "-a", "a/b", "a\\b", "é", "a%", "a\n", "a\0"] {
            let error = check("table", name).unwrap_err();
            assert!(matches!(error, Error::Name { .. }), "{name:?}");
        }
        assert!(check("table", &"n".repeat(129)).is_err());
    }

    #[test]
    fn folders_are_safe_and_distinct() {
        assert_eq!(folder("rand_data-1"), "rand_data-1");
        assert_eq!(folder("a.b c;d"), "a%2Eb%20c%3Bd");
        assert_eq!(folder("../x"), "%2E%2E%2Fx");
        let long = |end: &str| folder(&format!("{}{end}", ".".repeat(127)));
        assert!(long("a").len() <= 255);
        assert_ne!(long("a"), long("b"));
    }
}
