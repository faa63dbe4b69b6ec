//! Handlers: commands that run in the serving process, with typed results.

use std::{fmt::Display, future::Future, sync::Arc};

use clap::ArgMatches;
use mcp_serve::{BoxFuture, Call, Fault, Outcome};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// A parsed call of a command.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The path of the command, without the program's name.
    pub path: Vec<String>,
    /// The parsed command line of the program: `Cli::from_arg_matches(&invocation.matches)` returns the same as
    /// `Cli::parse()` would.
    pub matches: ArgMatches,
    /// The tool call, with its caller and progress.
    pub call: Call,
}

impl Invocation {
    /// The parsed arguments of the command itself.
    pub fn own_matches(&self) -> &ArgMatches {
        let mut matches = &self.matches;
        while let Some((_, below)) = matches.subcommand() {
            matches = below;
        }
        matches
    }
}

type Run = dyn Fn(Invocation) -> BoxFuture<'static, Result<Outcome, Fault>> + Send + Sync;

/// The handler of a command.
#[derive(Clone)]
pub(crate) struct Handler {
    run: Arc<Run>,
    /// The JSON Schema of its result, if the result is typed.
    pub(crate) output: Option<Value>,
}

impl Handler {
    /// A handler that returns an [`Outcome`].
    pub(crate) fn new<F, R>(run: F) -> Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Outcome, Fault>> + Send + 'static,
    {
        Self { run: Arc::new(move |invocation| Box::pin(run(invocation))), output: None }
    }

    /// A handler that returns a typed value, or an error for the model.
    pub(crate) fn typed<F, R, T, E>(run: F) -> Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + JsonSchema,
        E: Display,
    {
        let (schema, is_wrapped) = output::<T>();
        let handler = Self::new(move |invocation| {
            let run = run(invocation);
            async move {
                let value = match run.await {
                    Ok(value) => serde_json::to_value(value),
                    Err(error) => return Ok(Outcome::error(error.to_string())),
                };
                let value = value.map_err(|error| Fault::internal(error.to_string()))?;
                Ok(Outcome::structured(if is_wrapped { json!({ "result": value }) } else { value }))
            }
        });
        Self { output: Some(schema), ..handler }
    }

    pub(crate) async fn run(&self, invocation: Invocation) -> Result<Outcome, Fault> {
        (self.run)(invocation).await
    }
}

/// The schema of a type, and whether its values are wrapped in `result`, because clients want an object.
fn output<T: JsonSchema>() -> (Value, bool) {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let map = schema.as_object_mut();
    let definitions = map.and_then(|map| {
        map.remove("$schema");
        map.remove("title");
        map.remove("$defs")
    });
    let is_wrapped = schema.get("type") != Some(&json!("object"));
    let mut root = match (is_wrapped, schema) {
        (true, schema) => Map::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), json!({ "result": schema })),
            ("required".to_owned(), json!(["result"])),
        ]),
        (false, Value::Object(map)) => map,
        (false, _) => Map::new(),
    };
    // References start at the root of the schema.
    root.extend(definitions.map(|definitions| ("$defs".to_owned(), definitions)));
    (Value::Object(root), is_wrapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Note {
        name: String,
        below: Vec<Note>,
    }

    #[test]
    fn what_is_no_object_stands_in_one() {
        let (schema, is_wrapped) = output::<Vec<Note>>();
        assert!(is_wrapped);
        let notes = json!([{ "name": "a", "below": [{ "name": "b", "below": [] }] }]);
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(validator.is_valid(&json!({ "result": notes })), "{schema}");
        assert!(!validator.is_valid(&json!({ "result": [{ "name": 1 }] })), "{schema}");
        assert!(!validator.is_valid(&notes), "{schema}");
    }

    #[test]
    fn an_object_stands_for_itself() {
        let (schema, is_wrapped) = output::<Note>();
        assert!(!is_wrapped);
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(validator.is_valid(&json!({ "name": "a", "below": [] })), "{schema}");
        assert!(!validator.is_valid(&json!({ "name": "a" })), "{schema}");
    }
}
