//! What `bring` makes of the policies.

use std::collections::HashSet;
use std::sync::Arc;

use edgemere_ledger::{Path, Policy};
use serde_json::{Map, Value, json};

use super::{Bring, Item, Pick, Shape};
use crate::destination::address_of;
use crate::error::Error;
use crate::format::table::{Table, of_policies, title_of};
use crate::language::term::text_of;
use crate::reply::Reply;

impl Bring {
    /// Takes what is wanted out of the policies.
    pub(in super::super) fn apply(&self, policies: Vec<Arc<Policy>>) -> Result<Reply, Error> {
        let policies = self.picked(policies);
        match self.shape {
            Shape::IpPort => Ok(addresses(&policies)),
            Shape::Count | Shape::CountJson => Ok(self.count(&policies)),
            Shape::Table if self.items.is_empty() => {
                let mut table = of_policies(&policies);
                self.sort_table(&mut table);
                Ok(Reply::table(table))
            }
            Shape::Table => Ok(Reply::table(self.table(&policies))),
            _ if self.items.is_empty() => Ok(Reply::policies(policies)),
            Shape::Json => Ok(Reply::json(self.objects(&policies).into())),
            Shape::Text => Ok(self.text(&policies)),
        }
    }

    fn picked(&self, policies: Vec<Arc<Policy>>) -> Vec<Arc<Policy>> {
        let Some(pick) = self.pick else { return policies };
        let picked = match pick {
            // Of several with the same date, the first is the first in the ledger, and the most
            // recent is the last.
            Pick::First => {
                policies.into_iter().min_by_key(|policy| policy.date().map(String::from))
            }
            Pick::Recent => {
                policies.into_iter().max_by_key(|policy| policy.date().map(String::from))
            }
            Pick::Last => policies.into_iter().next_back(),
        };
        picked.into_iter().collect()
    }

    fn count(&self, policies: &[Arc<Policy>]) -> Reply {
        let count = match self.items.is_empty() {
            true => policies.len(),
            false => self.objects(policies).len(),
        };
        match self.shape {
            Shape::CountJson => Reply::json(json!([{ "count": count }])),
            _ => Reply::text(count.to_string()).with_json(json!([{ "count": count }])),
        }
    }

    /// An object for each policy, with the last key of each path; policies that have none of the
    /// attributes are left out.
    fn objects(&self, policies: &[Arc<Policy>]) -> Vec<Value> {
        let mut objects = Vec::with_capacity(policies.len());
        for policy in policies {
            let values = self.paths().filter_map(|path| Some((key_of(path), value(policy, path)?)));
            let object: Map<String, Value> = values.collect();
            if !object.is_empty() {
                objects.push(Value::Object(object));
            }
        }
        self.distinct(objects, Value::to_string)
    }

    fn table(&self, policies: &[Arc<Policy>]) -> Table {
        let mut table = Table::new(self.paths().map(|path| title_of(&key_of(path))));
        let rows = policies.iter().map(|policy| {
            self.paths().map(|path| value(policy, path).unwrap_or_default()).collect::<Vec<_>>()
        });
        for row in self.distinct(rows.collect(), |row| format!("{row:?}")) {
            table.push(row);
        }
        self.sort_table(&mut table);
        table
    }

    fn sort_table(&self, table: &mut Table) {
        if let Some(columns) = &self.sort {
            table.sort_by_columns(columns);
        }
    }

    fn text(&self, policies: &[Arc<Policy>]) -> Reply {
        let lines: Vec<_> = policies.iter().filter_map(|policy| self.line(policy)).collect();
        let mut lines = self.distinct(lines, String::clone);
        if self.sort.is_some() {
            lines.sort();
        }
        Reply::text(lines.join(self.separator.as_deref().unwrap_or_default()))
            .with_json(json!(lines))
    }

    /// The values and texts of a policy in a row; none when it has none of the values.
    fn line(&self, policy: &Policy) -> Option<String> {
        let mut line = String::new();
        let mut has_value = self.paths().next().is_none();
        for item in &self.items {
            match item {
                Item::Literal(text) => line.push_str(text),
                Item::Path(path) => {
                    let value = value(policy, path);
                    has_value |= value.is_some();
                    line.extend(value.as_ref().map(text_of));
                }
            }
        }
        has_value.then_some(line)
    }

    fn paths(&self) -> impl Iterator<Item = &Vec<String>> {
        self.items.iter().filter_map(|item| match item {
            Item::Path(path) => Some(path),
            Item::Literal(_) => None,
        })
    }

    fn distinct<T>(&self, mut rows: Vec<T>, key: impl Fn(&T) -> String) -> Vec<T> {
        if self.unique {
            let mut seen = HashSet::new();
            rows.retain(|row| seen.insert(key(row)));
        }
        rows
    }
}

/// The value at a path: one as it is, several as a list.
fn value(policy: &Policy, path: &[String]) -> Option<Value> {
    let mut values = policy.at(&Path(path.to_vec())).into_iter();
    match (values.next(), values.next()) {
        (None, _) => None,
        (Some(only), None) => Some(only.clone()),
        (Some(first), Some(second)) => {
            Some([first, second].into_iter().chain(values).cloned().collect())
        }
    }
}

/// The name under which a path's value is given: its last key; that of the policy's type is
/// `policy`.
fn key_of(path: &[String]) -> String {
    match path {
        [] => "policy".into(),
        [only] if only == "*" => "policy".into(),
        [.., last] => last.clone(),
    }
}

fn addresses(policies: &[Arc<Policy>]) -> Reply {
    let addresses: Vec<_> = policies.iter().filter_map(|policy| address_of(policy)).collect();
    Reply::text(addresses.join(",")).with_json(json!(addresses))
}
