//! The help that a file gives of itself: the instructions for agents before they call anything, and a line for each
//! tool. It is made when the file is loaded, and is an answer without a command.

use serde_json::{Map, Value, json};

use crate::file::form::{CommandForm, TypeForm};
use crate::tool::{Tool, Work};

/// The method of type "internal" that gives it.
pub(super) const METHOD: &str = "help";

/// Whether a command is the help.
pub(super) fn is_help(form: &CommandForm) -> bool {
    match form {
        CommandForm::Detailed(form) => {
            form.kind == Some(TypeForm::Internal) && form.method.as_deref() == Some(METHOD)
        }
        CommandForm::Template(_) => false,
    }
}

/// Fills in the help of the tools that give it.
pub(super) fn fill(tools: &mut [Tool], instructions: Option<&str>) {
    let help = of(tools, instructions);
    for tool in tools {
        if let Work::Text(text) = &mut tool.work {
            *text = help.clone();
        }
    }
}

fn of(tools: &[Tool], instructions: Option<&str>) -> Value {
    let lines = tools.iter().map(|tool| (tool.name.clone(), json!(line(tool))));
    let mut help = Map::new();
    instructions.map(|text| help.insert("instructions".into(), json!(text)));
    help.insert("tools".into(), Value::Object(lines.collect()));
    Value::Object(help)
}

/// What a tool does, and its arguments: those in brackets may be left out.
fn line(tool: &Tool) -> String {
    let properties = tool.input_schema.get("properties").and_then(Value::as_object);
    let required = tool.input_schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let arguments: Vec<String> = properties
        .into_iter()
        .flat_map(Map::keys)
        .map(|name| if is_required(name) { name.clone() } else { format!("[{name}]") })
        .collect();
    match arguments.is_empty() {
        true => tool.description.clone(),
        false => format!("{} Arguments: {}.", tool.description, arguments.join(", ")),
    }
}
