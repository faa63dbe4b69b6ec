//! Variables: names and their values, read as `!name`. The node has a dictionary of them, which
//! commands set; a request may bring its own, which lie over the node's for as long as it runs.
//!
//! A variable is a secret when its name says so, or when its value was made of a secret. A secret's
//! value can be given to another variable, which is then a secret too, and can be used for nothing else:
//! [`Scope::get`], the one way to a value, refuses it. So no reply, policy, error or log has one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

use crate::error::Error;
use crate::near;

/// How many variables a node keeps, and a request brings.
const VARIABLES_MAX: usize = 10_000;

/// How large a variable's value may be, as JSON.
const VALUE_BYTES_MAX: usize = 1 << 20;

/// How much memory all variables of a node may take, and all that a request brings.
const NODE_BYTES_MAX: usize = 64 << 20;
const REQUEST_BYTES_MAX: usize = 8 << 20;

/// How much one request may take from variables, however often it names them: a short text names a
/// large value a million times.
const RESOLVED_BYTES_MAX: usize = 64 << 20;

/// About what a value takes in memory beside its text.
const VALUE_OVERHEAD: usize = 48;

/// Parts of names whose values are secrets, wherever they stand in the name.
const SECRET_PARTS: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "token", "private", "credential", "apikey"];

/// Words of names whose values are secrets. A name's words stand between its `_` and `-`, its digits
/// and its capitals.
const SECRET_WORDS: [&str; 9] =
    ["pwd", "pw", "pass", "key", "keys", "auth", "cred", "creds", "signature"];

/// What is shown in place of a secret.
pub(crate) const HIDDEN: &str = "********";

/// Names and their values.
#[derive(Debug)]
pub(crate) struct Variables {
    held: RwLock<Held>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Held {
    values: BTreeMap<String, Variable>,
    /// What all of them take.
    bytes: usize,
}

/// A variable's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variable {
    pub(crate) value: Value,
    /// Whether it may not be shown.
    pub(crate) is_secret: bool,
}

impl Variables {
    /// The dictionary of a node.
    pub(crate) fn of_node() -> Self {
        Self { held: RwLock::default(), bytes_max: NODE_BYTES_MAX }
    }

    fn of_request() -> Self {
        Self { held: RwLock::default(), bytes_max: REQUEST_BYTES_MAX }
    }

    /// Gives a variable a value that is no secret, unless the name says so.
    pub(crate) fn set(&self, name: &str, value: Value) -> Result<(), Error> {
        self.assign(name, Variable { value, is_secret: false })
    }

    /// Gives a variable a value; an empty text takes the variable away.
    pub(crate) fn assign(&self, name: &str, variable: Variable) -> Result<(), Error> {
        let Variable { value, is_secret } = variable;
        if value.to_string().len() > VALUE_BYTES_MAX {
            return Err(Error::Limit { what: "the variable's value", limit: VALUE_BYTES_MAX });
        }
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let before = held.values.get(name).map_or(0, |known| weight(name, &known.value));
        let others = held.bytes.saturating_sub(before);
        if value == "" {
            held.values.remove(name);
            held.bytes = others;
            return Ok(());
        }
        if held.values.len() >= VARIABLES_MAX && !held.values.contains_key(name) {
            return Err(Error::Limit { what: "the number of variables", limit: VARIABLES_MAX });
        }
        let bytes = others + weight(name, &value);
        if bytes > self.bytes_max {
            return Err(Error::Limit {
                what: "the memory of all variables",
                limit: self.bytes_max,
            });
        }
        held.bytes = bytes;
        let is_secret = is_secret || is_secret_name(name);
        held.values.insert(name.to_owned(), Variable { value, is_secret });
        Ok(())
    }

    /// A variable, which may be a secret.
    fn find(&self, name: &str) -> Option<Variable> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).values.get(name).cloned()
    }

    fn nearest(&self, name: &str) -> Option<String> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        near::nearest(name, held.values.keys().map(String::as_str)).map(str::to_owned)
    }

    /// All variables whose name contains `part`, with the values of secrets hidden.
    pub(crate) fn list(&self, part: &str) -> Vec<(String, Value)> {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let named = held.values.iter().filter(|(name, _)| name.contains(part));
        let shown = named.map(|(name, variable)| match variable.is_secret {
            true => (name.clone(), HIDDEN.into()),
            false => (name.clone(), variable.value.clone()),
        });
        shown.collect()
    }
}

/// The variables that a request brings, and how much it has taken from variables.
#[derive(Debug)]
pub(crate) struct RequestVariables {
    own: Variables,
    resolved: AtomicUsize,
}

impl Default for RequestVariables {
    fn default() -> Self {
        Self { own: Variables::of_request(), resolved: AtomicUsize::new(0) }
    }
}

impl RequestVariables {
    /// Whether the request has brought a variable of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.own.find(name).is_some()
    }

    /// Gives one of the request's own variables a value.
    pub(crate) fn assign(&self, name: &str, variable: Variable) -> Result<(), Error> {
        self.own.assign(name, variable)
    }
}

