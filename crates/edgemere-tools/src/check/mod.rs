//! Checks: what the forms say is proved before anything is offered. All that is wrong is reported at once.
//!
//! `tool` makes a tool of its form, with the help of `schema` (JSON Schemas), `command` (the form of
//! the command), `program` (the form of a program), `trial` (its templates, tried with every combination
//! of their clauses), `parser` and `icons`.

mod command;
mod help;
mod icons;
mod interpreter;
mod parser;
mod program;
mod rest;
mod schema;
mod tool;
mod trial;

use std::collections::HashMap;

use crate::file::form::FileForm;
use crate::file::surroundings::Surroundings;
use crate::file::{File, Files};
use crate::problem::{Problem, Problems};
use crate::tool::Position;
use crate::toolbox::Contents;

/// Checks all that was read.
pub(crate) fn check(files: Files) -> Result<Contents, Problems> {
    let mut problems = Vec::new();
    let mut contents = Contents {
        testing: false,
        instructions: None,
        tools: Vec::new(),
        toolsets: Vec::new(),
        prompts: Vec::new(),
        resources: Vec::new(),
        files: files.paths,
        text: files.files.last().map(|file| file.source.text.clone()).unwrap_or_default(),
    };
    for file in &files.files {
        let mut checking =
            Checking { file, surroundings: &files.surroundings, problems: Vec::new() };
        checking.version(&file.form);
        contents.testing |= file.form.testing;
        // The file itself comes after those that it includes.
        let own = file.form.instructions.as_deref().map(str::trim).filter(|text| !text.is_empty());
        contents.instructions = own.map(str::to_owned).or(contents.instructions.take());
        contents.tools.extend(tool::tools(&mut checking));
        contents.prompts.extend(rest::prompts(&mut checking));
        contents.resources.extend(rest::resources(&mut checking));
        problems.append(&mut checking.problems);
    }
    help::fill(&mut contents.tools, contents.instructions.as_deref());
    problems.extend(rest::twice(&files.files));
    let toolsets = rest::toolsets(&files.files, &mut problems);
    for tool in &mut contents.tools {
        let of = toolsets.iter().filter(|toolset| toolset.tools.contains(&tool.name));
        tool.toolsets = of.map(|toolset| toolset.name.clone()).collect();
    }
    contents.toolsets = toolsets;
    match problems.is_empty() {
        true => Ok(contents),
        false => Err(Problems::new(problems)),
    }
}

/// A file that is being checked.
struct Checking<'a> {
    file: &'a File,
    surroundings: &'a Surroundings,
    problems: Vec<Problem>,
}

impl Checking<'_> {
    /// Tells what is wrong with what a JSON pointer leads to.
    fn wrong(&mut self, pointer: &str, message: impl Into<String>, hint: Option<String>) {
        self.problems.push(self.file.problem(pointer, message).with_hint(hint));
    }

    fn position(&self, pointer: &str) -> Position {
        let place = self.file.source.place(&self.file.document.range_at(pointer));
        Position { file: self.file.source.name.clone(), line: place.line, column: place.column }
    }

    fn version(&mut self, form: &FileForm) {
        use crate::file::form::Version;
        let is_known = match &form.version {
            None => true,
            Some(Version::Text(version)) => version.split('.').next() == Some("1"),
            Some(Version::Number(version)) => version.trunc() == 1.0,
        };
        if !is_known {
            let message = "this version of the form is not known";
            self.wrong("/version", message, Some("write \"1.0\"".into()));
        }
    }

    /// Tells when a name cannot be one.
    fn name(&mut self, pointer: &str, name: &str) {
        const CHARACTERS_MAX: usize = 64;
        let is_legal = !name.is_empty()
            && name.len() <= CHARACTERS_MAX
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !is_legal {
            let hint = format!("1 to {CHARACTERS_MAX} letters, digits, \"_\" and \"-\"");
            self.wrong(pointer, format!("\"{name}\" cannot be a name"), Some(hint));
        }
    }
}

/// The places of what is there more than once.
fn doubles<'a, T>(all: impl Iterator<Item = (String, T)> + 'a) -> Vec<(String, T, T)>
where
    T: Clone + 'a,
{
    let mut first: HashMap<String, T> = HashMap::new();
    let mut doubles = Vec::new();
    for (name, place) in all {
        match first.get(&name) {
            Some(before) => doubles.push((name, before.clone(), place)),
            None => {
                first.insert(name, place);
            }
        }
    }
    doubles
}
