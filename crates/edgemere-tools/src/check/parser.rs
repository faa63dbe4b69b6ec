//! The form of a response parser: its path compiles, and its filter knows what it wants.

use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use super::Checking;
use crate::file::form::{FilterForm, FilterSourceForm, ParserForm};
use crate::parser::{Filter, Parser, Wanted};
use crate::words::unknown_hint;

/// The parser of a form.
pub(super) fn parser(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &ParserForm,
    properties: &Map<String, Value>,
) -> Option<Parser> {
    let at = format!("{pointer}/extract_path");
    let path = match JsonPath::parse(&form.extract_path) {
        Ok(path) => Some(path),
        Err(error) => {
            let start = error.position().min(form.extract_path.len());
            let end = form.extract_path.len().min(start + 1);
            let problem = checking.file.problem_inside(
                &at,
                start..end,
                format!("not a JSONPath: {}", error.message()),
            );
            let hint = "as \"$.Query\" or \"$[*].table.name\" (RFC 9535)".to_owned();
            checking.problems.push(problem.with_hint(Some(hint)));
            None
        }
    };
    let filter = match &form.filter {
        Some(filter) => Some(wanted(checking, &format!("{pointer}/filter"), filter, properties)?),
        None => None,
    };
    let (map, unique, sort) = (form.map.clone(), form.unique, form.sort);
    Some(Parser { path: path?, filter, map, unique, sort })
}

fn wanted(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &FilterForm,
    properties: &Map<String, Value>,
) -> Option<Filter> {
    let of_argument = match form.source {
        Some(source) => source == FilterSourceForm::Argument,
        None => form.argument.is_some(),
    };
    let field = form.field.clone();
    match (of_argument, &form.argument, &form.value) {
        (true, Some(name), None) if properties.contains_key(name) => {
            Some(Filter { field, wanted: Wanted::Argument(name.clone()) })
        }
        (true, Some(name), None) => {
            let known: Vec<String> = properties.keys().cloned().collect();
            let message = format!("the input_schema has no argument \"{name}\"");
            let hint = unknown_hint(name, &known, "argument");
            checking.wrong(&format!("{pointer}/argument"), message, hint);
            None
        }
        (false, None, Some(value)) => {
            Some(Filter { field, wanted: Wanted::Literal(value.clone()) })
        }
        _ => {
            let message = "a filter has either an \"argument\" or a literal \"value\"";
            let hint = "write \"source: argument\" and \"argument: NAME\", or \"source: literal\" and \
                        \"value: …\"";
            checking.wrong(pointer, message, Some(hint.to_owned()));
            None
        }
    }
}
