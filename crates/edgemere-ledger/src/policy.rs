//! One policy: a type and its attributes in the order they were given.
//!
//! A policy here has the right shape. Whether its type's rules hold is for `rules` to say, and
//! whether it is in a ledger for `Ledger`.

use std::fmt;
use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::{Error, Path, Scope, identity};

/// The most bytes that one policy takes as JSON.
pub const POLICY_BYTES_MAX: usize = 1024 * 1024;

/// The most objects and lists inside each other in one policy, with the policy itself.
pub const DEPTH_MAX: usize = 64;

/// One policy of the ledger: `{"kind": {"attribute": value, …}}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Always a text. A value, because a path may lead to it and then borrows it like any other.
    kind: Value,
    attributes: Map<String, Value>,
}

impl Policy {
    /// Reads a policy from an object with exactly one root key that holds an object.
    pub fn from_value(value: Value) -> Result<Self, Error> {
        let Value::Object(root) = value else {
            return Err(Error::Root { reason: format!("found {}", name_of(&value)) });
        };
        let keys = root.len();
        let mut entries = root.into_iter();
        let (Some((kind, inner)), 1) = (entries.next(), keys) else {
            return Err(Error::Root { reason: format!("found {keys} root keys") });
        };
        if kind.is_empty() {
            return Err(Error::Root { reason: "the root key is empty".to_owned() });
        }
        let Value::Object(attributes) = inner else {
            return Err(Error::Root { reason: format!("\"{kind}\" holds {}", name_of(&inner)) });
        };
        check_object(&kind, &attributes, 2)?;
        Ok(Self { kind: Value::String(kind), attributes })
    }

    /// The policy's type: its root key.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.kind.as_str().unwrap_or_default()
    }

    /// The attributes in their order.
    #[must_use]
    pub fn attributes(&self) -> &Map<String, Value> {
        &self.attributes
    }

    /// The value of one attribute.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Value> {
        self.attributes.get(name)
    }

    /// The value of one attribute, when it is a text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.attribute(name).and_then(Value::as_str)
    }

    /// The policy's id; every policy in a ledger has one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.text("id")
    }

    /// The policy's name.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.text("name")
    }

    /// When the policy was made or last changed, in UTC.
    #[must_use]
    pub fn date(&self) -> Option<&str> {
        self.text("date")
    }

    /// How far the policy reaches; every policy in a ledger has a scope.
    #[must_use]
    pub fn scope(&self) -> Option<Scope> {
        self.text("ledger").and_then(Scope::parse)
    }

    /// The policy as JSON, `{"kind": {…}}`.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut root = Map::new();
        root.insert(self.kind().to_owned(), Value::Object(self.attributes.clone()));
        Value::Object(root)
    }

    /// The id that EdgeLake gives to a policy with this content: an MD5 in hex.
    #[must_use]
    pub fn content_id(&self) -> String {
        identity::content_id(self)
    }

    /// Adds the id and the date when they are missing.
    pub fn prepare(&mut self) {
        if !self.attributes.contains_key("id") {
            let id = self.content_id();
            self.set("id", Value::String(id));
        }
        if !self.attributes.contains_key("date") {
            self.set("date", Value::String(now()));
        }
    }

    /// The values that a path leads to in this policy, none when it leads nowhere.
    #[must_use]
    pub fn at<'a>(&'a self, path: &Path) -> Vec<&'a Value> {
        let mut found = Vec::new();
        path.any(self, &mut |value| {
            found.push(value);
            false
        });
        found
    }

    /// Sets an attribute: in its place when it is there, at the end otherwise.
    pub(crate) fn set(&mut self, name: &str, value: Value) {
        self.attributes.insert(name.to_owned(), value);
    }

    /// Takes an attribute out.
    pub(crate) fn remove(&mut self, name: &str) {
        self.attributes.shift_remove(name);
    }

    /// Sets the attribute `ledger`, which is always the last.
    pub(crate) fn set_scope(&mut self, scope: Scope) {
        self.attributes.shift_remove("ledger");
        self.set("ledger", Value::String(scope.as_str().to_owned()));
    }

    /// Refuses a policy that is larger than the limit.
    pub(crate) fn check_size(&self) -> Result<(), Error> {
        let mut room = Room(POLICY_BYTES_MAX);
        serde_json::to_writer(&mut room, self).map_err(|_| Error::policy_too_large())
    }

    /// How many bytes the policy takes as JSON.
    pub(crate) fn bytes(&self) -> usize {
        let mut count = Room(usize::MAX);
        match serde_json::to_writer(&mut count, self) {
            Ok(()) => usize::MAX - count.0,
            Err(_) => usize::MAX,
        }
    }

    /// The policy's type as the value that an empty path leads to.
    pub(crate) fn kind_value(&self) -> &Value {
        &self.kind
    }

    pub(crate) fn attribute_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.attributes.get_mut(name)
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut root = serializer.serialize_map(Some(1))?;
        root.serialize_entry(self.kind(), &self.attributes)?;
        root.end()
    }
}

impl fmt::Display for Policy {
    /// Compact JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// Takes bytes while there is room for them, and forgets them.
struct Room(usize);

impl Write for Room {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The time of now as policies and entries carry it: UTC with microseconds.
pub(crate) fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Refuses empty names and too deep a nesting, so that everything after may recurse without care.
fn check(kind: &str, value: &Value, depth: usize) -> Result<(), Error> {
    match value {
        Value::Object(map) => check_object(kind, map, depth),
        Value::Array(_) if depth > DEPTH_MAX => Err(Error::policy_too_deep()),
        Value::Array(list) => list.iter().try_for_each(|value| check(kind, value, depth + 1)),
        _ => Ok(()),
    }
}

fn check_object(kind: &str, map: &Map<String, Value>, depth: usize) -> Result<(), Error> {
    if depth > DEPTH_MAX {
        return Err(Error::policy_too_deep());
    }
    if map.contains_key("") {
        return Err(Error::EmptyName { kind: kind.to_owned() });
    }
    map.values().try_for_each(|value| check(kind, value, depth + 1))
}

fn name_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
