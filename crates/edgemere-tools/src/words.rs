//! What JSON Schema has against a value, in words that somebody can act on.

use edgemere_command::near;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::paths::Location;
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// What is wrong with a part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The JSON pointer to the part.
    pub(crate) pointer: String,
    pub(crate) what: Wrong,
    pub(crate) hint: Option<String>,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// The object has a key that it may not have.
    Unknown(String),
    /// The object lacks a key.
    Missing(String),
    /// The value is not what it must be.
    Value(String),
}

/// How many of the values that are allowed are named.
const NAMED_MAX: usize = 20;

/// What a schema has against a value; `noun` is what the keys of its objects are called.
pub(crate) fn faults(error: &ValidationError<'_>, schema: &Value, noun: &str) -> Vec<Fault> {
    let pointer = error.instance_path().as_str().to_owned();
    let at = |what| Fault { pointer: pointer.clone(), what, hint: None };
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            let known = known_keys(error.schema_path(), schema);
            let unknown = unexpected.iter().map(|key| {
                let hint = unknown_hint(key, &known, noun);
                Fault { hint, ..at(Wrong::Unknown(key.clone())) }
            });
            unknown.collect()
        }
        ValidationErrorKind::Required { property } => {
            vec![at(Wrong::Missing(property.as_str().unwrap_or_default().to_owned()))]
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            alternatives(error, context, schema, noun)
        }
        kind => vec![at(Wrong::Value(words(kind, error.instance())))],
    }
}

/// Of several alternatives, what speaks against the one that is meant: the first of the value's own
/// type, or all types that it could have.
fn alternatives(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
    schema: &Value,
    noun: &str,
) -> Vec<Fault> {
    let here = error.instance_path().as_str();
    let is_other_type = |error: &ValidationError<'_>| {
        let is_type = matches!(error.kind(), ValidationErrorKind::Type { .. });
        is_type && error.instance_path().as_str() == here
    };
    let meant = context.iter().find(|errors| !errors.iter().any(is_other_type));
    if let Some(errors) = meant {
        return errors.iter().flat_map(|error| faults(error, schema, noun)).collect();
    }
    let mut types: Vec<String> = Vec::new();
    for kind in context.iter().flatten().filter_map(expected_type) {
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    let message = match types.is_empty() {
        true => "is none of what it could be".to_owned(),
        false => format!("must be {}, not {}", types.join(" or "), shown(error.instance())),
    };
    vec![Fault { pointer: here.to_owned(), what: Wrong::Value(message), hint: None }]
}

fn expected_type(error: &ValidationError<'_>) -> Option<String> {
    match error.kind() {
        ValidationErrorKind::Type { kind } => Some(types(kind)),
        _ => None,
    }
}

fn words(kind: &ValidationErrorKind, value: &Value) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind } => format!("must be {}, not {}", types(kind), shown(value)),
        Kind::Enum { options } => {
            let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
            format!("must be {}, not {}", listed(options), shown(value))
        }
        Kind::Constant { expected_value } => {
            format!("must be {}, not {}", shown(expected_value), shown(value))
        }
        Kind::Minimum { limit } => format!("must be at least {limit}, not {}", shown(value)),
        Kind::Maximum { limit } => format!("must be at most {limit}, not {}", shown(value)),
        Kind::ExclusiveMinimum { limit } => {
            format!("must be more than {limit}, not {}", shown(value))
        }
        Kind::ExclusiveMaximum { limit } => {
            format!("must be less than {limit}, not {}", shown(value))
        }
        Kind::MinLength { limit: 1 } => "must not be empty".to_owned(),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit: 1 } => "must have at least one item".to_owned(),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::MinProperties { limit } => format!("must have at least {limit} keys"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} keys"),
        Kind::UniqueItems => "must not have the same item twice".to_owned(),
        Kind::Pattern { pattern } => {
            format!("must match the pattern {pattern}, not {}", shown(value))
        }
        Kind::Format { format } => format!("must be a {format}, not {}", shown(value)),
        Kind::OneOfMultipleValid { .. } => "could be more than one of what it may be".to_owned(),
        Kind::FalseSchema => "must not be given".to_owned(),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} items"),
        Kind::PropertyNames { error } => format!("has a key that it may not have: {error}"),
        other => format!("does not fit \"{}\" of the schema", other.keyword()),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => with_article(*kind).to_owned(),
        TypeKind::Multiple(kinds) => {
            let kinds: Vec<_> = kinds.iter().map(with_article).collect();
            kinds.join(" or ")
        }
    }
}

fn with_article(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a text",
    }
}

/// A value as it is shown in a message, cut where it is long.
pub(crate) fn shown(value: &Value) -> String {
    const CHARACTERS_MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((cut, _)) => format!("{}…", text.get(..cut).unwrap_or_default()),
        None => text,
    }
}

/// `a, b or c`.
pub(crate) fn listed(values: &[Value]) -> String {
    let mut named: Vec<_> = values.iter().take(NAMED_MAX).map(shown).collect();
    match (values.len() > NAMED_MAX, named.pop()) {
        (_, None) => "nothing".to_owned(),
        (true, Some(last)) => format!("{}, {last} or others", named.join(", ")),
        (false, Some(last)) if named.is_empty() => last,
        (false, Some(last)) => format!("{} or {last}", named.join(", ")),
    }
}

/// The keys that the object may have whose schema refused one.
fn known_keys(path: &Location, schema: &Value) -> Vec<String> {
    let object = path.as_str().rsplit_once('/').map_or("", |(object, _)| object);
    let properties = schema.pointer(object).and_then(|object| object.get("properties"));
    let properties = properties.and_then(Value::as_object);
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}

/// What was meant, or what there is.
pub(crate) fn unknown_hint(key: &str, known: &[String], noun: &str) -> Option<String> {
    let names = || known.iter().map(String::as_str);
    near::hint(key, names()).or_else(|| match known.is_empty() {
        true => Some(format!("it takes no {noun}s")),
        false => Some(format!("it takes {}", names().collect::<Vec<_>>().join(", "))),
    })
}
