//! What a file has beside its tools: toolsets, prompts and resources; and that no name is there twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::command::drafts;
use super::tool::plan;
use super::trial::Known;
use super::{Checking, doubles, icons, program};
use crate::file::File;
use crate::file::form::{EffectForm, FileForm, PromptForm, ResourceForm};
use crate::problem::Problem;
use crate::template::Prose;
use crate::template::scan::{What, Wrong, scan};
use crate::toolbox::{Prompt, PromptArgument, Resource, Toolset};
use crate::words::unknown_hint;

/// The prompts of a file.
pub(super) fn prompts(checking: &mut Checking<'_>) -> Vec<Prompt> {
    let forms = &checking.file.form.prompts;
    let prompts = forms.iter().enumerate();
    prompts.filter_map(|(index, form)| prompt(checking, index, form)).collect()
}

fn prompt(checking: &mut Checking<'_>, index: usize, form: &PromptForm) -> Option<Prompt> {
    let pointer = format!("/prompts/{index}");
    checking.name(&format!("{pointer}/name"), &form.name);
    let at = format!("{pointer}/text");
    let text = match Prose::compile(&form.text, checking.surroundings) {
        Ok(text) => text,
        Err(wrong) => {
            for Wrong { range, message, hint } in wrong {
                let problem = checking.file.problem_inside(&at, range, message);
                checking.problems.push(problem.with_hint(hint));
            }
            return None;
        }
    };
    let known: Vec<String> = form.arguments.iter().map(|argument| argument.name.clone()).collect();
    for one in text.0.uses() {
        let argument = form.arguments.iter().find(|argument| argument.name == one.name);
        let (message, hint) = match argument {
            None => (
                format!("the prompt has no argument \"{}\"", one.name),
                unknown_hint(one.name, &known, "argument"),
            ),
            Some(argument) if !argument.required && !one.is_optional => (
                format!("\"{}\" is not always given", one.name),
                Some("put it in [[ … ]], or write \"required: true\"".to_owned()),
            ),
            Some(_) => continue,
        };
        let problem = checking.file.problem_inside(&at, one.range, message);
        checking.problems.push(problem.with_hint(hint));
    }
    let arguments = form.arguments.iter().map(|argument| PromptArgument {
        name: argument.name.clone(),
        description: argument.description.clone(),
        required: argument.required,
    });
    Some(Prompt {
        name: form.name.clone(),
        title: form.title.clone(),
        description: form.description.trim().to_owned(),
        arguments: arguments.collect(),
        icons: icons::icons(checking, &pointer, &form.icons),
        position: checking.position(&format!("{pointer}/name")),
        text,
    })
}

/// The resources of a file.
pub(super) fn resources(checking: &mut Checking<'_>) -> Vec<Resource> {
    let forms = &checking.file.form.resources;
    let resources = forms.iter().enumerate();
    resources.filter_map(|(index, form)| resource(checking, index, form)).collect()
}

fn resource(checking: &mut Checking<'_>, index: usize, form: &ResourceForm) -> Option<Resource> {
    let pointer = format!("/resources/{index}");
    if !form.uri.contains("://") {
        let hint = Some("as \"site://alarms\"".to_owned());
        checking.wrong(&format!("{pointer}/uri"), "a resource's address has a scheme", hint);
    }
    let variables = variables(checking, &format!("{pointer}/uri"), &form.uri);
    let properties: Map<String, Value> =
        variables.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
    if program::form(&form.command).is_some() {
        let message = "a resource is what a command answers, and not a program";
        checking.wrong(&format!("{pointer}/command"), message, None);
        return None;
    }
    let drafts = drafts(checking, &format!("{pointer}/command"), &form.command, &properties)?;
    if drafts.effect != EffectForm::Read {
        checking.wrong(&format!("{pointer}/command/effect"), "a resource is only read", None);
    }
    let known = Known { properties: &properties, required: &variables, whose: "the address" };
    let (plan, _) = plan(checking, &drafts, known)?;
    Some(Resource {
        uri: form.uri.clone(),
        name: form.name.clone(),
        title: form.title.clone(),
        description: form.description.clone(),
        mime_type: form.mime_type.clone().unwrap_or_else(|| "application/json".into()),
        variables,
        icons: icons::icons(checking, &pointer, &form.icons),
        position: checking.position(&format!("{pointer}/uri")),
        plan,
    })
}

/// The names in an address.
fn variables(checking: &mut Checking<'_>, pointer: &str, uri: &str) -> Vec<String> {
    match scan(uri, checking.surroundings) {
        Ok(marks) => {
            let names = marks.into_iter().filter_map(|mark| match mark.what {
                What::Hole { name, .. } => Some(name),
                _ => None,
            });
            names.collect()
        }
        Err(wrong) => {
            for Wrong { range, message, hint } in wrong {
                let problem = checking.file.problem_inside(pointer, range, message);
                checking.problems.push(problem.with_hint(hint));
            }
            Vec::new()
        }
    }
}

/// The toolsets of all files; one that several files name has the tools of all.
pub(super) fn toolsets(files: &[File], problems: &mut Vec<Problem>) -> Vec<Toolset> {
    let tools = || files.iter().flat_map(|file| &file.form.tools).map(|tool| tool.name.clone());
    let mut sets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let none = crate::file::surroundings::Surroundings::empty();
    for file in files {
        for (name, members) in &file.form.toolsets {
            let pointer = format!("/toolsets/{}", crate::file::node::escape(name));
            let mut checking = Checking { file, surroundings: &none, problems: Vec::new() };
            checking.name(&pointer, name);
            for (index, member) in members.iter().enumerate() {
                if !tools().any(|tool| tool == *member) {
                    let known: Vec<String> = tools().collect();
                    let hint = unknown_hint(member, &known, "tool");
                    let message = format!("there is no tool \"{member}\"");
                    checking.wrong(&format!("{pointer}/{index}"), message, hint);
                }
            }
            problems.append(&mut checking.problems);
            sets.entry(name).or_default().extend(members.iter().cloned());
        }
    }
    let ordered = |members: Vec<String>| tools().filter(|tool| members.contains(tool)).collect();
    let sets = sets.into_iter();
    sets.map(|(name, members)| Toolset { name: name.to_owned(), tools: ordered(members) }).collect()
}

/// Names that are there twice, in one file or in several.
pub(super) fn twice(files: &[File]) -> Vec<Problem> {
    type Names = fn(&FileForm) -> Vec<String>;
    let kinds: [(&str, &str, &str, Names); 3] = [
        ("tool", "tools", "name", |form| form.tools.iter().map(|t| t.name.clone()).collect()),
        ("prompt", "prompts", "name", |form| form.prompts.iter().map(|p| p.name.clone()).collect()),
        ("resource", "resources", "uri", |form| {
            form.resources.iter().map(|resource| resource.uri.clone()).collect()
        }),
    ];
    let mut problems = Vec::new();
    for (kind, list, key, names) in kinds {
        let all = files.iter().flat_map(|file| {
            let names = names(&file.form).into_iter().enumerate();
            names.map(move |(index, name)| (name, (file, format!("/{list}/{index}/{key}"))))
        });
        for (name, (first, first_at), (file, at)) in doubles(all) {
            let place = first.source.place(&first.document.range_at(&first_at));
            let hint = format!("the other is at {}:{}", first.source.name, place.line);
            let message = format!("there are two {kind}s \"{name}\"");
            problems.push(file.problem(&at, message).with_hint(Some(hint)));
        }
    }
    problems
}
