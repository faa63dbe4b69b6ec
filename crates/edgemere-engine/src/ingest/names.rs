//! What a key of the input is called as a column.

use crate::schema::SYSTEM_COLUMNS;

/// The column's name for a key: trimmed, in lower case, and of letters, digits and `_` only.
pub(super) fn column_name(key: &str, chars_max: usize) -> Result<String, &'static str> {
    let plain = |char: char| if char.is_alphanumeric() { char } else { '_' };
    let name: String = key.trim().chars().flat_map(char::to_lowercase).map(plain).collect();
    if name.is_empty() {
        return Err("the name is empty");
    }
    if name.chars().count() > chars_max {
        return Err("the name is too long");
    }
    Ok(name)
}

/// Whether the engine itself fills the column.
pub(super) fn is_system(name: &str) -> bool {
    SYSTEM_COLUMNS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for (key, name) in [
            ("value", "value"),
            (" Device Name ", "device_name"),
            ("a.b-c/d", "a_b_c_d"),
            ("Größe", "größe"),
            ("_x1", "_x1"),
            ("it's", "it_s"),
            ("\"; drop table t", "___drop_table_t"),
            ("a\0b", "a_b"),
            ("2nd", "2nd"),
        ] {
            assert_eq!(column_name(key, 128).as_deref(), Ok(name), "{key}");
        }
    }

    #[test]
    fn empty_and_long_names_are_none() {
        assert_eq!(column_name("", 128), Err("the name is empty"));
        assert_eq!(column_name(" \t", 128), Err("the name is empty"));
        assert_eq!(column_name("abc", 2), Err("the name is too long"));
    }
}
