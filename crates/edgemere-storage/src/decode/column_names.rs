//! What a key of the input is called as a column.
//!
//! A name is plain: in lower case, of letters, digits and `_`. What stands between them becomes one `_`, and
//! nothing at the ends: `Air Temp (°C)` is `air_temp_c`. Signs of units are spelled: `%`, `µ`, `²`, `³`. A table that was made
//! before has the names of then, where every such character was a `_`, and they are found.
//!
//! The column keeps the key as its original name. Where two keys of one row have one plain name, one of them
//! gets another, with a number: `temp_c_2`. By their original names both are found again.

use crate::schema::SYSTEM_COLUMNS;

/// The column's name for a key; `is_known` says whether the table has a column of that name.
pub(super) fn column_name(
    key: &str,
    chars_max: usize,
    is_known: impl Fn(&str) -> bool,
) -> Result<String, &'static str> {
    if key.trim().is_empty() {
        return Err("the name is empty");
    }
    let (name, before) = (plain(key), plain_before(key));
    let name = if !is_known(&name) && is_known(&before) { before } else { name };
    if name.chars().count() > chars_max {
        return Err("the name is too long");
    }
    Ok(name)
}

/// What a column of that name was called, where the key says it otherwise.
pub(super) fn original(key: &str, name: &str) -> Option<String> {
    let key = key.trim();
    (key != name).then(|| key.to_owned())
}

/// Of two keys of one row that have a column's name, whether the second is the column's own: it is what the
/// column was called, or, of a column that is new, its very name.
pub(super) fn is_second(name: &str, original: Option<&str>, is_new: bool, second: &str) -> bool {
    let second = second.trim();
    original.unwrap_or(name) == second || (is_new && name == second)
}

/// A name for the other one that no column has.
pub(super) fn numbered(
    name: &str,
    chars_max: usize,
    is_known: impl Fn(&str) -> bool,
) -> Option<String> {
    let free = (2_usize..).map(|number| format!("{name}_{number}")).find(|name| !is_known(name))?;
    (free.chars().count() <= chars_max).then_some(free)
}

/// The plain name of a key.
pub(super) fn plain(key: &str) -> String {
    let mut name = String::with_capacity(key.len());
    let mut is_apart = false;
    for char in key.trim().chars() {
        let spelled = match char {
            '%' => " percent ",
            'µ' | 'μ' => "u",
            '²' => "2",
            '³' => "3",
            _ => "",
        };
        let lower = char.to_lowercase().filter(|_| spelled.is_empty());
        for char in spelled.chars().chain(lower) {
            if !char.is_alphanumeric() && char != '_' {
                is_apart = true;
                continue;
            }
            if std::mem::take(&mut is_apart)
                && !name.is_empty()
                && !name.ends_with('_')
                && char != '_'
            {
                name.push('_');
            }
            name.push(char);
        }
    }
    // Of nothing but signs there is no better name than before.
    if name.is_empty() { plain_before(key) } else { name }
}

/// The name that a key had in tables that were made before.
pub(super) fn plain_before(key: &str) -> String {
    let plain = |char: char| if char.is_alphanumeric() { char } else { '_' };
    key.trim().chars().flat_map(char::to_lowercase).map(plain).collect()
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
            ("a__b", "a__b"),
            ("it's", "it_s"),
            ("Air Temp (°C)", "air_temp_c"),
            ("Humidity %", "humidity_percent"),
            ("Flow [m³/h]", "flow_m3_h"),
            ("µg - total", "ug_total"),
            ("\"; drop table t", "drop_table_t"),
            ("a\0b", "a_b"),
            ("2nd", "2nd"),
            ("?!", "__"),
        ] {
            assert_eq!(column_name(key, 128, |_| false).as_deref(), Ok(name), "{key}");
            // A plain name is its own.
            assert_eq!(plain(name), name, "{key}");
        }
    }

    #[test]
    fn names_of_tables_that_were_made_before_are_found() {
        let before = |name: &str| name == "air_temp___c_";
        assert_eq!(column_name("Air Temp (°C)", 128, before).as_deref(), Ok("air_temp___c_"));
        let both = |name: &str| before(name) || name == "air_temp_c";
        assert_eq!(column_name("Air Temp (°C)", 128, both).as_deref(), Ok("air_temp_c"));
    }

    #[test]
    fn of_two_keys_one_is_the_columns_own() {
        // New: what came first, unless the other is its very name.
        assert!(!is_second("temp_c", Some("Temp (C)"), true, "TEMP C"));
        assert!(is_second("temp_c", Some("Temp (C)"), true, "temp_c"));
        // Known: what it was called.
        assert!(!is_second("temp_c", Some("Temp (C)"), false, "temp_c"));
        assert!(is_second("temp_c", Some("Temp (C)"), false, "Temp (C)"));
        assert!(is_second("temp_c", None, false, "temp_c"));
        let is_known = |name: &str| name == "temp_c_2";
        assert_eq!(numbered("temp_c", 128, is_known).as_deref(), Some("temp_c_3"));
        assert_eq!(numbered("temp_c", 7, is_known), None);
        assert_eq!(original(" temp_c ", "temp_c"), None);
        assert_eq!(original("Temp (C)", "temp_c").as_deref(), Some("Temp (C)"));
    }

    #[test]
    fn empty_and_long_names_are_none() {
        assert_eq!(column_name("", 128, |_| false), Err("the name is empty"));
        assert_eq!(column_name(" \t", 128, |_| false), Err("the name is empty"));
        assert_eq!(column_name("abc", 2, |_| false), Err("the name is too long"));
    }
}
