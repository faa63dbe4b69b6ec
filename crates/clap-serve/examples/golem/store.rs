//! What the commands work on: records of several kinds, in one JSON file of the working folder.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use serde_json::{Map, Value, json};

const FILE: &str = ".golem-store.json";
const LOCK: &str = ".golem-store.lock";
/// What a command writes that must never be offered: a test looks for it.
const MARKER: &str = ".golem-blocked-ran";

/// What a command answers, or why it does not.
pub(crate) type Answer = Result<Value, String>;

/// The records, held for one command: no other one changes them meanwhile.
pub(crate) struct Store {
    kinds: Map<String, Value>,
    _lock: File,
}

impl Store {
    pub(crate) fn open() -> Result<Self, String> {
        let opened = || -> io::Result<Self> {
            let lock = File::create(LOCK)?;
            lock.lock()?;
            let kinds = match fs::read_to_string(FILE) {
                Ok(text) => serde_json::from_str(&text)?,
                Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
                Err(error) => return Err(error),
            };
            Ok(Self { kinds, _lock: lock })
        };
        opened().map_err(|error| format!("the store cannot be read: {error}"))
    }

    /// All records of a kind, by name.
    pub(crate) fn list(&self, kind: &str) -> Vec<Value> {
        let records = self.kinds.get(kind).and_then(Value::as_object);
        records.map(|records| records.values().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn get(&self, kind: &str, name: &str) -> Answer {
        let record = self.kinds.get(kind).and_then(|records| records.get(name));
        record.cloned().ok_or_else(|| format!("there is no {kind} \"{name}\""))
    }

    /// Adds a record, or changes it: what is given goes over what was there.
    pub(crate) fn put(&mut self, kind: &str, name: &str, fields: Value) -> Answer {
        let mut record = self.get(kind, name).unwrap_or_else(|_| json!({ "name": name }));
        if let (Some(record), Value::Object(fields)) = (record.as_object_mut(), fields) {
            record.extend(fields);
        }
        let records = self.kinds.entry(kind).or_insert_with(|| json!({}));
        if let Some(records) = records.as_object_mut() {
            records.insert(name.to_owned(), record.clone());
        }
        self.write()?;
        Ok(record)
    }

    /// Changes a record that must be there.
    pub(crate) fn change(&mut self, kind: &str, name: &str, fields: Value) -> Answer {
        self.get(kind, name)?;
        self.put(kind, name, fields)
    }

    pub(crate) fn delete(&mut self, kind: &str, name: &str) -> Answer {
        let record = self.get(kind, name)?;
        let records = self.kinds.get_mut(kind).and_then(Value::as_object_mut);
        records.and_then(|records| records.remove(name));
        self.write()?;
        Ok(json!({ "deleted": record }))
    }

    /// Removes all records of a kind, and says how many there were.
    pub(crate) fn clear(&mut self, kind: &str) -> Answer {
        let count = self.list(kind).len();
        self.kinds.remove(kind);
        self.write()?;
        Ok(json!({ "removed": count }))
    }

    fn write(&self) -> Result<(), String> {
        let text = Value::Object(self.kinds.clone()).to_string();
        let new = format!("{FILE}.new");
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, FILE));
        written.map_err(|error| format!("the store cannot be written: {error}"))
    }
}

/// Says that a command ran which must not be offered, in a file that nothing removes.
pub(crate) fn mark(command: &str) -> Answer {
    let written = fs::write(Path::new(MARKER), command);
    written.map_err(|error| format!("no marker can be written: {error}"))?;
    Ok(json!({ "ran": command, "token": "SECRET-OF-A-BLOCKED-COMMAND" }))
}
