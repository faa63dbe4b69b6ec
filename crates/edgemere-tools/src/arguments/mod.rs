//! A call's arguments: checked against the tool's schema, with defaults. All that is wrong is reported
//! at once, in words that an agent can act on.

mod defaults;

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value};

use crate::words::{Fault, Wrong, faults};

/// One argument that is wrong, or missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentError {
    /// The argument, with the way to the part of it that is wrong: `order_by[0].column`.
    pub argument: String,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
}

impl ArgumentError {
    /// The argument itself.
    fn root(&self) -> &str {
        self.argument.split(['.', '[']).next().unwrap_or_default()
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.argument, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// All that is wrong with a call's arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentErrors(pub(crate) Vec<ArgumentError>);

impl ArgumentErrors {
    /// One after the other.
    pub fn iter(&self) -> impl Iterator<Item = &ArgumentError> {
        self.0.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These, and what others say of arguments that these say nothing of.
    pub(crate) fn and(mut self, others: Option<Self>) -> Self {
        let said: Vec<String> = self.0.iter().map(|error| error.root().to_owned()).collect();
        let others = others.map(|Self(others)| others).unwrap_or_default();
        self.0.extend(others.into_iter().filter(|other| !said.iter().any(|s| s == other.root())));
        self
    }
}

impl fmt::Display for ArgumentErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ArgumentError::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ArgumentErrors {}

/// What a tool's arguments must be.
#[derive(Clone, Debug)]
pub(crate) struct Arguments {
    schema: Arc<Value>,
    /// None when the schema is none, which is known before anything is called.
    validator: Arc<OnceLock<Option<Validator>>>,
}

impl Arguments {
    /// Of a schema; what is wrong with the schema otherwise.
    pub(crate) fn of(schema: &Map<String, Value>) -> Result<Self, Vec<Fault>> {
        let schema = Value::Object(schema.clone());
        let validator = OnceLock::from(Some(compile(&schema)?));
        Ok(Self { schema: Arc::new(schema), validator: Arc::new(validator) })
    }

    /// Of a schema that is known to be one: it is compiled with the first call, and takes no memory
    /// before.
    pub(crate) fn of_proven(schema: &Map<String, Value>) -> Self {
        Self { schema: Arc::new(Value::Object(schema.clone())), validator: Arc::default() }
    }

    /// The arguments with their defaults, and all that is wrong with them.
    pub(crate) fn check(
        &self,
        arguments: &Map<String, Value>,
    ) -> (Map<String, Value>, ArgumentErrors) {
        let mut arguments = arguments.clone();
        defaults::drop_nulls(&mut arguments, &self.schema);
        let mut arguments = Value::Object(arguments);
        let errors = match self.validator.get_or_init(|| build(&self.schema).ok()) {
            Some(validator) => {
                let errors = validator.iter_errors(&arguments);
                let faults = errors.flat_map(|error| faults(&error, &self.schema, "argument"));
                faults.map(|fault| self.told(fault)).collect()
            }
            None => vec![self.told(Fault {
                pointer: String::new(),
                what: Wrong::Value("the schema is none".into()),
                hint: None,
            })],
        };
        defaults::apply(&mut arguments, &self.schema);
        match arguments {
            Value::Object(arguments) => (arguments, ArgumentErrors(errors)),
            _ => (Map::new(), ArgumentErrors(errors)),
        }
    }

    fn told(&self, Fault { pointer, what, hint }: Fault) -> ArgumentError {
        let way = way(&pointer);
        let inside = |key: &str| match way.is_empty() {
            true => key.to_owned(),
            false => format!("{way}.{key}"),
        };
        match what {
            Wrong::Unknown(key) => {
                ArgumentError { argument: inside(&key), message: "unknown argument".into(), hint }
            }
            Wrong::Missing(key) => {
                let hint = hint.or_else(|| self.description(&pointer, &key));
                ArgumentError { argument: inside(&key), message: "is missing".into(), hint }
            }
            Wrong::Value(message) if way.is_empty() => {
                ArgumentError { argument: "(arguments)".into(), message, hint }
            }
            Wrong::Value(message) => ArgumentError { argument: way, message, hint },
        }
    }

    /// What an argument is, in the schema's words.
    fn description(&self, pointer: &str, key: &str) -> Option<String> {
        let property = self.schema.get("properties")?.get(key).filter(|_| pointer.is_empty())?;
        property.get("description")?.as_str().map(|text| format!("it is: {text}"))
    }
}

/// The validator of a schema; what is wrong with the schema otherwise.
pub(crate) fn compile(schema: &Value) -> Result<Validator, Vec<Fault>> {
    let meta = jsonschema::draft202012::meta::validator();
    let faults: Vec<_> = meta
        .iter_errors(schema)
        .flat_map(|error| faults(&error, &Value::Null, "key"))
        .map(not_a_schema)
        .collect();
    if !faults.is_empty() {
        return Err(faults);
    }
    build(schema).map_err(|error| {
        let message = match error.kind() {
            ValidationErrorKind::Referencing(_) => "a \"$ref\" leads to nothing in it".to_owned(),
            _ => error.to_string(),
        };
        let pointer = error.instance_path().as_str().to_owned();
        vec![not_a_schema(Fault { pointer, what: Wrong::Value(message), hint: None })]
    })
}

fn build(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(schema)
}

fn not_a_schema(fault: Fault) -> Fault {
    let message = match fault.what {
        Wrong::Value(message) => format!("not a JSON Schema: {message}"),
        Wrong::Missing(key) => format!("not a JSON Schema: \"{key}\" is missing"),
        Wrong::Unknown(key) => format!("not a JSON Schema: unknown key \"{key}\""),
    };
    Fault { what: Wrong::Value(message), ..fault }
}

/// The way to a part of an argument as people write it: `order_by[0].column`.
fn way(pointer: &str) -> String {
    let mut way = String::new();
    for segment in pointer.split('/').skip(1) {
        let segment = segment.replace("~1", "/").replace("~0", "~");
        match segment.parse::<usize>() {
            Ok(index) => way.push_str(&format!("[{index}]")),
            Err(_) if way.is_empty() => way.push_str(&segment),
            Err(_) => way.push_str(&format!(".{segment}")),
        }
    }
    way
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(schema: Value) -> Arguments {
        Arguments::of(schema.as_object().unwrap()).unwrap()
    }

    fn query() -> Arguments {
        arguments(json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "database": {"type": "string", "description": "the database"},
                "limit": {"type": "integer", "minimum": 1, "default": 100},
                "order_by": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "column": {"type": "string"},
                        "direction": {"enum": ["ASC", "DESC"], "default": "ASC"},
                    },
                    "required": ["column"],
                }},
                "mode": {"enum": ["a", "b"]},
            },
            "required": ["database"],
        }))
    }

    fn check(value: Value) -> (Value, String) {
        let (arguments, errors) = query().check(value.as_object().unwrap());
        (Value::Object(arguments), errors.to_string())
    }

    #[test]
    fn defaults_are_applied_also_inside() {
        let (arguments, errors) =
            check(json!({"database": "d", "order_by": [{"column": "a"}], "mode": null}));
        assert_eq!(errors, "");
        let expected = json!({
            "database": "d", "order_by": [{"column": "a", "direction": "ASC"}], "limit": 100,
        });
        assert_eq!(arguments, expected);
        let (arguments, _) = check(json!({"database": "d", "limit": 5.0}));
        assert_eq!(arguments["limit"].to_string(), "5");
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let (_, errors) = check(json!({
            "limit": 0, "oder_by": 1, "mode": "c", "order_by": [{"direction": "up"}, 5],
        }));
        let expected = [
            "oder_by: unknown argument; did you mean \"order_by\"?",
            "limit: must be at least 1, not 0",
            "mode: must be \"a\" or \"b\", not \"c\"",
            "order_by[0].direction: must be \"ASC\" or \"DESC\", not \"up\"",
            "order_by[0].column: is missing",
            "order_by[1]: must be an object, not 5",
            "database: is missing; it is: the database",
        ];
        let mut told: Vec<_> = errors.lines().collect();
        let mut expected = expected.to_vec();
        told.sort_unstable();
        expected.sort_unstable();
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_no_schema_is_told_with_its_place() {
        let faults = |schema: Value| {
            let faults = Arguments::of(schema.as_object().unwrap()).unwrap_err();
            faults.into_iter().map(|fault| fault.pointer).collect::<Vec<_>>()
        };
        assert_eq!(faults(json!({"properties": {"a": {"type": "strng"}}})), ["/properties/a/type"]);
        let remote =
            Arguments::of(json!({"$ref": "https://example.com/x.json"}).as_object().unwrap());
        assert!(remote.is_err(), "nothing is fetched from the network");
    }
}
