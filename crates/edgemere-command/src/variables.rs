//! The node's dictionary: names and their values, set by commands and read as `!name`.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

use crate::error::Error;
use crate::near;

/// How many variables a node keeps.
const VARIABLES_MAX: usize = 10_000;

/// How large a variable's value may be, as JSON.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// Parts of names whose values are not shown in lists.
const SECRET_PARTS: [&str; 5] = ["password", "passwd", "secret", "token", "private"];

/// What is shown in place of a secret.
const HIDDEN: &str = "********";

/// The node's variables.
#[derive(Debug, Default)]
pub(crate) struct Variables {
    values: RwLock<BTreeMap<String, Value>>,
}

impl Variables {
    /// Gives a variable a value; an empty text takes the variable away.
    pub(crate) fn set(&self, name: &str, value: Value) -> Result<(), Error> {
        let size = value.to_string().len();
        if size > VALUE_BYTES_MAX {
            return Err(Error::Limit { what: "the variable's value", limit: VALUE_BYTES_MAX });
        }
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        if value == "" {
            values.remove(name);
        } else if values.len() < VARIABLES_MAX || values.contains_key(name) {
            values.insert(name.to_owned(), value);
        } else {
            return Err(Error::Limit { what: "the number of variables", limit: VARIABLES_MAX });
        }
        Ok(())
    }

    /// A variable's value.
    pub(crate) fn get(&self, name: &str) -> Result<Value, Error> {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        values.get(name).cloned().ok_or_else(|| Error::UnknownVariable {
            name: name.to_owned(),
            hint: near::nearest(name, values.keys().map(String::as_str))
                .map(|near| format!("did you mean \"!{near}\"?"))
                .or_else(|| Some(format!("set it with \"{name} = VALUE\""))),
        })
    }

    /// All variables whose name contains `part`, with the values of secrets hidden.
    pub(crate) fn list(&self, part: &str) -> Vec<(String, Value)> {
        let values = self.values.read().unwrap_or_else(PoisonError::into_inner);
        values
            .iter()
            .filter(|(name, _)| name.contains(part))
            .map(|(name, value)| {
                let shown = if is_secret(name) { HIDDEN.into() } else { value.clone() };
                (name.clone(), shown)
            })
            .collect()
    }
}

/// Whether the name says that the value is a secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET_PARTS.iter().any(|part| name.contains(part))
}
