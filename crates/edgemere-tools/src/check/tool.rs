//! A tool: everything that its form says, together.

use std::time::Duration;

use serde_json::{Map, Value};

use super::command::{Draft, Drafts, drafts};
use super::schema::Input;
use super::trial::{self, Known};
use super::{Checking, help, icons, parser, program, schema};
use crate::file::form::{
    AnnotationsForm, CommandForm, DetailedForm, EffectForm, LimitsForm, ToolForm,
};
use crate::parser::{Parser, Wanted};
use crate::template::line::Line;
use crate::template::{Choice, Plan, Subset, Template};
use crate::tool::{Annotations, Kind, Limits, RowShape, Tool, Work};

/// The tools of a file.
pub(super) fn tools(checking: &mut Checking<'_>) -> Vec<Tool> {
    let forms = &checking.file.form.tools;
    let tools = forms.iter().enumerate().filter_map(|(index, form)| tool(checking, index, form));
    tools.collect()
}

fn tool(checking: &mut Checking<'_>, index: usize, form: &ToolForm) -> Option<Tool> {
    let pointer = format!("/tools/{index}");
    checking.name(&format!("{pointer}/name"), &form.name);
    let description = form.description.as_deref().map(str::trim);
    if description == Some("") {
        let hint = Some("say what it does and when to choose it".to_owned());
        checking.wrong(&format!("{pointer}/description"), "the description is empty", hint);
    }
    let input = schema::input(checking, &pointer, form);
    let output_schema = schema::output(checking, &pointer, form);
    let (key, command) = of_command(checking, &pointer, form)?;
    let Input { listed: input_schema, accepted, arguments } = input?;
    let known = Schema::of(&accepted);
    let command_pointer = format!("{pointer}/{key}");
    let draft = match program::form(command) {
        _ if help::is_help(command) => Some(Drafted::Text),
        Some(form) => {
            program::line(checking, &command_pointer, form, known.as_known()).map(Drafted::Program)
        }
        None => drafts(checking, &command_pointer, command, &known.properties)
            .map(Box::new)
            .map(Drafted::Command),
    };
    let parser = of_parser(checking, &command_pointer, command, &known.properties);
    let draft = draft?;
    unused(checking, &pointer, &known, &draft, parser.as_ref());
    let annotations = annotations(checking, &pointer, form.annotations.as_ref(), &draft);
    let (work, kind) = match draft {
        Drafted::Command(drafts) => {
            let (plan, kind) = plan(checking, &drafts, known.as_known())?;
            (Work::Command(plan), kind)
        }
        Drafted::Program(line) => (Work::Program(line), Kind::Cli),
        // It is filled in when all tools are known.
        Drafted::Text => (Work::Text(Value::Null), Kind::Internal),
    };
    Some(Tool {
        name: form.name.clone(),
        title: form.title.clone(),
        description: description.map_or_else(|| of_name(form), str::to_owned),
        input_schema,
        output_schema,
        annotations,
        limits: limits(form.limits.as_ref()),
        icons: icons::icons(checking, &pointer, &form.icons),
        toolsets: Vec::new(),
        kind,
        position: checking.position(&format!("{pointer}/name")),
        arguments,
        work,
        parser,
        row_shape: match command {
            CommandForm::Detailed(form) if form.gives_objects() => RowShape::Objects,
            _ => RowShape::Lists,
        },
    })
}

/// The description of a tool that has none.
fn of_name(form: &ToolForm) -> String {
    form.title.clone().unwrap_or_else(|| form.name.replace(['_', '-'], " "))
}

/// What a tool does, by its form.
enum Drafted {
    Command(Box<Drafts>),
    Program(Line),
    /// It answers with a text that is known before.
    Text,
}

impl Drafted {
    /// Whether an argument makes a difference.
    fn uses(&self, name: &str) -> bool {
        match self {
            Self::Command(drafts) => {
                let templates = drafts.drafts.iter().chain(&drafts.destination);
                let mut uses = templates.flat_map(|draft| draft.pieces.uses());
                uses.any(|one| one.name == name)
                    || drafts.argument.as_deref() == Some(name)
                    || matches!(&drafts.subset, Subset::Argument(argument) if argument == name)
            }
            Self::Program(line) => line.uses(name),
            Self::Text => false,
        }
    }
}

/// What a schema says of a tool's arguments.
struct Schema {
    properties: Map<String, Value>,
    required: Vec<String>,
}

impl Schema {
    fn of(schema: &Map<String, Value>) -> Self {
        let properties = schema.get("properties").and_then(Value::as_object).cloned();
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        let required = required.filter_map(Value::as_str).map(str::to_owned);
        Self { properties: properties.unwrap_or_default(), required: required.collect() }
    }

    fn as_known(&self) -> Known<'_> {
        Known { properties: &self.properties, required: &self.required, whose: "the input_schema" }
    }
}

fn of_command<'f>(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &'f ToolForm,
) -> Option<(&'static str, &'f CommandForm)> {
    if form.command.is_some() && form.edgelake_command.is_some() {
        let message = "\"command\" and \"edgelake_command\" are the same: give one";
        checking.wrong(&format!("{pointer}/edgelake_command"), message, None);
        return None;
    }
    let (key, command) = form.command();
    if command.is_none() {
        checking.wrong(pointer, "the tool has no \"command\"", None);
    }
    Some((key, command?))
}