/// The variables that a command sees: those of its request over those of the node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    node: &'a Variables,
    request: Option<&'a RequestVariables>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(node: &'a Variables, request: Option<&'a RequestVariables>) -> Self {
        Self { node, request }
    }

    /// A variable's value, to be used for whatever a command does. A secret is refused.
    pub(crate) fn get(self, name: &str) -> Result<Value, Error> {
        let Variable { value, is_secret } = self.take(name)?;
        match is_secret {
            true => Err(Error::Secret { name: name.to_owned() }),
            false => Ok(value),
        }
    }

    /// A variable, also a secret one: to be given to another variable and to nothing else.
    pub(crate) fn take(self, name: &str) -> Result<Variable, Error> {
        let own = self.request.and_then(|request| request.own.find(name));
        let found = own.or_else(|| self.node.find(name)).ok_or_else(|| self.unknown(name))?;
        if let Some(request) = self.request {
            let bytes = weight(name, &found.value);
            if request.resolved.fetch_add(bytes, Ordering::Relaxed) + bytes > RESOLVED_BYTES_MAX {
                let what = "what the command takes from variables";
                return Err(Error::Limit { what, limit: RESOLVED_BYTES_MAX });
            }
        }
        Ok(found)
    }

    fn unknown(self, name: &str) -> Error {
        let own = self.request.and_then(|request| request.own.nearest(name));
        let hint = own
            .or_else(|| self.node.nearest(name))
            .map(|near| format!("did you mean \"!{near}\"?"))
            .or_else(|| Some(format!("set it with \"{name} = VALUE\"")));
        Error::UnknownVariable { name: name.to_owned(), hint }
    }
}

/// About what a variable takes in memory.
fn weight(name: &str, value: &Value) -> usize {
    name.len() + VALUE_OVERHEAD + size(value)
}

fn size(value: &Value) -> usize {
    VALUE_OVERHEAD
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(size).sum(),
            Value::Object(object) => {
                object.iter().map(|(key, value)| VALUE_OVERHEAD + key.len() + size(value)).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// Whether the name says that the value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).collect();
    let plain = plain.to_lowercase();
    let has_word = words(name).any(|word| {
        SECRET_WORDS.contains(&word.as_str()) || word.ends_with("key") && word != "monkey"
    });
    has_word || SECRET_PARTS.iter().any(|part| plain.contains(part))
}

/// The words of a name, in lower case: `dbApiKey_2` is `db`, `api`, `key`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let begins = !c.is_alphabetic() || (c.is_uppercase() && was_small);
        if begins {
            words.push(String::new());
        }
        if c.is_alphabetic()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        was_small = c.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_that_speak_of_secrets_are_known_however_they_are_written() {
        for secret in [
            "db_password",
            "DB_PASSWORD",
            "Passwd",
            "my-secret",
            "apiToken",
            "API_KEY",
            "key",
            "dbKey",
            "networkkey",
            "pwd",
            "db_pwd2",
            "user_pass",
            "credentials",
            "PrivatePem",
            "pass_word",
            "auth",
            "aws_creds",
        ] {
            assert!(is_secret_name(secret), "{secret}");
        }
        for open in ["node_name", "keyboard", "monkey", "compass", "author", "rate", "passed", "k"]
        {
            assert!(!is_secret_name(open), "{open}");
        }
    }

    #[test]
    fn a_secret_is_given_on_as_a_secret_and_used_for_nothing() {
        let node = Variables::of_node();
        node.set("db_password", json!("s3cret")).unwrap();
        let scope = Scope::new(&node, None);
        assert!(matches!(scope.get("db_password"), Err(Error::Secret { .. })));
        let taken = scope.take("db_password").unwrap();
        node.assign("x", taken).unwrap();
        assert!(matches!(scope.get("x"), Err(Error::Secret { .. })));
        assert_eq!(node.list("x"), [("x".to_owned(), json!(HIDDEN))]);
        node.set("x", json!("open")).unwrap();
        assert_eq!(scope.get("x").unwrap(), "open");
    }

    #[test]
    fn a_requests_variables_lie_over_the_nodes_and_are_not_theirs() {
        let node = Variables::of_node();
        node.set("a", json!(1)).unwrap();
        let request = RequestVariables::default();
        request.assign("a", Variable { value: json!(2), is_secret: false }).unwrap();
        request.assign("b", Variable { value: json!(3), is_secret: false }).unwrap();
        let over = Scope::new(&node, Some(&request));
        assert_eq!([over.get("a").unwrap(), over.get("b").unwrap()], [json!(2), json!(3)]);
        let under = Scope::new(&node, None);
        assert_eq!(under.get("a").unwrap(), json!(1));
        assert!(under.get("b").is_err());
    }

    #[test]
    fn all_variables_together_have_a_limit_in_bytes() {
        let node = Variables::of_node();
        let large = Value::String("x".repeat(1_000_000));
        let stored = (0..100).take_while(|n| node.set(&format!("v{n}"), large.clone()).is_ok());
        let stored = stored.count();
        assert!((60..68).contains(&stored), "{stored}");
        assert!(matches!(node.set("more", large.clone()), Err(Error::Limit { .. })));
        // What is replaced or taken away makes room.
        node.set("v0", large.clone()).unwrap();
        node.set("v0", json!("")).unwrap();
        node.set("more", large).unwrap();
        // Many small values are large, too.
        let many = Value::Array(vec![json!([]); 300_000]);
        let node = Variables::of_node();
        let stored = (0..100).take_while(|n| node.set(&format!("v{n}"), many.clone()).is_ok());
        assert!(stored.count() < 6);
    }

    #[test]
    fn one_request_takes_no_more_than_its_share_from_variables() {
        let node = Variables::of_node();
        node.set("a", Value::String("x".repeat(1_000_000))).unwrap();
        let request = RequestVariables::default();
        let scope = Scope::new(&node, Some(&request));
        let taken = (0..1000).take_while(|_| scope.get("a").is_ok()).count();
        assert!((60..68).contains(&taken), "{taken}");
    }
}
