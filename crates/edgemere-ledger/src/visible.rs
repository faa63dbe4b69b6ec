//! Which characters the names in policies may have: not those that nobody sees, and not those that change
//! how the others are shown. Two names that look the same would be two nodes, devices or tables.
//!
//! Letters of other scripts that look alike are let through: they are how people write.

use serde_json::Value;

use crate::{Error, Policy};

/// The attributes that are names.
const NAMES: [&str; 6] = ["name", "company", "dbms", "cluster", "table", "namespace"];

/// Characters without a shape of their own, or that turn the direction of the text: the general category
/// "format", line and paragraph separators, fillers, and selectors of variants.
const INVISIBLE: [(char, char); 22] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{13430}', '\u{1345f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// Refuses a policy whose type, or one of whose names, has such a character.
pub(crate) fn check(policy: &Policy) -> Result<(), Error> {
    check_text(policy, "type", policy.kind())?;
    for (attribute, value) in policy.attributes() {
        check_text(policy, "attribute", attribute)?;
        if NAMES.iter().any(|name| attribute.eq_ignore_ascii_case(name)) {
            check_value(policy, attribute, value)?;
        }
    }
    Ok(())
}

/// Checks a name, or the names of a list of tables.
fn check_value(policy: &Policy, attribute: &str, value: &Value) -> Result<(), Error> {
    match value {
        Value::String(text) => check_text(policy, attribute, text),
        Value::Array(list) => {
            list.iter().try_for_each(|value| check_value(policy, attribute, value))
        }
        Value::Object(object) => {
            object.values().try_for_each(|value| check_value(policy, attribute, value))
        }
        _ => Ok(()),
    }
}

fn check_text(policy: &Policy, what: &str, text: &str) -> Result<(), Error> {
    let found = text.chars().enumerate().find(|(_, character)| is_invisible(*character));
    match found {
        None => Ok(()),
        Some((at, character)) => Err(Error::Invisible {
            kind: policy.kind().to_owned(),
            what: what.to_owned(),
            character,
            place: at + 1,
        }),
    }
}

fn is_invisible(character: char) -> bool {
    character.is_control()
        || INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&character))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(policy: Value) -> Result<(), Error> {
        check(&Policy::from_value(policy).unwrap())
    }

    #[test]
    fn names_have_no_characters_that_nobody_sees() {
        for bad in [
            "pu\u{200b}mp",
            "pump\u{200d}",
            "\u{202e}pmup",
            "pump\u{2066}",
            "\u{feff}pump",
            "pu\u{ad}mp",
            "pump\n",
            "pu\0mp",
            "pump\u{7f}",
            "pump\u{85}",
            "pump\u{e0041}",
            "\u{2800}",
            "\u{3164}",
        ] {
            for policy in [
                json!({ "device": { "name": bad } }),
                json!({ "device": { "Name": bad } }),
                json!({ "operator": { "name": "o", "company": bad } }),
                json!({ "table": { "dbms": bad, "name": "t" } }),
                json!({ "cluster": { "name": "c", "table": [{ "dbms": "d", "name": bad }] } }),
                json!({ "device": { "name": "d", bad: 1 } }),
                json!({ bad: { "name": "d" } }),
            ] {
                let told = policy.to_string();
                let error = checked(policy).unwrap_err();
                assert!(matches!(error, Error::Invisible { .. }), "{told}: {error:?}");
                assert!(error.to_string().chars().all(|c| !is_invisible(c)), "{error:?}");
            }
        }
    }

    #[test]
    fn names_in_every_script_and_texts_that_are_no_names_are_taken() {
        for good in ["pump 1", "насос", "ポンプ", "مضخة", "Ünïcode", "pump_é", "🌊", "वाटर"]
        {
            checked(json!({ "device": { "name": good } })).unwrap();
        }
        checked(json!({ "device": { "name": "d", "notes": "two\nlines\u{200b}" } })).unwrap();
    }
}