fn of_parser(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: &CommandForm,
    properties: &Map<String, Value>,
) -> Option<Parser> {
    let CommandForm::Detailed(detailed) = form else { return None };
    if detailed.gives_objects() {
        return None;
    }
    let DetailedForm { response_parser: Some(form), .. } = detailed.as_ref() else { return None };
    parser::parser(checking, &format!("{pointer}/response_parser"), form, properties)
}

/// Tells which arguments must be given and make no difference.
fn unused(
    checking: &mut Checking<'_>,
    pointer: &str,
    known: &Schema,
    draft: &Drafted,
    parser: Option<&Parser>,
) {
    let filtered = parser.and_then(|parser| parser.filter.as_ref()).map(|filter| &filter.wanted);
    let is_used = |name: &str| {
        draft.uses(name) || matches!(filtered, Some(Wanted::Argument(argument)) if argument == name)
    };
    let is_known = |name: &String| known.properties.contains_key(name);
    let required = known.required.iter().enumerate();
    let required = required.filter(|(_, name)| is_known(name) && !is_used(name));
    for (index, name) in required {
        let message = format!("\"{name}\" is required, and nothing uses it");
        let hint = format!("write {{{name}}} where it belongs, or require it no more");
        checking.wrong(&format!("{pointer}/input_schema/required/{index}"), message, Some(hint));
    }
}

/// The plan of the templates, when all of them are well.
pub(super) fn plan(
    checking: &mut Checking<'_>,
    drafts: &Drafts,
    known: Known<'_>,
) -> Option<(Plan, Kind)> {
    if let Some(destination) = &drafts.destination {
        trial::destination(checking, destination, known);
    }
    let is_sql = drafts.drafts.iter().all(|draft| draft.pieces.query().is_some());
    let choice = choice(checking, drafts, known)?;
    let is_sent = drafts.destination.is_some() || is_sent(&choice);
    let kind = match (drafts.is_internal, is_sql) {
        (true, _) => Kind::Internal,
        (_, true) if is_sent => Kind::NetworkSql,
        (_, true) => Kind::LocalSql,
        _ => Kind::Command,
    };
    let destination = drafts.destination.as_ref().map(|draft| draft.pieces.clone());
    let (subset, timeout) = (drafts.subset.clone(), drafts.timeout);
    Some((Plan { choice, destination, subset, timeout }, kind))
}

fn is_sent(choice: &Choice) -> bool {
    matches!(choice, Choice::One(template) if template.expected == "run client")
}

fn choice(checking: &mut Checking<'_>, drafts: &Drafts, known: Known<'_>) -> Option<Choice> {
    let mut tried = Vec::new();
    for draft in &drafts.drafts {
        let Draft { case, pieces, .. } = draft;
        let template = trial::command(checking, draft, known, drafts.effect)
            .map(|(expected, answers)| Template::new(pieces.clone(), expected, answers));
        tried.push(template.map(|template| (case.clone().unwrap_or_default(), template)));
    }
    let mut tried = tried.into_iter().collect::<Option<Vec<_>>>()?;
    if drafts.is_by_presence {
        let (_, without) = tried.pop()?;
        let (argument, with) = tried.pop()?;
        return Some(Choice::Given { argument, with, without });
    }
    match &drafts.argument {
        Some(argument) => Some(Choice::Cases { argument: argument.clone(), when: tried }),
        None => tried.pop().map(|(_, template)| Choice::One(template)),
    }
}

fn annotations(
    checking: &mut Checking<'_>,
    pointer: &str,
    form: Option<&AnnotationsForm>,
    draft: &Drafted,
) -> Annotations {
    let form = form.cloned().unwrap_or_default();
    let (effect, is_program) = match draft {
        Drafted::Command(drafts) => (drafts.effect, false),
        Drafted::Program(line) => (line.effect, true),
        Drafted::Text => (EffectForm::Read, false),
    };
    let reads = effect == EffectForm::Read;
    if is_program && !reads && form.read_only_hint == Some(true) {
        // What a command does is known; of a program there is only the file's word, and that is one.
        let hint = "write \"effect: read\" in the command when the program changes nothing";
        let message = "by its effect it changes something";
        checking.wrong(&format!("{pointer}/annotations/readOnlyHint"), message, Some(hint.into()));
    }
    Annotations {
        read_only: form.read_only_hint.unwrap_or(reads),
        destructive: form.destructive_hint.unwrap_or(effect == EffectForm::Destructive),
        idempotent: form.idempotent_hint.unwrap_or(reads),
        open_world: form.open_world_hint.unwrap_or(is_program),
    }
}

fn limits(form: Option<&LimitsForm>) -> Limits {
    let form = form.cloned().unwrap_or_default();
    let LimitsForm { rows, bytes, tokens, seconds } = form;
    Limits { rows, bytes, tokens, time: seconds.map(Duration::from_secs) }
}
