//! The JSON Schema (2020-12) of a tool's arguments: one flat object.
//!
//! Rules between arguments are under `not`, as forbidden combinations: clients refuse `oneOf`, `anyOf` and
//! `allOf` at the top level.

use serde_json::{Map, Value, json};

use super::{Argument, Leaf, Rule};

impl Leaf {
    /// The schema of the arguments.
    pub(crate) fn input_schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.arguments.iter().map(|one| (one.name.clone(), one.schema())).collect();
        let required = self.arguments.iter().filter(|one| one.required).map(|one| &one.name);
        let required: Vec<&String> = required.collect();
        let never = self.rules.iter().filter_map(|rule| rule.broken_schema(&self.arguments));
        let never: Vec<Value> = never.collect();
        let needs = self.needs();
        Value::Object(keywords([
            ("type", Some(json!("object"))),
            ("properties", Some(Value::Object(properties))),
            ("required", (!required.is_empty()).then(|| json!(required))),
            ("dependentRequired", (!needs.is_empty()).then_some(Value::Object(needs))),
            ("not", (!never.is_empty()).then(|| json!({ "anyOf": never }))),
            ("additionalProperties", Some(json!(false))),
        ]))
    }

    /// The arguments that require others.
    fn needs(&self) -> Map<String, Value> {
        let name = |at: usize| self.arguments.get(at).map(|one: &Argument| one.name.clone());
        let pairs = self.rules.iter().filter_map(|rule| match rule {
            Rule::Needs { given, needed } if rule.has_keyword(&self.arguments) => {
                Some((name(*given)?, json!([name(*needed)?])))
            }
            _ => None,
        });
        pairs.collect()
    }
}

/// A schema of the keywords that have a value.
pub(super) fn keywords<const N: usize>(keywords: [(&str, Option<Value>); N]) -> Map<String, Value> {
    let said = keywords.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    said.collect()
}
